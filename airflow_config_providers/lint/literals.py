"""Finds secrets that are written out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.sensitive import shows_secret
from airflow_config_providers.core.templates import is_template
from airflow_config_providers.core.variable import scan
from airflow_config_providers.lint.entry import WrittenEntry
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.rules import LITERAL_SECRET
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.redaction import sounds_sensitive

_NAMES_ONLY: Final = re.compile(
    r"spark\.kubernetes\.(?:driver|executor)\.(?:secrets|secretKeyRef)\.|.*(?:file|path|provider)\Z",
    re.IGNORECASE | re.DOTALL,
)
"""Keys with sensitive names whose values are names of Kubernetes' secrets, paths or classes."""


def of_entry(entry: WrittenEntry) -> Iterator[Finding]:
    """Yield a finding if the value of an entry is a secret; it says how long the value is, and nothing else of it."""
    if scan(entry.text) or is_template(entry.text) or not _is_secret(entry.key, entry.text):
        return
    length = len(entry.text)
    yield Finding(
        LITERAL_SECRET,
        entry.place,
        f"{entry.name}: a literal of {length} character{'s' * (length != 1)} looks like a secret. Keep it outside, and "
        f"write a reference such as ${{vault:path:key}}.",
    )


def _is_secret(key: str, text: str) -> bool:
    if shows_secret(text):
        return True
    is_value = text.strip() and text.strip().lower() not in {"true", "false"}
    return bool(is_value) and sounds_sensitive(key) and not _NAMES_ONLY.match(key) and not _has_other_type(key)


def _has_other_type(key: str) -> bool:
    """Return whether Spark reads a number, a size or a time under the key."""
    known = spark_definition().config_keys.get(key)
    return known is not None and (known.type not in {ConfigType.STRING, ConfigType.PASSWORD} or bool(known.type_name))
