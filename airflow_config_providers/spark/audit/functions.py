"""
The functions of ``pyspark.sql.functions``, usually called ``F``.

PySpark is imported when one of them is first used: it is slow to import, and is not installed where DAGs are read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.functions import *  # noqa: F403 - all of them, for the checker of types


def __getattr__(name: str) -> Any:
    return getattr(import_module("pyspark.sql.functions"), name)
