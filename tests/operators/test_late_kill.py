"""A task is killed before spark-submit has said which driver it started in a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from typing import Any, ClassVar

import psutil
import pytest

from airflow_config_providers.airflow_compat import AirflowTaskTimeout
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.processes.process_family import LateKill
from tests.limits import LONGEST, eventually
from tests.operators.standalone_master import JOB
from tests.operators.stock import NOT_DURABLE
from tests.servers.web import Response, WebServer

DRIVER = '{\n"submissionId" : "x",\n"success" : true,\n"driverState" : "KILLED"\n}'


class Patient(ConfiguredSparkSubmitOperator):
    """Waits for the driver's id as long as a busy machine needs."""

    seconds = LONGEST
    hooks: ClassVar[list[Any]] = []

    def _get_hook(self):
        hook = super()._get_hook()
        hook._late_kill = LateKill(self.seconds)
        self.hooks.append(hook)
        return hook


class Impatient(Patient):
    seconds = 0.0


@pytest.fixture
def killed(connections, spark_submit, monkeypatch):
    """Return the drivers that a standalone cluster, to which the default connection leads, was asked to kill."""
    paths = []

    def found():
        # A newer Spark provider asks the REST interface, and an older one runs spark-submit.
        commands = [entry.arguments for entry in spark_submit() if "--kill" in entry.arguments]
        return [path.rpartition("/")[2] for path in paths] + [each[each.index("--kill") + 1] for each in commands]

    def answer(request):
        paths.append(request.path)
        return Response(200, DRIVER.encode())

    with WebServer(answer) as server:
        extra = {"deploy-mode": "cluster", "rest-port": server.address.rpartition(":")[2]}
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1:7077", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        yield found


@pytest.fixture
def say(spark_submit, tmp_path, monkeypatch):
    """Have spark-submit say which driver it started, and then run until it is killed."""
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"submitted as {JOB}")
    monkeypatch.setenv("FAKE_SPARK_PRINTS_AFTER", str(tmp_path / "said"))
    monkeypatch.setenv("FAKE_SPARK_RUNS_UNTIL", str(tmp_path / "end"))
    yield (tmp_path / "said").touch
    (tmp_path / "said").touch()
    (tmp_path / "end").touch()


@pytest.fixture
def run_until(run_task, spark_submit):
    """
    Run a task, and take steps in another thread once spark-submit runs: ``run_until(job, kill, say)``.

    It can run before the hook knows its process, which a kill would end at once.
    """
    Patient.hooks.clear()

    def has_begun():
        return spark_submit() and any(hook._submit_sp for hook in Patient.hooks)

    def run(operator, *steps):
        has_ended = threading.Event()

        def take():
            assert eventually(lambda: has_begun() or has_ended.is_set())
            for step in () if has_ended.is_set() else steps:
                step()

        thread = threading.Thread(target=take)
        thread.start()
        try:
            return run_task(operator, state={})
        finally:
            has_ended.set()
            thread.join(LONGEST)

    return run


def send(number):
    """
    Return what sends this process a signal, once the lines of spark-submit are logged.

    Airflow logs in its handler, and structlog waits for ever if that interrupts the writing of a line.
    """

    def wait_and_send():
        time.sleep(0.5)
        os.kill(os.getpid(), number)

    return wait_and_send


@pytest.fixture
def left():
    """Return the processes that a test has started and that still run."""
    before = psutil.Process().children()

    def running():
        new = [child for child in psutil.Process().children() if child not in before]
        return [child for child in new if child.status() != psutil.STATUS_ZOMBIE]

    return running


def test_a_driver_that_is_named_after_the_kill_is_killed(dag, run_until, killed, say, left):
    run = run_until(Patient(task_id="job", application="job.py", dag=dag), send(signal.SIGTERM), say)

    assert run.state == "failed"
    assert killed() == [JOB]
    assert eventually(lambda: left() == [])


def test_spark_submit_that_names_no_driver_in_time_is_ended(dag, run_until, killed, say, left):
    run = run_until(Impatient(task_id="job", application="job.py", dag=dag), send(signal.SIGTERM))

    assert run.state == "failed"
    assert killed() == []
    assert eventually(lambda: left() == [])


def test_a_driver_that_is_named_after_the_timeout_of_the_task_is_killed(dag, run_until, killed, say, left):
    def time_out(signum, frame):
        raise AirflowTaskTimeout

    class Late(Patient):
        def execute(self, context):
            try:
                return super().execute(context)
            except AirflowTaskTimeout:
                self.on_kill()  # as Airflow does
                raise

    before = signal.signal(signal.SIGALRM, time_out)
    try:
        run = run_until(Late(task_id="job", application="job.py", dag=dag), send(signal.SIGALRM), say)
    finally:
        signal.signal(signal.SIGALRM, before)

    assert run.state == "failed"
    assert killed() == [JOB]
    assert eventually(lambda: left() == [])


def test_an_application_on_yarn_that_a_key_sent_into_the_cluster_is_killed(
    dag, run_until, connections, spark_submit, tmp_path, monkeypatch
):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}))
    monkeypatch.setenv("FAKE_SPARK_PRINTS", "Submitted application application_1_0001")
    monkeypatch.setenv("FAKE_SPARK_RUNS_UNTIL", str(tmp_path / "end"))
    yarn = tmp_path / "yarn"
    yarn.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/killed\n')
    yarn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{yarn.parent}{os.pathsep}{os.environ['PATH']}")
    job = Patient(
        task_id="job", application="job.py", conf={"spark.submit.deployMode": "cluster"}, dag=dag, **NOT_DURABLE
    )

    def is_named():
        assert eventually(lambda: Patient.hooks[-1]._yarn_application_id is not None)

    run = run_until(job, is_named, send(signal.SIGTERM))

    assert run.state == "failed"
    assert (tmp_path / "killed").read_text() == "application -kill application_1_0001\n"


@pytest.mark.skipif(not NOT_DURABLE, reason="this Spark provider does not ask YARN's resource manager")
def test_spark_submit_that_still_uploads_for_yarn_is_killed(
    dag, run_until, connections, spark_submit, left, tmp_path, monkeypatch
):
    asked = []

    def answer(request):
        asked.append(request.path)
        return Response(404, b"{}")  # YARN has no such application yet

    monkeypatch.setenv("FAKE_SPARK_PRINTS", "Uploading resource job.py -> hdfs://staging/application_1_0001/job.py")
    monkeypatch.setenv("FAKE_SPARK_RUNS_UNTIL", str(tmp_path / "end"))
    job = Patient(task_id="job", application="job.py", dag=dag, yarn_track_via_rm_api=True)

    def is_named():
        assert eventually(lambda: Patient.hooks[-1]._yarn_application_id is not None)

    with WebServer(answer) as server:
        extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": server.address}
        connection = {"conn_type": "spark", "host": "yarn", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        run = run_until(job, is_named, send(signal.SIGTERM))

    assert run.state == "failed"
    assert asked[-1] == "/ws/v1/cluster/apps/application_1_0001/state"
    assert eventually(lambda: left() == [])


def test_a_kill_that_was_forgotten_ends_no_process():
    class Process:
        ends = 0

        def kill(self):
            self.ends += 1

    process, kill = Process(), LateKill(0.05)
    kill.ask(process)
    kill.forget()
    time.sleep(0.2)

    assert process.ends == 0
    assert not kill.is_due


def test_without_a_thread_that_could_end_it_later_spark_submit_is_ended_at_once(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with subprocess.Popen(["sleep", "600"], text=True) as process:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        kill = LateKill(LONGEST)
        kill.ask(process)
        monkeypatch.undo()

        assert process.wait(LONGEST) == -signal.SIGKILL
        assert kill.is_due
        kill.forget()


class KilledWithoutHook(ConfiguredSparkSubmitOperator):
    """Is killed while ``execute`` creates its hook, so that the one of ``on_kill`` is another one."""

    def _get_hook(self):
        hook = super()._get_hook()
        if not self._try_state.is_killed:
            self.on_kill()
        return hook


def test_a_task_that_is_killed_while_its_hook_is_created_submits_nothing(dag, run_task, connections, spark_submit):
    run = run_task(KilledWithoutHook(task_id="job", application="job.py", dag=dag))

    assert run.state == "failed"
    assert "killed before its job began" in str(run.error)
    assert spark_submit() == []
