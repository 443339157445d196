"""A task that waits for a human, without a trigger, and goes on in another process."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from airflow.sdk import DAG, exceptions
from airflow.sdk.serde import deserialize

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.stock import NOT_DURABLE, OurOperator, everything_shown
from tests.operators.test_configured import Trigger

pytestmark = [
    pytest.mark.usefixtures("connections"),
    pytest.mark.skipif(not hasattr(exceptions, "TaskAwaitingInput"), reason="since Airflow 3.3"),
]

ARGUMENT = "_config_providers_values"


@dataclass
class Login:
    """Hides a field from its string, but not from what Airflow stores."""

    password: str = field(repr=False)


def ask(self, context):
    raise exceptions.TaskAwaitingInput(method_name="go_on", kwargs={"event": [self.payload, Login(self.payload)]})


def test_the_arguments_with_which_it_goes_on_have_references(dag, run_task, password, capfd):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=ask))

    assert deserialize(run.message.next_kwargs) == {"event": [password, "Login()"]}
    assert CANARY not in everything_shown(run, capfd)


class Asking(ConfiguredSparkSubmitOperator):
    """Submits its job itself, and waits then."""

    def execute(self, context):
        hook = self._get_hook()
        hook.submit(self.application)
        kwargs = {"event": [hook._conf, Login(CANARY)]}
        if self.name == "deferred":
            self.defer(trigger=Trigger(job="7"), method_name="go_on", kwargs=kwargs)
        raise exceptions.TaskAwaitingInput(method_name="go_on", kwargs=kwargs)


@pytest.mark.parametrize("name", ["deferred", "awaiting"])
def test_so_have_those_of_an_execute_that_does_not_call_its_base(
    dag, run_task, password, spark_submit, sealing, name, capfd
):
    conf = {"spark.app.x": password}
    task = Asking(task_id="job", dag=dag, application="job.py", conf=conf, name=name, **NOT_DURABLE)
    run = run_task(task, finalize=False)
    shown = everything_shown(run, capfd)

    assert CANARY in repr(spark_submit())
    assert run.message.next_method == "go_on"
    assert ARGUMENT in run.message.next_kwargs
    assert "Login()" in repr(run.message.next_kwargs)
    assert CANARY not in shown + repr(run.message)


def test_after_a_rotation_the_log_shows_references_for_the_old_value_too(
    run_task, secrets_dir, password, sealing, capfd
):
    def later(self, context):
        print("the job says c4nary-old and", self.payload)

    (secrets_dir / "db-password").write_text("c4nary-old")
    asked = run_of(run_task, password, ask)
    (secrets_dir / "db-password").write_text("c4nary-new")
    capfd.readouterr()
    run = run_of(run_task, password, later, resumed_with=("go_on", asked.message.next_kwargs))
    shown = "".join(capfd.readouterr())

    assert run.state == "success", run.error
    assert f"the job says {password} and {password}" in shown
    assert "c4nary" not in shown


def run_of(run_task, password, do, **kwargs):
    """Run the task as one process does."""
    with DAG("flights", schedule=None):
        task = OurOperator(task_id="job", payload=password, do=do)
    run = run_task(task, **kwargs)
    run.task._try_state.run.close()
    return run


def test_without_a_secret_of_the_deployment_nothing_else_is_stored(dag, run_task, password):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=ask))

    assert ARGUMENT not in run.message.next_kwargs
