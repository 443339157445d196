"""Audits of a whole deployment, as PySpark jobs. What runs in executors needs no Airflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers.lazy import LazyModule

__all__ = ["F"]

if TYPE_CHECKING:
    from pyspark.sql import functions as F  # noqa: N812 - its usual name
else:
    F = LazyModule("pyspark.sql.functions")
