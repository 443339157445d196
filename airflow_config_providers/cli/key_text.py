"""What people read about a key of Spark."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import Row


def about_key(row: Row) -> str:
    """Return what Spark says of the key of a description; a server of an older version says less."""
    sentences = " ".join(_sentences(row))
    return f"{printable(row['key'])}: {sentences or 'Spark does not document this key.'}"


def _sentences(row: Row) -> Iterator[str]:
    if text := row.get("documentation"):
        yield text if text.endswith(".") else f"{text}."
    if row.get("type"):
        yield f"Type {row['type']}."
    if unit := row.get("unit"):
        yield f"A number without a unit is in {unit}."
    if allowed := row.get("allowed_values"):
        yield f"Allowed values: {', '.join(allowed)}."
    if (default := row.get("default")) is not None:
        yield f"Default: {printable(default)}." if default else "Default: empty."
    if since := row.get("since"):
        yield f"Since Spark {since}."
    yield from _successor(row)


def _successor(row: Row) -> Iterator[str]:
    removed, deprecated, successor = (row.get(name) for name in ("removed", "deprecated", "successor"))
    if removed:
        yield f"Removed in Spark {removed}."
    elif deprecated:
        yield f"Deprecated since Spark {deprecated}."
    if successor:
        yield f"Use {printable(successor)}."
