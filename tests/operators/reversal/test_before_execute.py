"""What Airflow and others get of a task between its rendering and ``execute``, and after ``execute``."""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from urllib.parse import quote_plus

import pytest
from airflow.sdk import Asset, Metadata, task
from airflow.sdk.exceptions import AirflowSkipException, DownstreamTasksSkipped, TaskDeferred
from airflow.triggers.base import BaseTrigger

from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.reversal.author_hooks import guard_callbacks
from tests.canary import CANARY
from tests.operators.stock import OurOperator

pytestmark = pytest.mark.usefixtures("connections")


class CarryingTrigger(BaseTrigger):
    """Would be stored with what it carries."""

    def __init__(self, carried=None):
        super().__init__()
        self.carried = carried

    def serialize(self):
        return f"{__name__}.CarryingTrigger", {"carried": self.carried}

    def __repr__(self):
        return f"of {self.carried}"

    async def run(self):
        yield


def push(context, result=None):
    context["ti"].xcom_push("own", f"of {CANARY}")


def defer(context, result=None):
    raise TaskDeferred(trigger=CarryingTrigger(), method_name="go_on", kwargs={"token": CANARY})


def keep_in_context(context, result=None):
    context["token"] = CANARY


def job_of(dag, password, *, do=lambda *_: "done", **hooks):
    return OurOperator(task_id="job", dag=dag, payload=password, do=do, **hooks)


def shown_with_locals(error):
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


def own_xcoms(run):
    return [sent.value for sent in run.supervisor.sent("SetXCom") if sent.key == "own"]


@pytest.mark.parametrize(
    "moment",
    ["pre_execute", "on_execute_callback", "post_execute", "on_success_callback"],
)
def test_what_an_authors_function_pushes_shows_the_reference(dag, run_task, password, moment):
    run = run_task(job_of(dag, password, **{moment: push}))

    assert (run.state, own_xcoms(run)) == ("success", [f"of {password}"])


@pytest.mark.parametrize(
    ("moment", "error"), [("on_failure_callback", ValueError), ("on_skipped_callback", AirflowSkipException)]
)
def test_so_does_what_is_pushed_at_the_end_of_a_task_that_was_not_executed(dag, run_task, password, moment, error):
    def fail(context):
        raise error("it ends here")

    run = run_task(job_of(dag, password, pre_execute=fail, **{moment: push}))

    assert own_xcoms(run) == [f"of {password}"]


def test_so_does_what_pre_execute_of_a_mapped_task_pushes(dag, run_task, password):
    with dag:
        mapped = task(lambda x: x, task_id="job", pre_execute=push).expand(x=["a", password])
    configure_task(mapped.operator)
    run = run_task(mapped.operator, map_index=1)

    assert (run.state, own_xcoms(run)) == ("success", [f"of {password}"])


@pytest.mark.parametrize("moment", ["pre_execute", "on_execute_callback", "post_execute"])
def test_a_task_that_an_authors_function_defers_resumes_with_the_reference(dag, run_task, password, moment):
    run = run_task(job_of(dag, password, **{moment: defer}))

    (sent,) = run.supervisor.sent("DeferTask")
    assert sent.next_kwargs["token"] == password


@pytest.mark.parametrize("moment", ["pre_execute", "post_execute"])
def test_a_trigger_that_would_be_stored_with_a_value_is_refused(dag, run_task, password, moment):
    def carry(context, result=None):
        trigger = CarryingTrigger(CANARY)
        raise TaskDeferred(trigger=trigger, method_name="go_on")

    run = run_task(job_of(dag, password, **{moment: carry}))

    assert (run.state, isinstance(run.error, ExposedValueError)) == ("failed", True)
    assert not run.supervisor.sent("DeferTask")
    assert CANARY not in shown_with_locals(run.error)


def carry_in_callback(context):
    raise TaskDeferred(trigger=CarryingTrigger(CANARY), method_name="go_on")


def test_a_callback_before_execute_that_defers_with_a_value_fails_the_task(dag, run_task, password):
    seen = []

    def do(*_):
        seen.append("executed")

    run = run_task(job_of(dag, password, do=do, on_execute_callback=[print, carry_in_callback]), retries=2)

    assert (run.state, seen) == ("failed", [])
    assert "The trigger CarryingTrigger would be stored with values, in carried" in str(run.error)
    assert not run.supervisor.sent("DeferTask")
    assert CANARY not in shown_with_locals(run.error)
    assert run.error.__context__ is None  # the deferral has the trigger


def test_so_does_one_that_is_a_generator(dag, run_task, password):
    def carry(context):
        yield Metadata(Asset("table"), {})
        carry_in_callback(context)

    run = run_task(job_of(dag, password, on_execute_callback=carry))

    assert (run.state, run.supervisor.sent("DeferTask")) == ("failed", [])


def test_so_does_one_that_pre_execute_adds(dag, run_task, password):
    def begin(context):
        context["task"].on_execute_callback.append(carry_in_callback)

    run = run_task(job_of(dag, password, pre_execute=begin, on_execute_callback=[print]))

    assert (run.state, run.supervisor.sent("DeferTask")) == ("failed", [])


def test_so_does_one_that_pre_execute_sets(dag, run_task, password):
    def begin(context):
        context["task"].on_execute_callback = [carry_in_callback]

    run = run_task(job_of(dag, password, pre_execute=begin))

    assert (run.state, run.supervisor.sent("DeferTask")) == ("failed", [])


class BrokenTrigger(CarryingTrigger):
    """Fails when it is stored, with what it carries in the error."""

    def serialize(self):
        raise ValueError(*self.carried)


@pytest.mark.parametrize(("carried", "said"), [([f"refused: {CANARY}"], "refused: {}"), ([], "ValueError")])
def test_the_error_of_a_trigger_that_a_callback_defers_with_shows_the_reference(dag, run_task, password, carried, said):
    def defer_with_it(context):
        raise TaskDeferred(trigger=BrokenTrigger(carried), method_name="go_on")

    run = run_task(job_of(dag, password, on_execute_callback=defer_with_it))

    assert (run.state, str(run.error)) == ("failed", said.format(password))


def test_an_error_of_a_callback_does_not_fail_the_task_as_without_references(dag, run_task, password):
    def fail(context):
        raise ExposedValueError("of the callback itself")

    assert run_task(job_of(dag, password, on_execute_callback=fail)).state == "success"


def test_callbacks_of_the_dags_own_task_stay_as_they_are(dag, run_task, password):
    job = job_of(dag, password, on_execute_callback=[print])
    run_task(job)

    assert job.on_execute_callback == [print]


class Telling:
    """A callback with an attribute, which a log shows by its ``repr``."""

    def __init__(self):
        self.message = "before"

    def __call__(self, context):
        self.message = "after"

    def __repr__(self):
        return "<Telling>"


def test_execute_sees_of_a_callback_what_the_author_wrote(dag, run_task, password):
    seen = []

    def look(self, context):
        (callback,) = self.on_execute_callback
        seen.append((repr(callback), callback.message))

    run_task(job_of(dag, password, do=look, on_execute_callback=Telling()))

    assert seen == [("<Telling>", "after")]


def test_a_callback_is_guarded_once_however_often_a_task_is_rendered(dag, password):
    job = job_of(dag, password, on_execute_callback=push)
    guard_callbacks(job)
    guard_callbacks(job)

    (callback,) = job.on_execute_callback
    assert callback.__wrapped__ is push


def test_so_is_one_in_execute(dag, run_task, password):
    def carry(self, context):
        trigger = CarryingTrigger(self.payload)
        raise TaskDeferred(trigger=trigger, method_name="go_on")

    run = run_task(job_of(dag, password, do=carry))

    assert isinstance(run.error, ExposedValueError)
    assert CANARY not in shown_with_locals(run.error) + repr(vars(run.error.__context__ or run.error))


def test_a_refused_deferral_before_execute_kills_no_job(dag, run_task, password):
    def carry(context):
        raise TaskDeferred(trigger=CarryingTrigger(CANARY), method_name="go_on")

    run = run_task(job_of(dag, password, pre_execute=carry))

    assert not run.task._try_state.is_killed


@pytest.mark.parametrize("moment", ["pre_execute", "on_execute_callback", "post_execute"])
def test_what_an_authors_function_keeps_in_the_context_shows_the_reference_at_the_end(dag, run_task, password, moment):
    seen = []
    look = lambda context: seen.append(context["token"])  # noqa: E731
    run_task(job_of(dag, password, **{moment: keep_in_context}, on_success_callback=look))

    assert seen == [password]


def test_so_does_what_pre_execute_keeps_before_it_fails(dag, run_task, password):
    def fail(context):
        keep_in_context(context)
        raise ValueError

    seen = []
    run_task(job_of(dag, password, pre_execute=fail, on_failure_callback=lambda context: seen.append(context["token"])))

    assert seen == [password]


def test_execute_gets_what_pre_execute_has_kept_in_the_context(dag, run_task, password):
    seen = []
    run_task(job_of(dag, password, pre_execute=keep_in_context, do=lambda _, context: seen.append(context["token"])))

    assert seen == [CANARY]


@pytest.mark.parametrize("moment", ["pre_execute", "post_execute"])
def test_the_event_of_an_asset_shows_the_reference(dag, run_task, password, moment):
    def note(context, result=None):
        yield Metadata(Asset("table"), {"token": CANARY})
        if moment == "pre_execute":
            raise DownstreamTasksSkipped(tasks=[])

    run = run_task(job_of(dag, password, **{moment: note}))

    (event,) = run.message.outlet_events
    assert (run.state, event["extra"]) == ("success", {"token": password})


def test_a_value_that_the_author_wrote_into_another_field_is_shown_as_the_reference(dag, run_task, password):
    job = OurOperator(task_id="job", dag=dag, payload=password, command=quote_plus(CANARY), do=lambda *_: None)

    assert run_task(job).rendered["command"] == password


def test_a_field_keeps_its_name_if_that_is_a_value(dag, run_task, secrets_dir):
    (secrets_dir / "word").write_text("payload")
    run = run_task(job_of(dag, reference := f"${{dir:{secrets_dir}:word}}"))

    assert run.rendered["payload"] == reference


_PLAIN = """
import json, sys
from airflow.sdk import DAG
from tests.operators.stock import OurOperator
with DAG("d", schedule=None):
    job = OurOperator(task_id="job", payload="no reference", do=print)
before = {*sys.modules}
job.prepare_for_execution().render_template_fields({})
print(json.dumps(sorted({*sys.modules} - before)))
"""


@pytest.mark.slow
def test_a_task_without_references_imports_nothing_to_guard_its_messages():
    done = subprocess.run([sys.executable, "-c", _PLAIN], check=True, capture_output=True, text=True, timeout=300)
    imported = json.loads(done.stdout.splitlines()[-1])

    assert not [name for name in imported if name.startswith("airflow_config_providers.operators.reversal.task_output")]
