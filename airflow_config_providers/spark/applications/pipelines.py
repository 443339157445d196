"""
Runs PySpark's command for declarative pipelines with a Spark Connect session that a properties file configures.

``python -P -m airflow_config_providers.spark.applications.pipelines FILE run --spec PIPELINE.yml``. The file holds the
session's configuration and ``spark.remote``, so that neither is in a command or in an environment.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from airflow_config_providers.core import properties
from airflow_config_providers.spark.connect_conf import giving_back_what_was_set

_COMMAND: Final = "pyspark.pipelines.cli"
_OF_NO_SESSION: Final = frozenset({"spark.master", "spark.submit.deployMode"})
"""Keys that Spark refuses together with the address of a server."""


def main(arguments: Sequence[str]) -> None:
    """Create the session, which the command then finds, and run the command."""
    text = Path(arguments[0]).read_text(encoding="ascii")
    configs = {entry.key: entry.value for entry in properties.parse(text, name="the configuration")}
    if remote := configs.pop("spark.remote", ""):
        os.environ["SPARK_REMOTE"] = remote  # the command needs it; /proc shows only the initial environment
    sys.argv = [_COMMAND, *arguments[1:]]
    with giving_back_what_was_set():
        _connect({key: value for key, value in configs.items() if key not in _OF_NO_SESSION})
        runpy.run_module(_COMMAND, run_name="__main__", alter_sys=True)


def _connect(configs: Mapping[str, str]) -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - slow, and not installed where DAGs are read

    builder = SparkSession.builder
    for key, value in configs.items():
        builder = builder.config(key, value)
    builder.getOrCreate()


if __name__ == "__main__":
    main(sys.argv[1:])
