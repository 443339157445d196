"""The other names of Hadoop's keys. If one of a key's names is set, Hadoop sets all of them."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.core.older_names import OLDER_NAMES

_PREFIX: Final = "spark.hadoop."


def other_names(key: str) -> set[str]:
    """Return Hadoop's other names of ``key``; ``key`` and the names have no ``spark.hadoop.`` prefix."""
    current = OLDER_NAMES.get(f"{_PREFIX}{key}", f"{_PREFIX}{key}")
    former = {older for older, new in OLDER_NAMES.items() if new == current}
    return {name.removeprefix(_PREFIX) for name in (current, *former)} - {key}
