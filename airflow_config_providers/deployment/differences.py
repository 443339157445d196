"""What differs between two descriptions of a task: of runs, of tries, or of what would settle now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow_config_providers.deployment.rows import Hidden, Row

_MISSING: Final[Mapping[str, Any]] = {"value": None, "source": None, "origin": None}


def differences(before: Sequence[Row], after: Sequence[Row]) -> list[Row]:
    """
    Return a row for each key whose value, or the value of whose references, differs.

    ``change`` is ``added``, ``removed``, ``changed`` or, for the same references with other values, ``other secret``.
    Plaintext secrets cannot be compared, and are treated as equal.
    """
    old, new = ({row["key"]: row for row in rows} for rows in (before, after))
    rows = (_row(key, old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys()))
    return [row for row in rows if row["change"]]


def _row(key: str, before: Row | None, after: Row | None) -> Row:
    old, new = before or _MISSING, after or _MISSING
    return {
        "key": key,
        "change": _change(before, after),
        "before": old["value"],
        "after": new["value"],
        "before_layer": _layer(old),
        "after_layer": _layer(new),
    }


def _change(before: Row | None, after: Row | None) -> str:
    if before is None or after is None:
        return "added" if before is None else "removed"
    if _text(before) != _text(after):
        return "changed"
    return "other secret" if _has_other_hash(before, after) else ""


def _has_other_hash(before: Row, after: Row) -> bool:
    old, new = before.get("hashes") or {}, after.get("hashes") or {}
    return any(_is_other(old[reference], new[reference]) for reference in old.keys() & new.keys())


def _is_other(before: str | None, after: str | None) -> bool:
    """Return whether two hashes differ; those that were made with different keys cannot be compared."""
    if not before or not after or before.partition(":")[0] != after.partition(":")[0]:
        return False
    return before != after


def _text(row: Row) -> str | None:
    return None if isinstance(row["value"], Hidden) else str(row["value"])


def _layer(row: Row) -> str | None:
    return None if row["source"] is None else f"{row['source']}, {row['origin']}"
