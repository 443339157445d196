"""The demo itself: prepare, run, run again with a wrong password, audit, search."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dags_examples.demo import database, metadata
from dags_examples.demo.airflow_cli import Airflow
from dags_examples.demo.audit import Audit, Audited
from dags_examples.demo.metadata import Setting
from dags_examples.demo.sampler import Sampler
from dags_examples.demo.search import Finding, Search, Secret
from dags_examples.demo.workspace import PASSWORD, Workspace, make_secret, number_of_flights, unpack_flights

DAG_ID = "flights_delay_report"
TASKS = ("ingest", "join", "report")
DATE = "2013-12-31"
DATE_OF_WRONG_PASSWORD = "2013-12-30"
MIN_FLIGHTS = 500
"""Of all flights, the fewest that a group in the report has."""

SHARED_MEMORY = Path("/dev/shm")

PROGRESS = re.compile(r"\[flights\] (?P<line>.*?)(?= +\[airflow\.|$)")
"""The output of a job, without the name of the logger that Airflow adds."""


class StageError(RuntimeError):
    """A stage failed; the message says where to find the reason."""


@dataclass(frozen=True, slots=True)
class Found:
    """
    What was searched for the passwords, and what was found.

    :param unread: what could not be opened, about which nothing is proved
    """

    searched: Mapping[str, int]
    forms: Sequence[str]
    findings: Sequence[Finding]
    unread: Sequence[str]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found and everything was read."""
        return not self.findings and not self.unread


@dataclass(slots=True)
class Outcome:
    """The results that the demo shows at its end."""

    configs: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    quality: Sequence[Mapping[str, Any]] = ()
    report: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    wrong_password_refused: bool = False
    found: Found | None = None
    audited: Audited | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether the pipeline worked, the wrong password did not, and only the planted password was found."""
        return (
            self.wrong_password_refused
            and self.found is not None
            and self.found.is_clean
            and self.audited is not None
            and self.audited.is_good
        )


@dataclass(frozen=True, slots=True)
class Demo:
    """
    Runs the stages one after the other.

    :param stage: is called with the name of each stage, and returns a context manager for it
    :param progress: is called with each line of progress in a stage
    :param every: the pipeline has one flight of so many
    """

    workspace: Workspace
    java: str
    stage: Callable[[str], Any]
    progress: Callable[[str], None]
    every: int = 1

    def run(self) -> Outcome:
        """
        Run everything, and return the outcome.

        :raises StageError: a stage that others depend on has failed
        """
        outcome, started = Outcome(), time.time()
        with self._timed(outcome, "prepare the data, a new random password and the database"):
            secrets = self._prepare()
        with Sampler(Search(secrets)) as sampler:
            with self._timed(outcome, "make Airflow's metadata database"):
                self._migrate()
            with self._timed(outcome, f"run the DAG {DAG_ID} with airflow dags test"):
                self._run_dag()
            self._collect(outcome)
            with self._timed(outcome, "run its report again with a wrong password"):
                outcome.wrong_password_refused = self._run_with_wrong_password()
            with self._timed(outcome, "audit what was left behind with Spark"):
                verdict = self._audit().clean()
        with self._timed(outcome, "search what was left behind for the passwords"):
            outcome.found = self._search(secrets, sampler=sampler, since=started)
        with self._timed(outcome, "plant a password in a log, and audit that"):
            outcome.audited = Audited(str(self.workspace.audit_page), verdict, *self._audit().planted())
        return outcome

    @contextmanager
    def _timed(self, outcome: Outcome, name: str) -> Iterator[None]:
        start = time.monotonic()
        with self.stage(name):
            yield
        outcome.seconds[name] = round(time.monotonic() - start, 1)

    def _prepare(self) -> list[Secret]:
        self.workspace.create()
        unpack_flights(self.workspace.root / "raw", every=self.every)
        password = make_secret(self.workspace.secrets, PASSWORD)
        wrong = make_secret(self.workspace.wrong_secrets, PASSWORD)
        database.create(self.workspace.derby, java=self.java, password=password)
        return [Secret.of("the password", password), Secret.of("the wrong password", wrong)]

    def _airflow(self, secrets_dir: Path) -> Airflow:
        environment = self.workspace.environment(secrets_dir=secrets_dir)
        return Airflow(environment, self.workspace.root, self.workspace.log, self._show)

    def _show(self, line: str) -> None:
        found = PROGRESS.search(line)
        if found:
            self.progress(found["line"])

    def _migrate(self) -> None:
        if self._airflow(self.workspace.secrets).run(["db", "migrate"]):
            raise StageError(f"Airflow could not make its database. See {self.workspace.log}.")

    def _run_dag(self) -> None:
        airflow = self._airflow(self.workspace.secrets)
        report = {"spark.flights.report.top": 5, "spark.flights.report.min.flights": MIN_FLIGHTS // self.every}
        code = airflow.run(["dags", "test", DAG_ID, DATE, "--conf", json.dumps({"spark_conf": report})])
        failed = [task for task, state in self._states(DATE).items() if state != "success"]
        if code or failed:
            raise StageError(f"The DAG failed ({', '.join(failed) or f'exit code {code}'}). See {self.workspace.log}.")

    def _run_with_wrong_password(self) -> bool:
        """Return whether the report failed because the database refused the login."""
        before = database.refusals(self.workspace.derby)
        arguments = ["dags", "test", DAG_ID, DATE_OF_WRONG_PASSWORD, "--mark-success-pattern", "ingest|join"]
        self._airflow(self.workspace.wrong_secrets).run(arguments)
        has_failed = self._states(DATE_OF_WRONG_PASSWORD).get("report") == "failed"
        return has_failed and database.refusals(self.workspace.derby) > before

    def _audit(self) -> Audit:
        lines: list[str] = []
        environment = self.workspace.environment(secrets_dir=self.workspace.secrets)
        return Audit(self.workspace, Airflow(environment, self.workspace.root, self.workspace.log, lines.append), lines)

    def _states(self, date: str) -> Mapping[str, str | None]:
        states = metadata.states(self.workspace.metadata, dag_id=DAG_ID).get(date, {})
        return {task: states.get(task) for task in TASKS}

    def _collect(self, outcome: Outcome) -> None:
        outcome.configs = metadata.effective_configs(self.workspace.metadata, dag_id=DAG_ID, tasks=TASKS)
        outcome.quality = json_rows(self.workspace.lake / "quality")
        tops = sorted((self.workspace.lake / "report/top").iterdir())
        outcome.report = {top.name: json_rows(top) for top in tops}
        counted = {row["dataset"]: row["accepted"] + row["rejected"] for row in outcome.quality}.get("flights")
        flights = number_of_flights(self.workspace.root / "raw")
        if counted != flights:
            raise StageError(f"{flights:,} flights are in the data, and {counted or 0:,} are accounted for.")

    def _search(self, secrets: Sequence[Secret], *, sampler: Sampler, since: float) -> Found:
        # Other programs write to the temp directory, too: unpacking their files could take minutes.
        ours, temp = Search(secrets), Search(secrets, unpacks=False)
        ours.tree(self.workspace.root, leave_out={self.workspace.secrets, self.workspace.wrong_secrets})
        ours.database(self.workspace.metadata)
        for folder in {Path(tempfile.gettempdir()), SHARED_MEMORY}:
            temp.tree(folder, leave_out={self.workspace.root}, since=since)
        processes = sampler.search
        return Found(
            searched={
                "files below the work directory": ours.files,
                "bytes in them": ours.size,
                "Spark event logs among them": len(list(self.workspace.events.iterdir())),
                "tables of the metadata database": ours.tables,
                "rows in them": ours.rows,
                "new files in the temp directory": temp.files,
                "processes": sampler.processes,
                "looks at their arguments and environment": sampler.looks,
            },
            forms=tuple(secrets[0].forms),
            findings=tuple(dict.fromkeys([*ours.found, *temp.found, *processes.found])),
            unread=tuple(dict.fromkeys([*ours.unread, *temp.unread, *processes.unread])),
        )


def json_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows that Spark has written as JSON."""
    parts = sorted(folder.glob("part-*.json"))
    return [json.loads(line) for part in parts for line in part.read_text(encoding="utf-8").splitlines()]
