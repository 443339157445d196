"""A run that did not go as it has to is told from one that did."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from tests.leaks.canaries import Column, new_canaries
from tests.leaks.deployment import TESTED, UNEDITED, LeakyAirflow
from tests.leaks.proof import ENDS, Proof, digest

TABLES = """
    create table import_error (filename, stacktrace);
    create table task_instance (dag_id, task_id, state);
    create table serialized_dag (dag_id, data);
    create table dag_version (dag_id);
"""
REFERENCE = "${dir:/sealed:password}"


class Run:
    """What a run leaves that went well; ``change`` spoils it."""

    def __init__(self, home):
        self.leaky = LeakyAirflow(home, new_canaries(), master_url="spark://127.0.0.1:1", livy_port=1)
        self.values = {task.task_id: frozenset(map(digest, self.texts(task))) for task in self.leaky.tasks}
        self.change(TABLES)
        tasks = [task for task in self.leaky.tasks if task.dag_id != TESTED]
        for task in tasks:
            self.change(f"insert into task_instance values ('{task.dag_id}', '{task.task_id}', '{ENDS[task.how]}')")
        for dag_id in self.leaky.dags:
            self.change(f"insert into dag_version values ('{dag_id}')")
        self.store("SparkSubmitOperator", "airflow.providers.apache.spark.operators.spark_submit")

    def texts(self, task):
        """Return what the job of a task gets."""
        return [canary.text for canary in self.leaky.slots(task).values()]

    def change(self, sql):
        with closing(sqlite3.connect(self.leaky.home / "airflow.db")) as database:
            database.executescript(sql)

    def store(self, kind, module):
        data = json.dumps({"dag": {"tasks": [{"__var": {"task_type": kind, "_task_module": module}}]}})
        self.change(f"delete from serialized_dag; insert into serialized_dag values ('{UNEDITED}', '{data}')")

    def problems(self):
        return Proof(self.leaky, self.values).problems()


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "home")


def test_a_run_that_went_well_has_no_problems(run):
    assert run.problems() == []


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("insert into import_error values ('dags/x.py', 'Traceback\nNameError: x')", "dags/x.py could not be imported"),
        ("update task_instance set state = 'failed' where task_id = 'unedited_local'", "unedited_local has ended as"),
        ("delete from task_instance where task_id = 'ours_killed'", "ours_killed has ended as None"),
        (f"insert into dag_version values ('{UNEDITED}')", f"{UNEDITED} has 2 versions"),
    ],
    ids=["an import error", "a task that failed", "a task that did not run", "a second version"],
)
def test_what_went_wrong_is_told(run, sql, problem):
    run.change(sql)

    (told,) = run.problems()
    assert told.startswith(problem)


@pytest.mark.parametrize("task_id", ["ours_local", "ours_standalone", "unedited_local"])
def test_a_job_of_ours_that_got_references_proves_nothing(run, task_id):
    run.values[task_id] = frozenset({digest(REFERENCE)})

    (told,) = run.problems()
    assert told.startswith(f"{task_id} did not get: sensitive key, innocent key")


def test_a_task_that_is_stored_as_one_of_ours_is_told(run):
    run.store("SparkSubmitOperator", "airflow_config_providers.operators.spark_submit")

    assert run.problems() == [f"{UNEDITED} is stored with a task of airflow_config_providers.SparkSubmitOperator"]


def test_no_column_but_ours_has_to_show_what_its_jobs_got(run):
    run.values = {name: got for name, got in run.values.items() if name.startswith((Column.OURS.key, "unedited"))}

    assert run.problems() == []
