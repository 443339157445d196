"""A deferred task of ours logs what its batch has printed itself; the triggerer never sees it."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from importlib import import_module

import pytest

pytest.importorskip("airflow.providers.apache.livy")

from airflow.providers.apache.livy.operators.livy import LivyOperator
from airflow.providers.apache.livy.triggers.livy import LivyTrigger

from airflow_config_providers.operators.configure import configured
from tests.limits import LONGEST, eventually
from tests.operators.conftest import CANARY
from tests.servers import quick_python
from tests.servers.web import Response

pytestmark = pytest.mark.usefixtures("connections")

EVENT = {"batch_id": 7, "status": "success", "response": "Batch 7 succeeded", "log_lines": None}


class Livy:
    """Runs one batch, and says that it printed the value."""

    def __init__(self, state):
        self.state = state
        self.log_status = 200

    def __call__(self, request):
        lines = [f"the job says {CANARY}"] if request.path.endswith("/log") else []
        answer = {"id": 7, "state": self.state, "appId": "app-7", "from": 0, "total": len(lines), "log": lines}
        status = self.log_status if lines else 200
        return Response(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def livy(serve_livy):
    """A Livy whose batch runs."""
    return serve_livy(Livy("running"))


@pytest.fixture
def operator(dag, password):
    """A task whose batch gets the value."""
    kind = configured(LivyOperator)
    return kind(
        task_id="job", dag=dag, file="job.py", deferrable=True, polling_interval=1, conf={"spark.app.x": password}
    )


def resumed(dag, password, event):
    """Return a task of ours that continues as after a deferral."""

    class Resumed(configured(LivyOperator)):
        def execute(self, context):
            return self.resume_execution("execute_complete", {"event": event}, context)

    return Resumed(task_id="job", dag=dag, file="job.py", deferrable=True, conf={"spark.app.x": password})


def test_attack_19_the_trigger_of_a_deferred_task_fetches_nothing_that_was_printed(livy, operator, no_leak):
    message = no_leak(operator, finalize=False).message
    module, _, name = message.classpath.rpartition(".")
    kind = getattr(import_module(module), name)
    livy.state = "success"

    event = asyncio.run(anext(kind(**message.trigger_kwargs).run()))

    assert issubclass(kind, LivyTrigger)
    assert event.payload == EVENT


@pytest.mark.parametrize("lines", [None, [f"the job says {CANARY}"]], ids=["ours", "stored before an upgrade"])
def test_attack_19_a_deferred_task_shows_references_for_what_its_batch_printed(
    livy, dag, run_task, password, capfd, lines
):
    livy.state = "success"
    run = run_task(resumed(dag, password, {**EVENT, "log_lines": lines}))

    shown = "".join(capfd.readouterr())
    assert run.state == "success"
    assert shown.count(f"the job says {password}") == 1
    assert CANARY not in shown


def test_a_deferred_task_ends_as_its_batch_although_what_was_printed_cannot_be_fetched(
    livy, dag, run_task, password, capfd
):
    livy.state, livy.log_status = "success", 500
    run = run_task(resumed(dag, password, EVENT))

    shown = "".join(capfd.readouterr())
    assert run.state == "success"
    assert "The output of batch 7 could not be fetched" in shown
    assert CANARY not in shown


RENAMED = """
from airflow.providers.apache.livy.triggers.livy import LivyTrigger
from airflow_config_providers.exceptions import UnsupportedVersionError
from airflow_config_providers.operators.livy import WaitingLivyTrigger

LivyTrigger._make_async_hook = LivyTrigger._get_async_hook
del LivyTrigger._get_async_hook
try:
    WaitingLivyTrigger(batch_id=1, polling_interval=1)
except UnsupportedVersionError as error:
    print(error.problems[0].split(" (")[0])
"""


def test_a_trigger_is_not_made_where_its_override_would_not_be_called():
    """In a process of its own: the stock trigger would log what the batch printed."""
    done = quick_python.run("-c", RENAMED, env=os.environ)

    assert done.stdout.splitlines()[-1:] == ["LivyTrigger._get_async_hook"]


class Batches:
    """Runs batches until a test ends them; a batch that is deleted is unknown, as in Livy."""

    def __init__(self):
        self.posted = []
        self.deleted = []
        self.has_ended = False

    def __call__(self, request):
        if request.method == "POST":
            self.posted.append(json.loads(request.body))
            return self._answer(len(self.posted), 201)
        number = int(request.path.split("/")[2])
        if request.method == "DELETE":
            self.deleted.append(number)
        return self._answer(number, 404 if number in self.deleted and request.method == "GET" else 200)

    def _answer(self, number, status):
        answer = {"id": number, "state": "success" if self.has_ended else "running", "appId": "app", "total": 0}
        return Response(status, json.dumps({**answer, "log": []}).encode(), {"Content-Type": "application/json"})


def test_a_batch_is_deleted_and_posted_again_when_its_secret_changes(
    serve_livy, dag, run_task, password, secrets_dir, monkeypatch, capfd
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    livy = serve_livy(Batches())

    def rotate():
        try:
            assert eventually(lambda: len(livy.posted) == 1)
            (secrets_dir / "db-password").write_text(f"{CANARY}-2")
            assert eventually(lambda: len(livy.posted) == 2 or livy.has_ended)
        finally:
            livy.has_ended = True

    steps = threading.Thread(target=rotate)
    steps.start()
    state = {}
    task = configured(LivyOperator)(
        task_id="job", dag=dag, file="job.py", polling_interval=1, conf={"spark.app.x": password}, streaming=True
    )
    run = run_task(task, state=state)
    livy.has_ended = True
    steps.join(LONGEST)

    assert run.state == "success", run.error
    assert [batch["conf"]["spark.app.x"] for batch in livy.posted] == [CANARY, f"{CANARY}-2"]
    assert livy.deleted == [1]
    assert state.get("livy_batch_id", 2) == 2
    assert CANARY not in "".join(capfd.readouterr()) + repr(run.rendered) + repr(state)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"deferrable": True, "polling_interval": 1}, "its task is deferred while the job runs"),
        ({"polling_interval": 0}, "its task does not wait for the job"),
    ],
    ids=["deferred", "not waited for"],
)
def test_a_batch_that_the_task_does_not_follow_is_not_restarted_and_the_note_says_why(
    livy, dag, run_task, password, given, reason
):
    livy.state = "success"
    task = configured(LivyOperator)(
        task_id="job", dag=dag, file="job.py", conf={"spark.app.x": password}, streaming=True, **given
    )
    (note,) = [line for line in run_task(task).rendered["effective_config"] if line.startswith("! This job")]

    assert note.startswith(f"! This job is not restarted when its secrets change: {reason}")


@pytest.mark.parametrize("has_reference", [True, False])
def test_a_named_argument_that_pre_execute_adds_reaches_livy(serve_livy, dag, run_task, password, has_reference):
    given = [password] if has_reference else ["plain"]
    livy = serve_livy(Batches())
    livy.has_ended = True
    job = configured(LivyOperator)(
        task_id="job",
        dag=dag,
        file="job.py",
        polling_interval=1,
        conf={"spark.app.x": "1"},
        driver_memory="1g",
        args=given,
        pre_execute=lambda context: context["task"].spark_params.update(executor_memory="4g"),
    )
    run = run_task(job, state={})

    assert run.state == "success", run.error
    (batch,) = livy.posted
    assert batch["executorMemory"] == "4g"
    assert batch["conf"] == {"spark.app.x": "1", "spark.driver.memory": "1g"}
    assert "driverMemory" not in batch


def test_a_reference_that_pre_execute_adds_to_a_named_argument_is_refused(serve_livy, dag, run_task, password):
    livy = serve_livy(Batches())
    change = lambda context: context["task"].spark_params.update(queue=password)  # noqa: E731 - as an argument
    job = configured(LivyOperator)(task_id="job", dag=dag, file="job.py", conf={"spark.a": "b"}, pre_execute=change)
    run = run_task(job, state={})

    assert str(run.error).startswith("spark_params['queue']: it has a reference that was added or moved")
    assert livy.posted == []


def test_a_string_that_looks_like_a_value_is_none(serve_livy, dag, run_task, secrets_dir, connections):
    livy = serve_livy(Batches())
    livy.has_ended = True
    (secrets_dir / "memory").write_text("4g")
    job = configured(LivyOperator)(
        task_id="job",
        dag=dag,
        file="job.py",
        polling_interval=1,
        conf={"spark.app.x": f"${{dir:{secrets_dir}:memory}}"},
        pre_execute=lambda context: context["task"].spark_params["conf"].update({"spark.app.name": "4g"}),
    )
    run = run_task(job, state={})

    assert run.state == "success", run.error
    assert livy.posted[0]["conf"]["spark.app.name"] == "4g"
