"""Code of an ``execute`` that renders fields once more, and code that keeps a value when the job has ended."""

import os
from typing import ClassVar

import pytest
from airflow.sdk import Asset, task

from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.stock import Kept, OurOperator, everything_shown

pytestmark = pytest.mark.usefixtures("connections")


class Afterwards(OurOperator):
    """Reads a value when the ``execute`` of its base has ended."""

    def execute(self, context):
        super().execute(context)
        self.late = self.kept.value


def rendering_again(ending, seen):
    def do(self, context):
        self.command = "{{ 3 * 7 }}"
        self.render_template_fields(context)
        seen.append((self.payload, self.command))
        return ending(self, context)

    return do


def _raise(self, _):
    raise ValueError(self.payload)


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(lambda self, _: {"x": self.payload}, id="returned"),
        pytest.param(_raise, id="raised"),
        pytest.param(lambda self, context: context["ti"].xcom_push("k", self.payload), id="pushed"),
        pytest.param(lambda self, _: setattr(self, "kept", self.payload), id="left on the task"),
        pytest.param(lambda self, _: print(self.payload), id="printed"),
    ],
)
def test_what_code_does_with_a_value_shows_the_reference_after_it_has_rendered_again(
    dag, run_task, password, capfd, ending
):
    seen = []
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=rendering_again(ending, seen)))
    assert seen == [(CANARY, "21")]
    assert CANARY not in everything_shown(run, capfd)


@pytest.mark.parametrize("value", ["{{ 7 * 191 }} of it", "{% raise %}", "a script.sh", "{# gone #}left"])
def test_a_value_is_no_template_when_code_renders_again(dag, run_task, secrets_dir, value):
    (secrets_dir / "odd").write_text(value)
    seen = []
    nested = {"a": [f"${{dir:{secrets_dir}:odd}}"]}
    job = OurOperator(task_id="job", dag=dag, payload=nested, do=rendering_again(lambda *_: None, seen))
    job.template_ext = (".sh",)
    assert run_task(job).error is None
    assert seen == [({"a": [value]}, "21")]


def test_a_template_that_a_field_has_is_rendered_when_code_sets_another_field_to_it(dag, run_task, password):
    seen = []

    def do(self, context):
        self.command = self.payload["template"]
        self.render_template_fields(context)
        seen.append((self.command, self.payload))

    payload = {"template": "{% raw %}{{ 3 * 7 }}{% endraw %}", "password": password}
    assert run_task(OurOperator(task_id="job", dag=dag, payload=payload, do=do)).error is None
    assert seen == [("21", {"template": "{{ 3 * 7 }}", "password": CANARY})]


def test_a_value_is_no_template_when_code_sets_another_field_to_it(dag, run_task, secrets_dir):
    (secrets_dir / "odd").write_text("{{ 3 * 7 }} of it")
    seen = []

    def do(self, context):
        self.command = self.payload
        self.render_template_fields(context)
        seen.append(self.command)

    assert run_task(OurOperator(task_id="job", dag=dag, payload=f"${{dir:{secrets_dir}:odd}}", do=do)).error is None
    assert seen == ["{{ 3 * 7 }} of it"]


def test_the_result_of_a_template_is_no_template_when_code_renders_again(dag, run_task):
    seen = []
    written = "{{ '{{' }} 7 * 191 {{ '}}' }}"
    job = OurOperator(task_id="job", dag=dag, payload=written, do=rendering_again(lambda *_: None, seen))
    assert run_task(job).error is None
    assert seen == [("{{ 7 * 191 }}", "21")]


def test_code_can_render_again_before_it_calls_the_execute_of_its_base(dag, run_task, password, capfd):
    class Early(OurOperator):
        def execute(self, context):
            self.command = "{{ 3 * 7 }}"
            self.render_template_fields(context)
            return super().execute(context)

    seen = []

    def do(self, _):
        seen.append((self.payload, self.command))
        return self.payload

    run = run_task(Early(task_id="job", dag=dag, payload=password, do=do))
    assert seen == [(CANARY, "21")]
    assert CANARY not in everything_shown(run, capfd)


def test_a_bash_command_that_a_function_returns_gets_values_from_its_environment(
    dag, run_task, password, secrets_dir, capfd
):
    with dag:

        @task.bash(env={"X": password, "PATH": os.environ["PATH"]}, task_id="job")
        def command():
            return f'printf %s "$X" > {secrets_dir}/out; echo "said $X"'

        made = command().operator
    configure_task(made)
    run = run_task(made)
    assert run.error is None
    assert (secrets_dir / "out").read_text() == CANARY
    assert CANARY not in everything_shown(run, capfd)


def test_what_a_subclass_leaves_on_the_task_after_the_job_shows_the_reference(dag, run_task, password, capfd):
    def do(self, _):
        self.kept = Kept(self.payload)

    run = run_task(Afterwards(task_id="job", dag=dag, payload=password, do=do))
    assert run.task.late == password
    assert CANARY not in everything_shown(run, capfd)


def test_a_subclass_can_call_the_execute_of_its_base_again_as_when_it_retries(dag, run_task, password, capfd):
    class Retrying(OurOperator):
        def execute(self, context):
            try:
                return super().execute(context)
            except OSError:
                return super().execute(context)

    seen = []

    def do(self, _):
        seen.append(self.payload)
        if len(seen) == 1:
            raise OSError(self.payload)
        return self.payload

    run = run_task(Retrying(task_id="job", dag=dag, payload=password, do=do))
    assert seen == [CANARY, CANARY]
    assert CANARY not in everything_shown(run, capfd)


def test_a_subclass_can_submit_a_spark_job_twice(dag, run_task, password, spark_submit):
    class Twice(ConfiguredSparkSubmitOperator):
        def execute(self, context):
            super().execute(context)
            super().execute(context)

    run = run_task(Twice(task_id="job", application="job.py", dag=dag, conf={"spark.app.password": password}))
    assert run.error is None
    assert [CANARY in call.properties for call in spark_submit()] == [True, True]


def test_a_value_of_before_is_hidden_when_a_subclass_runs_again_with_another(
    dag, run_task, password, secrets_dir, capfd
):
    class Rotating(OurOperator):
        def execute(self, context):
            super().execute(context)
            (secrets_dir / "db-password").write_text("an0ther/s3cret")
            super().execute(context)
            raise ValueError(self.kept.value)

    def do(self, _):
        self.kept = Kept([*(self.kept.value if hasattr(self, "kept") else ()), self.payload])

    run = run_task(Rotating(task_id="job", dag=dag, payload=password, do=do))
    assert str(run.error) == str([password, password])
    assert "an0ther/s3cret" not in everything_shown(run, capfd)


def test_what_a_second_run_of_a_subclass_adds_to_the_context_shows_the_reference(
    dag, run_task, password, secrets_dir, capfd
):
    class Rotating(OurOperator):
        def execute(self, context):
            super().execute(context)
            (secrets_dir / "db-password").write_text("an0ther/s3cret")
            super().execute(context)
            context["outlet_events"][Asset("x://a")].extra = {"late": self.kept.value}
            context["late"] = self.kept.value

    def do(self, _):
        self.kept = Kept(self.payload)

    run = run_task(Rotating(task_id="job", dag=dag, payload=password, do=do))
    assert run.ti.get_template_context()["late"] == password
    assert "an0ther/s3cret" not in everything_shown(run, capfd)


@pytest.mark.parametrize("rotated", [CANARY, "an0ther/s3cret"], ids=["the same value", "rotated"])
def test_values_stay_hidden_when_a_subclass_renders_again_after_the_execute_of_its_base(
    dag, run_task, password, secrets_dir, capfd, rotated
):
    class Late(OurOperator):
        def execute(self, context):
            super().execute(context)
            (secrets_dir / "db-password").write_text(rotated)
            self.render_template_fields(context)
            context["ti"].xcom_push("early", self.kept.value)
            print(self.kept.value)
            context["extra"] = self.kept.value
            return self.kept.value

    def do(self, _):
        self.kept = Kept(self.payload)

    job = Late(task_id="job", dag=dag, payload=password, do=do)
    run = run_task(job)
    assert run.error is None
    assert CANARY not in everything_shown(run, capfd) + repr(run.ti.get_template_context().get("extra"))


class Broken:
    """Cannot be shown, as an object of a connection that was closed."""

    def __repr__(self):
        raise ValueError


def test_what_cannot_be_shown_stays_on_a_task_without_references(dag, run_task):
    class Leaving(OurOperator):
        def execute(self, context):
            super().execute(context)
            self.left = Broken()

    run = run_task(Leaving(task_id="job", dag=dag, payload="plain", do=lambda *_: None))
    assert isinstance(run.task.left, Broken)


class Handing(OurOperator):
    """Hands its base a context of its own, and notes what is in it before and afterwards."""

    seen: ClassVar[list[object]] = []

    def pre_execute(self, context):
        context["before"] = CANARY

    def execute(self, context):
        other = self.chosen(context)
        super().execute(other)
        self.seen[:] = [other["before"], other["token"]]

    def chosen(self, context):
        return {**context}


class Passing(Handing):
    """Hands its base the context of the task."""

    def chosen(self, context):
        return context


@pytest.mark.parametrize("kind", [Handing, Passing])
def test_what_the_job_of_a_subclass_adds_to_its_context_shows_the_reference_but_what_was_there_is_unchanged(
    dag, run_task, password, kind
):
    def do(self, context):
        context["token"] = self.payload

    run_task(kind(task_id="job", dag=dag, payload=password, do=do))

    assert Handing.seen == [CANARY, password]
