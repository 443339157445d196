"""
The application of ``SparkJDBCOperator``: the stock script, with user, password and URL from Spark's configuration.

It runs as a file, with the stock script in ``spark.submit.pyFiles``. It needs this package only if the driver resolves
references.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

STOCK: Final = "spark_jdbc_script"
"""The name of the stock script as a module."""

KEYS: Final = {
    "url": "spark.airflow.jdbc.secret.url",
    "user": "spark.airflow.jdbc.secret.user",
    "password": "spark.airflow.jdbc.secret.password",
}
"""Argument of the stock script -> key. Spark hides these keys because of their names."""

_OPTIONS: Final = "spark.sql.redaction.options.regex"
_PROVIDERS: Final = "spark.config.providers"


def main(words: Sequence[str]) -> None:
    """Copy a table as ``words`` say, with the stock script."""
    stock = import_module(STOCK)
    arguments = stock._parse_arguments(list(words))
    conf = _configuration()
    arguments.name = arguments.name or conf["spark.app.name"]  # Spark 4.2 refuses the stock script's None
    if any(key.startswith(_PROVIDERS) for key in conf):
        conf = _resolved()
    for name, key in KEYS.items():
        setattr(arguments, name, conf.get(key, getattr(arguments, name)))
    _hide_options(stock._create_spark_session(arguments))
    stock._run_spark(arguments)


def _configuration() -> Mapping[str, str]:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - not installed where the operator runs

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def _resolved() -> Mapping[str, str]:
    """Create the session, which the stock script then finds, and return its configuration."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    from airflow_config_providers.spark import session  # noqa: PLC0415 - only such a driver has it

    builder: Any = SparkSession.builder
    return dict(session(builder.enableHiveSupport()).sparkContext.getConf().getAll())


def _hide_options(spark: Any) -> None:
    """Make Spark's pages and event log hide the secrets among the options of a copy."""
    spark.conf.set(_OPTIONS, f"(?i)^(?:{'|'.join(KEYS)})$|{spark.conf.get(_OPTIONS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
