"""The columns of a description, as people and programs read them."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_config_providers.cli.output import is_for_people, show
from airflow_config_providers.deployment.rows import DETAILS, KEY_COLUMNS, Row


def show_columns(rows: Sequence[Row], output: str, *, synonyms: bool = False, nothing: str = "") -> None:
    """Print all of ``rows`` for programs, and for people the columns that fit on a screen."""
    show(_columns(rows, synonyms=synonyms) if is_for_people(output) else rows, output, nothing=nothing)


def _columns(rows: Sequence[Row], *, synonyms: bool) -> list[Row]:
    """Return rows for people: the columns that fit on a screen, or one row for each synonym."""
    if synonyms:
        return [synonym for row in rows for synonym in row["synonyms"]]
    marked = map(_with_chosen_files, rows)
    shown = [{name: value for name, value in row.items() if name not in (*DETAILS, *KEY_COLUMNS)} for row in marked]
    return [_with_applied(row) if "applied" in row else row for row in shown]


def _with_chosen_files(row: Row) -> Row:
    """Return a row whose value names the files that only a run chooses and that can override it."""
    files = row.get("or_from")  # which neither a record has, nor a server of an older version
    return {**row, "value": f"{row['value']} (or from {', '.join(files)})"} if files else row


def _with_applied(row: Row) -> Row:
    """Return a row whose column ``applied`` says whether the key waits for the next submit."""
    had = "not set" if row["applied"] is None else row["applied"]
    others = {name: value for name, value in row.items() if name != "pending"}
    return {**others, "applied": f"pending, is {had}"} if row["pending"] else others
