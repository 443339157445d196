"""PostgreSQL's driver for JDBC, from Maven Central."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from airflow_config_providers.spark.audit.jdbc import DRIVERS
from tests.limits import LONGEST
from tests.servers.quick_python import ROOT

_PACKAGE: Final = DRIVERS["postgresql"].package
_FOLDER: Final = ROOT / ".cache" / "jdbc"

_FETCH: Final = """
import sys
from pyspark.sql import SparkSession
configs = {"spark.jars.packages": sys.argv[1], "spark.jars.ivy": sys.argv[2], "spark.ui.enabled": "false"}
SparkSession.builder.master("local[1]").config(map=configs).getOrCreate().stop()
"""


@cache
def jdbc_driver() -> Path:
    """Return the file of the driver, which Spark fetches once; without it, the test is skipped."""
    group, name, version = _PACKAGE.split(":")
    jar = _FOLDER / "jars" / f"{group}_{name}-{version}.jar"
    if not jar.exists():
        fetch = [sys.executable, "-c", _FETCH, _PACKAGE, str(_FOLDER)]
        subprocess.run(fetch, capture_output=True, check=False, timeout=LONGEST)
    if not jar.exists():
        pytest.skip(f"{_PACKAGE} is missing: download it from Maven Central to .cache/jdbc/jars/{jar.name}")
    return jar
