"""Finds keys that Spark ignores, does not know or has replaced, and values of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers.core.keys import key_problem
from airflow_config_providers.core.older_names import OLDER_NAMES
from airflow_config_providers.core.spellings import current_name
from airflow_config_providers.core.templates import is_template
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.lint.entry import WrittenEntry
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.rules import (
    ABSENT_KEY,
    DEPRECATED_KEY,
    IGNORED_KEY,
    MISSPELT_KEY,
    REFUSED_KEY,
    WRONG_TYPE,
)
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.key_check import UnknownKeys, absent, find_in


def of_entry(
    entry: WrittenEntry, misspelt: UnknownKeys, *, takes_any_key: bool = False, spark_version: str | None = None
) -> Iterator[Finding]:
    """
    Yield the mistakes in the key of an entry, and in the type of its value.

    :param misspelt: what the deployment does with misspelt keys
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    if refused := key_problem(entry.key, f"'{printable(entry.key)}'"):
        yield Finding(REFUSED_KEY, entry.place, str(refused))
        return
    found = find_in({entry.key: entry.origin}, _but_telling(misspelt), takes_any_key=takes_any_key)
    yield from (Finding(IGNORED_KEY, entry.place, problem) for problem in found.problems)
    yield from (Finding(MISSPELT_KEY, entry.place, doubt) for doubt in found.doubts)
    yield from _replaced(entry, spark_version)
    if misspelt is not UnknownKeys.IGNORE:
        yield from (
            Finding(ABSENT_KEY, entry.place, doubt) for doubt in absent({entry.key: entry.origin}, spark_version)
        )
    yield from _of_type(entry, spark_version)


def _but_telling(misspelt: UnknownKeys) -> UnknownKeys:
    """Return how to look for misspelt keys so that they are not mixed with those that Spark ignores."""
    return UnknownKeys.WARN if misspelt is UnknownKeys.FAIL else misspelt


def _replaced(entry: WrittenEntry, spark_version: str | None) -> Iterator[Finding]:
    new = current_name(entry.key, OLDER_NAMES)
    if new != entry.key and not absent({new: ""}, spark_version):
        yield Finding(DEPRECATED_KEY, entry.place, f"{entry.name} is deprecated. Use '{printable(new)}'.")


def _of_type(entry: WrittenEntry, spark_version: str | None) -> Iterator[Finding]:
    definition = spark_definition(spark_version)
    if entry.key not in definition.config_keys or scan(entry.text) or is_template(entry.text):
        return
    for problem in definition.misfits(entry.key, entry.text):
        yield Finding(WRONG_TYPE, entry.place, problem)
