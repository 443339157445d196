"""Configuration and secrets for the Spark jobs that Airflow submits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if sys.version_info < (3, 11):  # noqa: UP036 - a driver runs the cluster's Python, and pip does not check a zip
    raise ImportError(
        "airflow_config_providers needs Python 3.11 or newer, but {} is Python {}.{}. Set another for the driver in "
        "spark.pyspark.driver.python, spark.pyspark.python or PYSPARK_PYTHON.".format(sys.executable, *sys.version_info)
    )

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.core.resolver import ConfigResolver as ConfigResolver
    from airflow_config_providers.core.transformer import ConfigTransformer as ConfigTransformer
    from airflow_config_providers.hooks.config_providers import ConfigProvidersHook as ConfigProvidersHook
    from airflow_config_providers.operators.spark_submit import (
        ConfiguredSparkSubmitOperator as ConfiguredSparkSubmitOperator,
    )

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy.names(
    __name__,
    {
        "core.resolver": "ConfigResolver",
        "core.transformer": "ConfigTransformer",
        "hooks.config_providers": "ConfigProvidersHook",
        "operators.spark_submit": "ConfiguredSparkSubmitOperator",
    },
)
