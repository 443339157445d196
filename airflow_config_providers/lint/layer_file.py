"""Reads a layer file, with the line of each entry."""

from __future__ import annotations

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry
from airflow_config_providers.lint.finding import Finding, SourcePlace
from airflow_config_providers.lint.located import located
from airflow_config_providers.lint.rules import LAYER_FILE
from airflow_config_providers.spark.layer_files import ConfigFile, file_entries


def read(path: str) -> LayerFile | list[Finding]:
    """Return the layer file at ``path``, or why it cannot be read."""
    try:
        entries = file_entries(ConfigFile(path, path))
    except ConfigException as error:
        problems = error.problems
    else:
        return LayerFile(path, tuple(WrittenEntry(one.key, one.value, SourcePlace(path, one.line)) for one in entries))
    return [Finding(LAYER_FILE, *located(problem, path)) for problem in problems]
