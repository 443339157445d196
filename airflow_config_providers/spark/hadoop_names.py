"""The other names of Hadoop's keys: Hadoop sets them all when one is set."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.core.older_names import OLDER_NAMES

_PREFIX: Final = "spark.hadoop."


def other_names(key: str) -> set[str]:
    """Return the names that Hadoop knows for the value of ``key``, without ``key`` itself; all without a prefix."""
    current = OLDER_NAMES.get(f"{_PREFIX}{key}", f"{_PREFIX}{key}")
    former = {older for older, new in OLDER_NAMES.items() if new == current}
    return {name.removeprefix(_PREFIX) for name in (current, *former)} - {key}
