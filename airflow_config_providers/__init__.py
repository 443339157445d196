"""Configuration and secrets for the Spark jobs that Airflow submits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.core.resolver import ConfigResolver
    from airflow_config_providers.core.transformer import ConfigTransformer
    from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
    from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

__version__ = "0.1.0"

__all__ = ["ConfigProvidersHook", "ConfigResolver", "ConfigTransformer", "ConfiguredSparkSubmitOperator"]

__getattr__, __dir__ = lazy.names(
    __name__,
    {
        "ConfigProvidersHook": "airflow_config_providers.hooks.config_providers",
        "ConfigResolver": "airflow_config_providers.core.resolver",
        "ConfigTransformer": "airflow_config_providers.core.transformer",
        "ConfiguredSparkSubmitOperator": "airflow_config_providers.operators.spark_submit",
    },
)
