"""Reads what a run has left in Airflow, and in files."""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.integration.conftest import PARTS
from tests.leaks.deployment import LeakyAirflow
from tests.leaks.matrix import Matrix
from tests.leaks.sinks import Sink

EVENT_PAGE = 100
OWN_API = "/config-providers/v1"
RECORDED = {"listener": Sink.LISTENER, "callback": Sink.CALLBACK, "memory": Sink.MEMORY}
"""How the name of a file of the recorder begins -> what it shows."""


class RestAnswers:
    """What the REST interface shows about the runs."""

    def __init__(self, leaky: LeakyAirflow, matrix: Matrix) -> None:
        self._airflow = leaky.airflow
        self._dags = leaky.dags
        self._tasks = leaky.tasks
        self._matrix = matrix

    def collect(self) -> None:
        """Ask for all."""
        for task in self._tasks:
            self._look(Sink.OWN_REST, f"{OWN_API}/dags/{task.dag_id}/tasks/{task.task_id}?synonyms=true&all=true")
        for dag_id in self._dags:
            dag = f"/api/v2/dags/{dag_id}"
            for path in (dag, f"{dag}/details", f"{dag}/tasks", f"{dag}/dagRuns", f"{dag}/dagVersions"):
                self._look(Sink.TASK_DETAILS, path)
            for path in (f"{OWN_API}/dags/{dag_id}?synonyms=true", f"{OWN_API}/dags/{dag_id}/history"):
                self._look(Sink.OWN_REST, path)
            self._look(Sink.DAG_SOURCE, f"/api/v2/dagSources/{dag_id}")
            for run in self._ask(f"{dag}/dagRuns")["dag_runs"]:
                self._run(f"{dag}/dagRuns/{quote(run['dag_run_id'])}")
        self._events()
        for path in ("importErrors", "dagWarnings", "jobs", "plugins"):
            self._look(Sink.TASK_DETAILS, f"/api/v2/{path}?limit={EVENT_PAGE}")

    def _run(self, run: str) -> None:
        for instance in self._look(Sink.RENDERED, f"{run}/taskInstances")["task_instances"]:
            task = f"{run}/taskInstances/{instance['task_id']}"
            for path in (task, f"{task}/tries", f"{task}/dependencies", f"{task}/state-store"):
                self._look(Sink.TASK_DETAILS, path)
            self._look(Sink.LINKS, f"{task}/links")
            for entry in self._look(Sink.XCOM, f"{task}/xcomEntries")["xcom_entries"]:
                self._look(Sink.XCOM, f"{task}/xcomEntries/{quote(entry['key'])}")
            for number in range(1, instance["try_number"] + 1):
                self._look(Sink.REST_LOG, f"{task}/logs/{number}?full_content=true")

    def _events(self) -> None:
        total = self._ask("/api/v2/eventLogs?limit=1")["total_entries"]
        for offset in range(0, total, EVENT_PAGE):
            self._look(Sink.AUDIT_LOG, f"/api/v2/eventLogs?limit={EVENT_PAGE}&offset={offset}")

    def _look(self, sink: Sink, path: str) -> Any:
        answer = self._ask(path)
        self._matrix.look(sink, path, json.dumps(answer))
        return answer

    def _ask(self, path: str) -> Any:
        try:
            return self._airflow.get(path)
        except urllib.error.HTTPError as error:
            return {"status": error.code, "answer": error.read().decode(errors="replace")}


class Files:
    """The content of the files of a deployment, each file for the sink to which it belongs."""

    def __init__(self, leaky: LeakyAirflow, matrix: Matrix) -> None:
        self._leaky = leaky
        self._matrix = matrix
        home, airflow = leaky.home, leaky.airflow
        self._own: dict[Path, Sink] = {
            airflow.events: Sink.EVENT_LOG,
            home / "openlineage.json": Sink.OPENLINEAGE,
            home / "cluster": Sink.CLUSTER_FILES,
            home / "scheduler.out": Sink.SCHEDULER_OUTPUT,
            **{home / f"{part}.out": Sink.PARTS_OUTPUT for part in PARTS if part != "scheduler"},
        }

    def others(self, sink: Sink) -> None:
        """Search the remaining files: temporary ones, and those in working directories."""
        airflow = self._leaky.airflow
        known = [
            *self._own,
            airflow.logs,
            self._leaky.home / "recorded",
            *self._databases(),
            *self._leaky.secret_folders,
        ]
        self._matrix.search(sink).tree(self._leaky.home, leave_out=[*known, *self._crash_reports()])

    def collect(self) -> None:
        """Search all files."""
        for path, sink in self._own.items():
            self._search(sink, path)
        for path in self._leaky.airflow.logs.iterdir():
            self._search(Sink.TASK_LOG if path.name.startswith("dag_id=") else Sink.PARTS_OUTPUT, path)
        for path in (self._leaky.home / "recorded").iterdir():
            self._search(RECORDED[path.name.partition("-")[0]], path)
        for path in self._databases():
            self._search(Sink.DATABASE, path)
        self._matrix.search(Sink.DATABASE).database(self._leaky.home / "airflow.db")
        self.others(Sink.FILES_AFTER)

    def _search(self, sink: Sink, path: Path) -> None:
        search = self._matrix.search(sink)
        if path.is_dir():
            search.tree(path)
        elif path.exists():
            search.file(path)

    def _databases(self) -> list[Path]:
        return list(self._leaky.home.glob("airflow.db*"))

    def _crash_reports(self) -> list[Path]:
        return list(self._leaky.home.glob("hs_err_pid*.log"))
