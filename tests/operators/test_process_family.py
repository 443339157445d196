"""A job that is stopped or killed leaves no process behind: spark-submit has a Python driver beside its JVM."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import psutil
import pytest
from airflow.providers.apache.spark.hooks.spark_sql import SparkSqlHook

from airflow_config_providers.hooks.spark_sql import ConfiguredSparkSqlHook
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.processes import process_family
from airflow_config_providers.spark.processes.process_family import ProcessFamily
from tests.limits import LONGEST, eventually
from tests.lint.making import is_alive
from tests.operators.conftest import meanwhile

DRIVER = """
import contextlib, os, pathlib, sys, time

def goes_on(process):
    with contextlib.suppress(OSError):  # it is gone
        return ") Z " not in pathlib.Path("/proc", process, "stat").read_text()  # a zombie has ended
    return False

folder = pathlib.Path(sys.argv[1])
ids = [one.name.removeprefix("driver-") for one in folder.glob("driver-*")]
others = [*filter(goes_on, ids)]
new = folder / f"new-{os.getpid()}"
new.write_text(" ".join(others))
new.rename(folder / f"driver-{os.getpid()}")
while not (folder / "end").exists():  # not in a call of the JVM, whose end it would notice
    time.sleep(0.1)
"""


class Drivers:
    """The Python drivers that a task has started, by their process ids."""

    def __init__(self, folder):
        self._folder = folder

    def have_begun(self, times):
        return eventually(lambda: len(self.beside()) == times)

    def beside(self):
        """Return the id of each -> the other drivers that ran when it began."""
        return {int(one.name.removeprefix("driver-")): one.read_text() for one in self._folder.glob("driver-*")}

    def running(self):
        return [*filter(is_alive, self.beside())]

    def end(self):
        (self._folder / "end").touch()


@pytest.fixture
def drivers(tmp_path, monkeypatch):
    """The drivers of the real spark-submit; they end with the test."""
    pytest.importorskip("pyspark", reason="install pyspark, which brings spark-submit")
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        pytest.skip("no Java: install Java 17")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "drivers"
    folder.mkdir()
    yield (found := Drivers(folder))
    found.end()
    assert eventually(lambda: not found.running())


class Running(ConfiguredSparkSubmitOperator):
    """An operator that a test can kill while it runs: Airflow runs a copy."""

    ran: ClassVar = []

    def execute(self, context):
        self.ran.append(self)
        return super().execute(context)


@pytest.fixture
def streaming(dag, connections, secrets_dir, tmp_path, monkeypatch):
    """A task that is restarted with another password, and its secret."""
    Running.ran.clear()
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    (tmp_path / "job.py").write_text(DRIVER)
    (secrets_dir / "db-password").write_text("c4nary-1")
    return Running(
        task_id="job",
        application=str(tmp_path / "job.py"),
        application_args=[str(tmp_path / "drivers")],
        conf={"spark.app.password": f"${{dir:{secrets_dir}:db-password}}"},
        streaming=True,
        dag=dag,
    )


@pytest.mark.integration
@pytest.mark.slow
def test_the_python_driver_has_ended_when_the_next_job_begins(run_task, streaming, drivers, secrets_dir):
    def rotate():
        drivers.have_begun(1)
        (secrets_dir / "db-password").write_text("c4nary-2")
        drivers.have_begun(2)
        drivers.end()

    with meanwhile(rotate):
        run = run_task(streaming)

    assert run.state == "success", run.error
    assert list(drivers.beside().values()) == ["", ""]


@pytest.mark.integration
@pytest.mark.slow
def test_a_task_that_is_killed_ends_its_python_driver(run_task, streaming, drivers):
    def kill():
        drivers.have_begun(1)
        Running.ran.pop().on_kill()

    with meanwhile(kill):
        run = run_task(streaming)

    assert run.state == "failed"
    assert not drivers.running()


STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(999)"
)
PATIENT = "import time; print('ready', flush=True); time.sleep(999)"
GRANDPARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PATIENT!r}])"
BRIEF = 0.2
LATE_PATIENCE = 2.0
"""Seconds in which a busy machine starts a child."""


@pytest.fixture
def parent(monkeypatch):
    """Start a process with a child: ``parent(code)`` gives the process, and those below it once they are ready."""
    monkeypatch.setattr(process_family, "_SECONDS_TO_FINISH", BRIEF)
    begun, below = [], []

    def start(code):
        starter = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
        process = subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout.readline() == "ready\n"
        below.extend(found := psutil.Process(process.pid).children(recursive=True))
        return process, found

    yield start
    for process in [*below, *begun]:
        if process.is_running() if isinstance(process, psutil.Process) else process.poll() is None:
            process.kill()
    for process in begun:
        process.communicate()


def go_on(processes):
    return [one for one in processes if is_alive(one.pid)]


@pytest.mark.parametrize(
    "code", [pytest.param(STUBBORN, id="ignores SIGTERM"), pytest.param(GRANDPARENT, id="has a child of its own")]
)
def test_what_is_below_a_process_ends_with_it(parent, code):
    process, below = parent(code)

    assert ProcessFamily().end(process, BRIEF) == []

    assert process.wait(LONGEST) == -signal.SIGTERM
    assert go_on(below) == []


LATE = (
    "import signal, subprocess, sys\n"
    f"begin = lambda *_: subprocess.Popen([sys.executable, '-c', {PATIENT!r}])\n"
    "signal.signal(signal.SIGTERM, begin)\n"
    "print('ready', flush=True)\n"
    "while True: signal.pause()"
)


def test_what_a_process_starts_while_it_should_end_ends_with_it():
    with subprocess.Popen([sys.executable, "-c", LATE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert ProcessFamily().end(process, LATE_PATIENCE) == []
        assert process.stdout.read() == "ready\n"  # and then the end, since no process has the pipe any more


def test_what_is_killed_has_ended_after_the_block(parent):
    process, below = parent(STUBBORN)

    with ProcessFamily().killed(process):
        process.kill()

    assert go_on(below) == []


WRAPPER = (
    "import subprocess, sys, time\n"
    "for _ in range(3):\n"
    "    subprocess.run([sys.executable, '-c', \"import time; print('ready', flush=True); time.sleep(9)\"])"
)


def test_a_script_that_is_killed_starts_nothing_after_its_child():
    with subprocess.Popen([sys.executable, "-c", WRAPPER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        with ProcessFamily().killed(process):
            time.sleep(LATE_PATIENCE)
            process.kill()
        assert process.stdout.read() == ""


def test_a_process_goes_on_if_it_is_not_killed(parent):
    process, _ = parent(PATIENT)

    with pytest.raises(OSError, match=r"^no$"), ProcessFamily().killed(process):
        raise OSError("no")

    assert process.wait(LONGEST) == 0  # it waited for its child, which has ended


def test_a_process_that_cannot_be_ended_is_named(parent, monkeypatch):
    process, below = parent(PATIENT)
    monkeypatch.setattr(process_family, "_signal", lambda processes, send: None)  # as if it were another user's

    assert ProcessFamily().end(process, BRIEF) == [below[0].pid]


def test_a_kill_during_a_stop_reaches_what_outlives_its_parent(parent):
    process, below = parent(STUBBORN)
    family = ProcessFamily()
    family._note(process)
    process.terminate()
    process.wait(LONGEST)

    with family.killed(process):
        pass

    assert go_on(below) == []


def test_nothing_is_signalled_for_a_process_that_has_ended(parent):
    """Its id can be another's, which is what this test makes it."""
    other, below = parent(PATIENT)
    ended = subprocess.Popen(["true"], text=True)
    ended.wait(LONGEST)
    ended.pid = other.pid

    with ProcessFamily().killed(ended):
        pass

    assert go_on(below) == below


def test_what_spark_sql_has_started_is_killed_with_it(parent):
    process, below = parent(STUBBORN)
    hook = ConfiguredSparkSqlHook.of(SparkSqlHook(sql="select 1"), delivery=lambda: None, run=JobRun)
    hook._sp = process

    hook.kill()

    assert process.wait(LONGEST) in {0, -signal.SIGKILL}  # it ends by itself if it sees the end of its child first
    assert go_on(below) == []
