"""The version of the Spark that a program on this machine starts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from airflow_config_providers.spark.defaults import find_command, home_directory

_RELEASE: Final = re.compile(r"Spark (\d+\.\d+\.\d+\S*)")
_CORE: Final = re.compile(r"spark-core_[\d.]+-(\d+\.\d+\.\d+.*)\.jar")


def installed_version(spark_binary: str, environ: Mapping[str, str]) -> str | None:
    """
    Return the version of the Spark that ``spark_binary`` starts. No Java is started.

    :return: None if there is no Spark, or if its version is not written where Spark's archives and packages have it
    """
    return _located(spark_binary, environ.get("SPARK_HOME", ""), environ.get("PATH", os.defpath))


def version_at_hand(environ: Mapping[str, str]) -> str | None:
    """
    Return the version of the Spark that ``spark-submit`` starts here; None if there is none.

    :param environ: empty for a process whose Spark, if it has one, runs no job, such as an API server
    """
    return installed_version("spark-submit", environ) if environ.get("PATH") else None


@lru_cache(maxsize=16)
def _located(spark_binary: str, spark_home: str, path: str) -> str | None:
    environ = {"SPARK_HOME": spark_home, "PATH": path}
    home = home_directory(find_command(spark_binary, environ), environ)
    return version_in(home) if home else None


def version_in(home: Path) -> str | None:
    """Return the version of the Spark in ``home``: from its file ``RELEASE``, or from the name of its main jar."""
    if found := _RELEASE.match(_first_line(home / "RELEASE")):
        return found[1]
    jars = sorted(path.name for path in (home / "jars").glob("spark-core_*.jar"))
    return next((found[1] for jar in jars if (found := _CORE.fullmatch(jar))), None)


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(200)
    except OSError:
        return ""
