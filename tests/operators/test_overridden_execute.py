"""A warning for classes whose ``execute`` would take the references of their fields for the values."""

from __future__ import annotations

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

pytestmark = pytest.mark.usefixtures("connections", "spark_submit")

WARNING = "token: execute of {} has the references there, and the values only inside of super().execute()."


class OwnSteps:
    """An ``execute`` with steps of its own."""

    def execute(self, context):
        super().execute(context)


def with_token(base):
    """Return a class with a field for a token."""

    class WithToken(base):
        template_fields = (*base.template_fields, "token")

        def __init__(self, *, token, **kwargs):
            super().__init__(**kwargs)
            self.token = token

    return WithToken


WithFieldOnly = with_token(ConfiguredSparkSubmitOperator)


class WithBoth(OwnSteps, WithFieldOnly):
    pass


class BelowBoth(WithBoth):
    pass


class BelowConfigured(OwnSteps, with_token(configured(SparkSubmitOperator))):
    pass


@configured
class Decorated(OwnSteps, with_token(SparkSubmitOperator)):
    pass


@pytest.fixture
def reference(secrets_dir):
    """A reference to a token."""
    (secrets_dir / "token").write_text("a-token")
    return f"${{dir:{secrets_dir}:token}}"


def shown(run_task, dag, kind, token, **conf):
    """Return what people see of the job of an operator of the class ``kind``."""
    run = run_task(kind(task_id="job", application="job.py", dag=dag, token=token, conf=conf))
    assert run.state == "success", run.error
    return "\n".join(run.task.effective_config)


@pytest.mark.parametrize("kind", [WithBoth, BelowBoth, BelowConfigured])
def test_a_class_below_ours_that_would_take_references_for_values_is_warned_of(dag, run_task, reference, kind):
    assert f"! {WARNING.format(kind.__name__)}" in shown(run_task, dag, kind, reference)


@pytest.mark.parametrize("kind", [WithFieldOnly, Decorated])
def test_a_class_whose_execute_has_values_is_not_warned_of(dag, run_task, reference, kind):
    assert "has the references there" not in shown(run_task, dag, kind, reference)


def test_a_field_without_a_reference_is_not_warned_of(dag, run_task, reference):
    lines = shown(run_task, dag, WithBoth, "plain", **{"spark.app.token": reference})

    assert "has the references there" not in lines


def test_a_preview_warns_too(dag, monkeypatch, reference):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")  # there is no database here
    task = WithBoth(task_id="job", application="job.py", dag=dag, token=reference)
    task.render_template_fields({"ti": object(), "run_id": "r"})

    assert f"! {WARNING.format('WithBoth')}" in "\n".join(task.effective_config)
