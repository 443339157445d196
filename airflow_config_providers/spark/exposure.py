"""What stands where other people can read it, however it reaches Spark."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.core.definition import ConfigType
from airflow_config_providers.spark.catalogue import spark_definition

FIELDS: Final = ("application", "application_args", "proxy_user", "post_submit_commands")
"""Fields of the operator that stand in a command, which every user of the machine can read."""

_NUMBERS: Final = frozenset({ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG, ConfigType.DOUBLE})

_WRITTEN_OUT: Final = frozenset(
    {
        "spark.app.name",
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.extraJavaOptions",
        "spark.driver.extraLibraryPath",
        "spark.driver.memory",
        "spark.executor.defaultJavaOptions",
        "spark.executor.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.executor.extraLibraryPath",
    }
)
"""In Spark's UI, or in the command of the driver or of an executor."""

_NEEDED_BEFORE_EXECUTORS_CONNECT: Final = ("spark.auth", "spark.network", "spark.port.", "spark.rpc", "spark.ssl")
"""Spark gives these to executors as ``-D`` options."""


def is_exposed(key: str) -> bool:
    """Tell whether Spark itself writes the value of ``key`` into a command or a page. A number is no secret."""
    known = spark_definition().config_keys.get(key)
    if known is not None and known.type in _NUMBERS:
        return False
    if key == "spark.authenticate.secret" or "Password" in key:
        return False
    return key in _WRITTEN_OUT or key.startswith(_NEEDED_BEFORE_EXECUTORS_CONNECT) or key.endswith(".port")
