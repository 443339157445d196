"""The versions of what a job is submitted with."""

from __future__ import annotations

from typing import Any

import airflow

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
        "apache-airflow": getattr(airflow, "__version__", ""),  # its metadata takes 3 ms to parse
        "spark": spark,
        "dag": getattr(ti, "dag_version_id", None),
        "bundle": getattr(bundle, "name", None),
        "bundle_version": getattr(bundle, "version", None),
    }
    return {name: str(version) for name, version in found.items() if version}
