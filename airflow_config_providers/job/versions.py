"""The versions of what a job is submitted with."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

from airflow_config_providers import __version__


def versions(ti: Any, spark: str | None) -> dict[str, str]:
    """
    Return name -> version: of this package, Airflow, Spark, and the DAG with its bundle, as far as they are known.

    :param ti: the task instance that runs
    :param spark: the version of the Spark that runs the job
    """
    bundle = getattr(ti, "bundle_instance", None)
    found = {
        "airflow-config-providers": __version__,
        "apache-airflow": _of_airflow(),
        "spark": spark,
        "dag": getattr(ti, "dag_version_id", None),
        "bundle": getattr(bundle, "name", None),
        "bundle_version": getattr(bundle, "version", None),
    }
    return {name: str(version) for name, version in found.items() if version}


@cache
def _of_airflow() -> str:
    try:
        return metadata.version("apache-airflow")
    except metadata.PackageNotFoundError:  # only a part of it is installed
        return ""
