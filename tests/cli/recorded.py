"""Records of tries in the database of a deployment, as tasks leave them there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from uuid import uuid4

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.job.records.entries import job_key, packed
from airflow_config_providers.job.records.record import TaskTry, TryRecord, recorded, references_of
from airflow_config_providers.spark.catalogue import spark_definition
from tests.cli.conftest import Deployment
from tests.limits import LONGEST

_FILLED = (
    "task_state_store",
    "dynamic_region",
    "xcom",
    "xcom_v2",
    "rendered_task_instance_fields",
    "task_instance",
    "dag_run",
)
"""The tables with what tests put there."""

_OURS = "of_a_test"
"""The name of what tests put into tables that have more."""

RUN = "manual__2026-11-23T17:00:00+00:00"


class Records:
    """``records(conf, run=..., number=2)`` puts a record of the task ``report`` into the database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __call__(self, conf: Mapping[str, str], *, run: str = RUN, number: int = 1, **fields: Any) -> None:
        layers = [ConfigLayer(fields.pop("source", ConfigSource.DAG_CONFIG), fields.pop("origin", "conf"), conf)]
        layered, job = LayeredConfig(layers, spark_definition()), fields.pop("job", None)
        place = fields.pop("task", "report"), run, fields.pop("map_index", -1), number, fields.pop("region", "")
        task = TaskTry("flights", *place)
        references = {**references_of(layered), **fields.pop("references", {})}
        at = fields.pop("at", "2026-11-23T17:00:00.000+00:00")
        record = TryRecord(task, at, recorded(layered), references, **fields)
        self.entries(task, packed(record) if job is None else {**packed(record), job_key(number): job})

    def entries(self, task: TaskTry, entries: Mapping[str, Any]) -> None:
        """Put any entries into the state of a task."""
        when = {"updated_at": f"2026-11-23 17:00:{task.try_number:02}.000000"}
        self._insert_entries("task_state_store", task, entries, **when)

    def xcoms(self, task: TaskTry, entries: Mapping[str, Any]) -> None:
        """Put any entries into the XComs of a task."""
        if self._columns("xcom"):
            self._insert_entries("xcom", task, entries)
            return
        owner = self._instance(task.task_id, task.run_id, "success", task.map_index)  # since Airflow 3.4
        for key, value in entries.items():
            row = {"id": uuid4().hex, "task_instance_id": owner, "key": key, "value": json.dumps(value)}
            self._insert("xcom_v2", row)

    def _insert_entries(self, table: str, task: TaskTry, entries: Mapping[str, Any], **more: Any) -> None:
        self.run(task.run_id)
        of_task = {
            "dag_run_id": self._run_id(task.run_id),
            "dag_id": task.dag_id,
            "task_id": task.task_id,
            "run_id": task.run_id,
            self._index(table): task.map_index,
        }
        if task.region:
            of_task["region_id"] = task.region
        for key, value in entries.items():
            self._insert(table, {**of_task, "key": key, "value": json.dumps(value), **more})

    @property
    def has_loops(self) -> bool:
        """Whether there can be tasks in loops, as since Airflow 3.4."""
        return "region_id" in self._columns("task_state_store")

    def mapped(self, task: str, region: str) -> None:
        """Put the region into the database that Airflow 3.4 makes for the instances of a mapped task."""
        row = {"id": region, "dag_id": "flights", "run_id": RUN, "node_id": task, "family_root_id": region, "path": b""}
        self._insert("dynamic_region", row)

    def _columns(self, table: str) -> list[str]:
        return [name for _, name, *_ in self._database.execute(f"pragma table_info({table})")]

    def _index(self, table: str) -> str:
        """Return the column that says which instance of a mapped task a row belongs to."""
        return "map_index" if "map_index" in self._columns(table) else "region_index"  # since Airflow 3.4

    def _run_id(self, run: str) -> int:
        (found,) = self._database.execute("select id from dag_run where run_id = ?", [run]).fetchone()
        return int(found)

    def run(self, run: str = RUN) -> None:
        """Put a run of the DAG ``flights`` into the database."""
        known = self._database.execute("select 1 from dag_run where run_id = ?", [run]).fetchone()
        if not known:
            self._insert("dag_run", {"dag_id": "flights", "run_id": run})

    def conf(self, conf: Mapping[str, str]) -> None:
        """Put a run with a configuration into the database."""
        self._insert("dag_run", {"dag_id": "flights", "run_id": RUN, "conf": json.dumps(conf)})

    def rendered(self, task: TaskTry, fields: Mapping[str, str]) -> None:
        """Put the rendered fields of a task into the database."""
        table = "rendered_task_instance_fields"
        row = {name: getattr(task, name) for name in ("dag_id", "task_id", "run_id")}
        self._insert(table, {**row, self._index(table): task.map_index, "rendered_fields": json.dumps(fields)})

    def compressed_dag(self, data: bytes) -> None:
        """Put a serialized DAG into the database, as ``[core] compress_serialized_dags`` has it."""
        ids = {name: str(uuid4()) for name in ("id", "dag_version_id")}
        self._insert("serialized_dag", {**ids, "dag_id": "flights", "dag_hash": "", "data_compressed": data})

    def event(self, extra: str) -> None:
        """Put an event into the log of events."""
        self._insert("log", {"event": _OURS, "extra": extra, "dttm": "2026-11-23 17:00:00.000000"})

    def variable(self, value: str) -> None:
        """Put a variable into the database, as if no key for encryption were set."""
        self._insert("variable", {"key": _OURS, "val": value, "is_encrypted": 0})

    def ended(self, run: str, state: str, *, at: str, task: str = "report", map_index: int = -1) -> None:
        """Put an instance of a task into the database that ended in ``state``."""
        self._instance(task, run, state, map_index, start_date=f"2026-11-23 {at}:00.000000")

    def running(self, task: str, *, state: str = "running", run: str = RUN) -> None:
        """Put a running try of a task into the database."""
        self._instance(task, run, state, -1, try_number=1)

    def _instance(self, task: str, run: str, state: str, map_index: int, **more: Any) -> str:
        self.run(run)
        row = {"id": uuid4().hex, "dag_id": "flights", "task_id": task, "run_id": run, "state": state}
        self._insert("task_instance", {**row, self._index("task_instance"): map_index, **more})
        return row["id"]

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        needed = self._database.execute(f"pragma table_info({table})").fetchall()
        others = {
            name: 0 if "INT" in kind else "2026-11-23 17:00:00.000000"
            for _, name, kind, is_required, default, is_key in needed
            if is_required and default is None and not is_key
        }
        full = {**others, **row}
        marks = ", ".join("?" * len(full))
        self._database.execute(f"insert into {table} ({', '.join(full)}) values ({marks})", [*full.values()])
        self._database.commit()


@contextmanager
def records_in(deployment: Deployment) -> Iterator[Records]:
    """Yield what puts records into the database of ``deployment``; afterwards, it has none."""
    with closing(sqlite3.connect(deployment.home / "airflow.db", timeout=LONGEST)) as database:
        try:
            yield Records(database)
        finally:
            for table in _emptied(database):
                database.execute(f"delete from {table}")
            database.execute("delete from log where event = ?", [_OURS])
            database.execute("delete from variable where key = ?", [_OURS])
            database.commit()


def _emptied(database: sqlite3.Connection) -> list[str]:
    """Return the tables with what tests put there; no version of Airflow has all of them."""
    known = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
    return [name for name in _FILLED if name in known]
