"""What has to be true of a run, so that its matrix proves something."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Final

from tests.leaks.deployment import TESTED, UNEDITED, LeakyAirflow, LeakyTask

ENDS: Final = {
    "local": "success",
    "standalone": "failed",
    "killed": "failed",
    "sql": "success",
    "jdbc": "success",
    "pyspark": "failed",
    "deferred": "success",
}
"""How a task behaves -> the state in which it has to end."""

LONGEST_LOG: Final = 4000

STOCK: Final = {
    "LivyOperator",
    "SparkJDBCOperator",
    "SparkSqlOperator",
    "SparkSubmitOperator",
    "_PySparkDecoratedOperator",
}


def digest(text: str) -> str:
    """Return what the job reports about a value that it got."""
    return hashlib.sha256(text.encode()).hexdigest()


class Proof:
    """
    Compares what has happened with what has to happen.

    :param values: task -> the digests of the values that its job got
    """

    def __init__(self, leaky: LeakyAirflow, values: Mapping[str, frozenset[str]]) -> None:
        self._leaky = leaky
        self._airflow = leaky.airflow
        self._values = values

    def problems(self) -> list[str]:
        """Return what was not as expected, one problem a line."""
        return [*self._import_errors(), *self._ends(), *self._missing_values(), *self._stored()]

    def _import_errors(self) -> Iterator[str]:
        for file, error in self._airflow.query("select filename, stacktrace from import_error"):
            yield f"{file} could not be imported: {error.splitlines()[-1]}"

    def _ends(self) -> Iterator[str]:
        states = dict(self._airflow.query("select task_id, state from task_instance where dag_id != ?", TESTED))
        expected = {task.task_id: ENDS[task.how] for task in self._leaky.tasks if task.dag_id != TESTED}
        for name in sorted({*states, *expected}):
            if states.get(name) != expected.get(name):
                ended = f"{name} has ended as {states.get(name)}, and has to end as {expected.get(name)}"
                yield "\n".join([ended, *self._logs(name)])

    def _logs(self, task_id: str) -> Iterator[str]:
        """Yield the end of each log of a task; all its secrets are made up."""
        for log in self._airflow.home.glob(f"logs/*/*/task_id={task_id}/*.log"):
            yield f"{log.name} ends in:\n{log.read_text(errors='replace')[-LONGEST_LOG:]}"

    def _missing_values(self) -> Iterator[str]:
        """Require of ours that the job got values: a job that gets references leaks nothing either."""
        for task in self._leaky.tasks:
            if task.column.is_ours and task.dag_id != TESTED:
                got = self._values.get(task.task_id, frozenset())
                missing = [name for name, digest in self._digests(task).items() if digest not in got]
                if missing:
                    yield f"{task.task_id} did not get: {', '.join(missing)}"

    def _digests(self, task: LeakyTask) -> dict[str, str]:
        return {slot.name: digest(canary.text) for slot, canary in self._leaky.slots(task).items()}

    def _stored(self) -> Iterator[str]:
        """Require that what Airflow stores of a DAG that nobody edited names stock operators, and never changes."""
        stored = "select dag_id, data from serialized_dag where dag_id = ?"
        for dag_id, data in self._airflow.query(stored, UNEDITED):
            for task in json.loads(data)["dag"]["tasks"]:
                kind = task["__var"]["task_type"], task["__var"]["_task_module"].partition(".")[0]
                if kind[0] not in STOCK or kind[1] != "airflow":
                    yield f"{dag_id} is stored with a task of {kind[1]}.{kind[0]}"
        for dag_id, versions in self._airflow.query("select dag_id, count(*) from dag_version group by dag_id"):
            if versions != 1:
                yield f"{dag_id} has {versions} versions"
