"""Reads what Airflow's metadata database has about a run."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(r"(?P<key>.*?) = (?P<value>.*)   # (?P<layer>[A-Z_]+), (?P<origin>.*?)(?P<beaten>; beats .*)?")


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of a task's effective configuration: the visible value, where it came from, and what it overrides."""

    key: str
    value: str
    layer: str
    origin: str
    beaten: tuple[str, ...]


def read_setting(line: str) -> Setting:
    """Return the setting in a line of the field ``effective_config``."""
    found = LINE.fullmatch(line)
    if found is None:
        raise ValueError("A line of effective_config is not of the form 'key = value   # LAYER, origin'.")
    key, value, layer, origin, beaten = found.group("key", "value", "layer", "origin", "beaten")
    return Setting(key, value, layer, origin, tuple((beaten or "").split("; beats ")[1:]))


def effective_configs(database: Path, *, dag_id: str, tasks: Sequence[str]) -> dict[str, list[Setting]]:
    """Return task -> its effective configuration, as Airflow has stored it in the latest run of the DAG."""
    query = (
        "SELECT f.rendered_fields FROM rendered_task_instance_fields f JOIN dag_run r USING (dag_id, run_id) "
        "WHERE f.dag_id = ? AND f.task_id = ? ORDER BY r.logical_date DESC LIMIT 1"
    )
    configs = {}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        for task in tasks:
            row = connection.execute(query, (dag_id, task)).fetchone()
            lines = json.loads(row[0])["effective_config"] if row else []
            configs[task] = [read_setting(line) for line in lines]
    return configs


def states(database: Path, *, dag_id: str) -> dict[str, dict[str, str | None]]:
    """Return logical date -> task -> state."""
    query = (
        "SELECT substr(r.logical_date, 1, 10), t.task_id, t.state "
        "FROM task_instance t JOIN dag_run r USING (dag_id, run_id) WHERE t.dag_id = ?"
    )
    found: dict[str, dict[str, str | None]] = {}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        for date, task, state in connection.execute(query, (dag_id,)):
            found.setdefault(date, {})[task] = state
    return found
