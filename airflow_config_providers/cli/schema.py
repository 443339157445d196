"""The command that prints JSON schemas for editors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_config_providers.cli.failing import Notes, WrongArgumentsError, reporting_errors
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.policy_file import policy_schema
from airflow_config_providers.spark.catalogue_file import catalogued, minor_version, versions
from airflow_config_providers.spark.layer_schema import layer_schema

_SCHEMAS: Final[Mapping[str, Callable[[str | None], Mapping[str, Any]]]] = {
    "layer": layer_schema,
    "policies": lambda version: policy_schema(),
}


@reporting_errors
def schema(args: Any) -> None:
    """Print the schema of a kind of file."""
    if args.spark_version and minor_version(args.spark_version) is None:
        raise WrongArgumentsError(f"--spark-version: '{printable(args.spark_version)}' is no version, such as 4.2.0.")
    if args.kind == "layer" and args.spark_version:
        _note_nearest(args.spark_version)
    sys.stdout.write(f"{json.dumps(_SCHEMAS[args.kind](args.spark_version), indent=1)}\n")


def _note_nearest(version: str) -> None:
    nearest = catalogued(version)
    if minor_version(version) != minor_version(nearest):
        known = ", ".join(versions())
        Notes()(f"The catalogue has no Spark {printable(version)}. The schema is that of {nearest}. Known: {known}.")
