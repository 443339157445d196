"""Reads layer files and policy files, and finds what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError
from airflow_config_providers.job.policies import open_policies
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry
from airflow_config_providers.lint.finding import LAYER_FILE, POLICY_FILE, Finding, SourcePlace
from airflow_config_providers.spark.layer_files import ConfigFile, file_entries


def located(problem: str, path: str) -> tuple[SourcePlace, str]:
    """Return the place in the file at ``path`` that ``problem`` names, and the rest of the sentence."""
    names = "|".join(map(re.escape, (path, PurePath(path).name)))
    match = re.match(rf"(?:{names})(?::(\d+))?: ", problem)
    if match is None:
        return SourcePlace(path), problem
    return SourcePlace(path, int(match[1]) if match[1] else None), problem[match.end() :]


def read_layer_file(path: str) -> LayerFile | list[Finding]:
    """Return the layer file at ``path``, or why it cannot be read_layer_file."""
    try:
        entries = file_entries(ConfigFile(path, path))
    except ConfigException as error:
        problems = error.problems
    else:
        return LayerFile(path, tuple(WrittenEntry(one.key, one.value, SourcePlace(path, one.line)) for one in entries))
    return [Finding(LAYER_FILE, *located(problem, path)) for problem in problems]


def check_policy_file(path: str) -> Iterator[Finding]:
    """Yield the problems with the policies at ``path``, with the classes that this deployment allows."""
    try:
        with open_policies(path):
            return
    except ConfigProvidersError as error:
        problems = error.problems
    yield from (Finding(POLICY_FILE, *located(problem, path)) for problem in problems)
