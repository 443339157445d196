"""One run with all secrets, from an empty folder to the matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.conftest import Unforked
from tests.leaks.canaries import DYNAMIC, TEMPLATED, Column, new_canaries
from tests.leaks.collect import Files, RestAnswers
from tests.leaks.deferred import DeferredTasks
from tests.leaks.deployment import CHANGES, ROUNDS, TESTED, LeakyAirflow
from tests.leaks.history import history_server, shown
from tests.leaks.livy import Livy
from tests.leaks.matrix import Matrix
from tests.leaks.observer import Observer
from tests.leaks.proof import Proof
from tests.leaks.sinks import Sink
from tests.servers.spark_cluster import spark_cluster
from tests.servers.web import WebServer

SECONDS_OF_A_DAG = 3600
"""Two hundred seconds on an idle machine; this is for one that ten others use."""
DESCRIBED = {Column.OURS: "standalone", Column.UNEDITED: "local"}
"""Which task of ours is described: the one with most secrets."""


class RunError(RuntimeError):
    """The run did not go as it has to, so that its matrix would prove nothing."""


@dataclass(frozen=True, slots=True)
class LeakRun:
    """
    Runs jobs with secrets, observes them, and searches what they have left.

    :param home: an empty folder
    :param tell: is called with each line of progress
    :param columns: who submits
    :param stock: how the tasks of a stock operator behave, by column; None for all that there are
    """

    home: Path
    tell: Callable[[str], None]
    columns: Sequence[Column] = tuple(Column)
    stock: Mapping[Column, Sequence[str]] | None = None

    def matrix(self) -> Matrix:
        """
        Run everything.

        :raises RunError: a task did not end as it has to
        """
        matrix = Matrix(new_canaries(self.columns))
        self.tell("Start a standalone cluster of Spark, and Airflow")
        livy = Livy()
        with spark_cluster(self.home / "cluster") as cluster, WebServer(livy) as livy_server:
            port = int(livy_server.address.rpartition(":")[2])
            leaky = LeakyAirflow(
                self.home, matrix.canaries, master_url=cluster.master_url, livy_port=port, stock=self.stock
            )
            leaky.write()
            files = Files(leaky, matrix)
            deferred = DeferredTasks(leaky, matrix, livy)
            observer = Observer(matrix, leaky.meeting, cluster, files=files.others, deferred=deferred.look)
            with leaky.airflow, observer:
                self._let_loose(leaky, matrix)
                self._require_proof(Proof(leaky, {**observer.values, **livy.values()}))
                with self._timed("ask Airflow's REST interface"):
                    RestAnswers(leaky, matrix).collect()
        with self._timed("search the files"):
            files.collect()
        with self._timed("ask the History Server"):
            self._history(leaky, matrix)
        return matrix

    def _let_loose(self, leaky: LeakyAirflow, matrix: Matrix) -> None:
        leaky.store()
        with ThreadPoolExecutor(max_workers=2) as both, self._timed("run the tasks"):
            commands = both.submit(self._commands, leaky, matrix)
            for dags in ROUNDS:
                self._run(leaky.airflow, [dag_id for dag_id in dags if dag_id in leaky.dags])
            commands.result()

    def _run(self, airflow: Unforked, dags: Iterable[str]) -> None:
        runs = {dag_id: airflow.trigger(dag_id) for dag_id in dags}
        for dag_id in runs:
            airflow.unpause(dag_id)
        for dag_id, run in runs.items():
            airflow.end(dag_id, run, seconds=SECONDS_OF_A_DAG)
            self.tell(f"  the DAG {dag_id} has ended")

    def _commands(self, leaky: LeakyAirflow, matrix: Matrix) -> None:
        """
        Run the commands that show or change a task, or run one in the terminal.

        :raises RunError: the configuration was not altered, or the task did not get what was
        """
        airflow, dags = leaky.airflow, leaky.dags
        airflow.wait("the DAGs", lambda: len(airflow.query("select dag_id from serialized_dag")) >= len(dags))
        for sink, words in _words(leaky):
            done = airflow.cli(*words, check=False, seconds=SECONDS_OF_A_DAG)
            printed = f"{done.stdout}\n{done.stderr}"
            matrix.look(sink, " ".join(words), printed)
            self.tell(f"  airflow {' '.join(words)}: exit code {done.returncode}")
            if sink == Sink.OWN_COMMANDS and done.returncode:
                raise RunError(f"airflow {' '.join(words)} has to end with 0.")
            if sink == Sink.DAGS_TEST and Column.OURS in leaky.columns and f"'{DYNAMIC.key}'" not in printed:
                raise RunError(f"A job has to get {DYNAMIC.key}, which was altered.")

    def _require_proof(self, proof: Proof) -> None:
        if problems := proof.problems():
            raise RunError("\n".join(["The run did not go as it has to:", *problems]))

    def _history(self, leaky: LeakyAirflow, matrix: Matrix) -> None:
        folder = self.home / "history"
        folder.mkdir()
        with history_server(folder, leaky.airflow.events) as server:
            for page, text in shown(server):
                matrix.look(Sink.HISTORY, page, text)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.monotonic()
        self.tell(what[0].upper() + what[1:])
        yield
        self.tell(f"  done in {time.monotonic() - start:.0f} s")


def _words(leaky: LeakyAirflow) -> Iterator[tuple[Sink, Sequence[str]]]:
    """
    Return the commands that change or show a task or run a DAG, with the sinks of their output.

    ``airflow tasks render`` would fail for the stock operator with a variable or a connection, so it is left out:
    Airflow 3 gives such a command neither out of its database, but only out of environment variables or a secrets
    backend.
    """
    own = (Sink.OWN_COMMANDS, "config-providers")
    altered = ("--dag", TESTED, "--task", f"{Column.OURS.key}_console")
    if Column.OURS in leaky.columns:
        yield own[0], (own[1], "alter", *altered, "--add-config-file", str(leaky.sources / CHANGES))
    if TESTED in leaky.dags:
        yield Sink.DAGS_TEST, ("dags", "test", TESTED)
    for task in leaky.tasks:
        if task.how == "local" and task.column not in TEMPLATED:
            yield Sink.RENDER, ("tasks", "render", task.dag_id, task.task_id, "2026-01-01")
        if task.column.is_ours and task.how == DESCRIBED[task.column]:
            yield own[0], (own[1], "describe", "--dag", task.dag_id, "--task", task.task_id, "--synonyms")
    if Column.OURS in leaky.columns:
        yield own[0], (own[1], "describe", *altered, "--synonyms", "--output", "json")
        yield own[0], (own[1], "history", *altered, "--output", "json")
