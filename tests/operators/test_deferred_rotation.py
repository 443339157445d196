"""A secret changes while its task is deferred: the process that goes on knows the old value and the new one."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("airflow.providers.apache.livy")

from airflow.providers.apache.livy.operators.livy import LivyOperator
from airflow.sdk import DAG
from airflow.sdk.serde import serialize
from airflow.serialization.serialized_objects import BaseSerialization

from airflow_config_providers.operators.configure import configured
from tests.operators.reversal.test_before_execute import own_xcoms
from tests.operators.triggering import resumption
from tests.servers.web import Response

OLD = "c4nary/f0rmer+value"
NEW = "c4nary/l4ter+value"
EVENT = {"batch_id": 7, "status": "success", "response": "Batch 7 succeeded", "log_lines": None}
ARGUMENT = "_config_providers_values"

pytestmark = pytest.mark.usefixtures("connections")


class Livy:
    """Runs one batch, and says everywhere what it was given."""

    def __init__(self):
        self.state = "running"
        self.says = f"{OLD} and {NEW}"

    def __call__(self, request):
        lines = [f"the job says {self.says}"] if request.path.endswith("/log") else []
        answer = {"id": 7, "state": self.state, "appId": f"app of {OLD}", "from": 0, "total": len(lines), "log": lines}
        return Response(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def livy(serve_livy):
    return serve_livy(Livy())


class Deferred:
    """A task that is deferred, and goes on in as many processes as a test wants."""

    def __init__(self, run_task, secrets_dir, capfd, caplog):
        self._run_task = run_task
        self._file = secrets_dir / "password"
        self._folder = secrets_dir
        self._capfd = capfd
        self._caplog = caplog
        self.reference = f"${{dir:{secrets_dir}:password}}"
        self.shown = ""

    def rotate(self, value):
        self._file.write_text(value)

    def begin(self, **kwargs):
        """Run the task until it is deferred, and return the arguments that Airflow stores."""
        return self.run(None, finalize=False, **kwargs).message

    def go_on(self, message, *, event=EVENT, **kwargs):
        """Go on with what Airflow has stored of a deferral."""
        return self.run(resumption(message, event), **kwargs)

    def run(self, resumed_with, *, task_id="job", kind=LivyOperator, **kwargs):
        with DAG("flights", schedule=None):
            conf = {"spark.app.x": self.reference}
            task = configured(kind)(task_id=task_id, file="job.py", conf=conf, deferrable=True, polling_interval=1)
        self._caplog.clear()
        self._capfd.readouterr()
        run = self._run_task(task, resumed_with=resumed_with, **kwargs)
        told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
        self.shown = (
            told + "".join(self._capfd.readouterr()) + self._caplog.text + repr(run.error) + repr(vars(run.task))
        )
        run.task._try_state.run.close()  # as the end of the process
        return run


@pytest.fixture
def deferred(livy, sealing, run_task, secrets_dir, capfd, caplog):
    made = Deferred(run_task, secrets_dir, capfd, caplog)
    made.rotate(OLD)
    return made


@pytest.fixture
def rotated(deferred, livy):
    """What Airflow has stored of a task whose secret has changed since."""
    message = deferred.begin()
    deferred.rotate(NEW)
    livy.state = "success"
    return message


def test_the_log_and_xcoms_show_references_for_both_values(deferred, rotated):
    run = deferred.go_on(rotated)

    assert run.state == "success", run.error
    assert f"the job says {deferred.reference} and {deferred.reference}" in deferred.shown
    assert {message.key: message.value for message in run.supervisor.sent("SetXCom")}["app_id"] == (
        f"app of {deferred.reference}"
    )
    assert "c4nary" not in deferred.shown


def test_an_error_shows_references_for_both_values(deferred, rotated):
    run = deferred.go_on(rotated, event={**EVENT, "status": "error", "response": f"no login with {OLD}, nor {NEW}"})

    assert str(run.error) == f"no login with {deferred.reference}, nor {deferred.reference}"
    assert "c4nary" not in deferred.shown


class Telling(LivyOperator):
    """Tells what a job of before has said, before it goes on."""

    def pre_execute(self, context):
        print("the job had", OLD)
        context["ti"].xcom_push("own", f"of {OLD} and {NEW}")
        self.tell(context)

    def tell(self, context):
        """Do nothing more."""


class Refusing(Telling):
    def tell(self, context):
        raise ValueError(f"{OLD} is refused")


def test_what_pre_execute_prints_and_pushes_shows_references_for_both_values(deferred, rotated):
    run = deferred.go_on(rotated, kind=Telling)

    assert f"the job had {deferred.reference}" in deferred.shown
    assert own_xcoms(run) == [f"of {deferred.reference} and {deferred.reference}"]
    assert "c4nary" not in deferred.shown


def test_an_error_of_pre_execute_shows_the_reference_for_the_old_value(deferred, rotated):
    run = deferred.go_on(rotated, kind=Refusing)

    assert str(run.error) == f"{deferred.reference} is refused"


def test_what_airflow_has_stored_in_another_form_is_opened_too(deferred, rotated):
    method, kwargs = resumption(rotated, EVENT)
    run = deferred.run((method, BaseSerialization.serialize(kwargs)))

    assert run.state == "success", run.error
    assert "c4nary" not in deferred.shown


def test_what_is_stored_shows_no_value_and_the_trigger_gets_none_of_it(deferred, rotated):
    assert rotated.next_kwargs[ARGUMENT].startswith("keyFactoryAlgorithm:")
    assert "c4nary" not in rotated.model_dump_json()
    assert rotated.next_kwargs[ARGUMENT] not in json.dumps(rotated.trigger_kwargs)


def test_a_method_that_goes_on_does_not_get_the_sealed_values(deferred, livy):
    got = []

    class Curious(LivyOperator):
        def execute_complete(self, context, event, **further):
            got.append(further)
            return super().execute_complete(context, event)

    message = deferred.begin(kind=Curious)
    livy.state = "success"
    run = deferred.go_on(message, kind=Curious)

    assert run.state == "success", run.error
    assert got == [{}]


def test_a_task_that_is_deferred_again_still_knows_the_first_value(deferred, livy):
    class Twice(LivyOperator):
        def execute_complete(self, context, event):
            if event.get("is_again"):
                return super().execute_complete(context, event)
            return self.execute(context)

    first = deferred.begin(kind=Twice)
    deferred.rotate(NEW)
    second = deferred.go_on(first, kind=Twice, finalize=False).message
    deferred.rotate("c4nary/th1rd+value")
    livy.state, livy.says = "success", f"{OLD}, {NEW}, c4nary/th1rd+value"
    run = deferred.go_on(second, kind=Twice, event={**EVENT, "is_again": True})

    assert run.state == "success", run.error
    assert f"the job says {', '.join([deferred.reference] * 3)}" in deferred.shown
    assert "c4nary" not in deferred.shown


@pytest.mark.parametrize("written", ["text", 7, {"a": [1]}])
def test_what_somebody_has_written_there_is_one_warning(deferred, rotated, written):
    rotated.next_kwargs[ARGUMENT] = serialize(written)
    run = deferred.go_on(rotated)

    assert run.state == "success", run.error
    assert "had in an earlier process of the task cannot be read" in deferred.shown


def test_what_another_task_has_sealed_is_not_opened(deferred, rotated):
    run = deferred.go_on(rotated, task_id="another")

    assert run.state == "success", run.error
    assert "had in an earlier process of the task cannot be read" in deferred.shown
    assert OLD in deferred.shown


def test_what_an_earlier_try_has_sealed_is_not_opened(deferred, rotated):
    deferred.go_on(rotated, try_number=2)

    assert "had in an earlier process of the task cannot be read" in deferred.shown


def test_a_trigger_that_has_failed_fails_the_task_as_before(deferred, rotated):
    rotated.next_method = "__fail__"
    run = deferred.go_on(rotated, event=None)

    assert type(run.error).__name__ == "TaskDeferralError"


def test_without_a_secret_nothing_is_stored(deferred, sealing, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_ENABLED", "False")  # a record says that it has no hashes
    sealing("")
    message = deferred.begin()

    assert ARGUMENT not in (message.next_kwargs or {})
    assert "password_encoder_secret" not in deferred.shown
