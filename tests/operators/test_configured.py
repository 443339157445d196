"""Any operator with references in its template fields, run by Airflow's real task runner."""

from __future__ import annotations

import functools
import json
from collections import UserDict, deque

import pytest
from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.sdk import DAG
from airflow.sdk.definitions.param import ParamsDict
from airflow.triggers.base import StartTriggerArgs

from airflow_config_providers.exceptions import ConfigException, ExposedValueError, UnresolvedReferenceError
from airflow_config_providers.job.operator_specs import ConfLocation, OperatorSpec
from airflow_config_providers.operators.configure import configure_task, configured
from airflow_config_providers.operators.configured import ConfiguredOperator
from tests.canary import CANARY
from tests.operators.stock import STOPPED, OurOperator, StockOperator, everything_shown

pytestmark = pytest.mark.usefixtures("connections")


class ConfOperator(ConfiguredOperator, StockOperator):
    """The same with Spark configuration in its payload."""

    template_fields = (*StockOperator.template_fields, "config_files", "effective_config")
    spec = OperatorSpec(conf=(ConfLocation("payload", ("spark", "conf")),), words=("command",))


def seen_by(kind, dag, run_task, **kwargs):
    """Run a task, and give what ``execute`` saw in its payload, and the run."""
    seen = []
    run = run_task(kind(task_id="job", dag=dag, do=lambda self, _: seen.append(self.payload), **kwargs))
    return (seen[0] if seen else None), run


def test_references_anywhere_in_a_field_become_values_while_it_runs(dag, run_task, password, capfd):
    payload = {"a": [f"x{password}", ("y", {"z": password})], "n": 1, "t": None}
    seen, run = seen_by(OurOperator, dag, run_task, payload=payload)

    assert seen == {"a": [f"x{CANARY}", ("y", {"z": CANARY})], "n": 1, "t": None}
    assert run.task.payload == payload
    assert CANARY not in everything_shown(run, capfd)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, deque])
def test_references_in_each_kind_of_collection_become_values(dag, run_task, password, kind):
    seen, run = seen_by(OurOperator, dag, run_task, payload={"a": kind(["x", password, "y"])})

    assert seen == {"a": kind(["x", CANARY, "y"])}
    assert CANARY not in repr(run.rendered)


def test_attack_30_what_airflow_stores_holds_references(dag, run_task, password):
    _, run = seen_by(OurOperator, dag, run_task, payload={"x": password})

    assert run.rendered["payload"] == {"x": password}
    assert CANARY not in repr(run.rendered_last)


def test_attack_30_xcom_holds_references(dag, run_task, password, capfd):
    def do(self, context):
        context["ti"].xcom_push(key="own", value={"got": self.payload})
        return [self.payload, {self.payload: 1}]

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    pushed = {message.key: message.value for message in run.supervisor.sent("SetXCom")}
    assert pushed["own"] == {"got": password}
    assert CANARY not in everything_shown(run, capfd)


def test_attack_30_a_variable_that_a_task_sets_has_the_value_and_its_description_the_reference(dag, run_task, password):
    from airflow.sdk import Variable

    def do(self, context):
        Variable.set("passed_on", self.payload, description=f"is {self.payload}")

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    (put,) = run.supervisor.sent("PutVariable")
    assert (put.key, put.value, put.description) == ("passed_on", CANARY, f"is {password}")


def test_attack_19_what_is_raised_holds_references(dag, run_task, password, capfd):
    def do(self, context):
        try:
            raise ValueError(f"inner {self.payload}")
        except ValueError as error:
            raise RuntimeError("outer", {"body": self.payload}) from error

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert run.state == "failed"
    assert password in repr(run.error.args)
    assert CANARY not in everything_shown(run, capfd) + repr(run.error.__cause__)


def test_what_is_logged_and_printed_holds_references(dag, run_task, password, capfd):
    def do(self, context):
        self.log.info("logged %s", self.payload)
        print("printed", self.payload)

    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    out = "".join(capfd.readouterr())
    assert f"logged {password}" in out
    assert f"printed {password}" in out
    assert CANARY not in out


def test_attack_30_attributes_that_execute_leaves_hold_references(dag, run_task, password):
    def do(self, context):
        self.sent = {"body": self.payload}
        context["left"] = self.payload

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert run.task.sent == {"body": password}
    assert CANARY not in repr(run.ti.get_template_context().get("left"))


@pytest.mark.parametrize(
    "add",
    [
        pytest.param(lambda task, value: task.params.update(added=value), id="params"),
        pytest.param(lambda task, value: task.recent.append(value), id="deque"),
    ],
)
def test_attack_30_what_execute_adds_to_an_attribute_holds_references(dag, run_task, password, add):
    task = OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: add(self, self.payload))
    task.recent = deque([1])

    run = run_task(task)

    assert CANARY not in repr(vars(run.task))
    assert password in repr([dict(run.task.params), run.task.recent])


class Unreadable(UserDict):
    """A mapping that cannot be read any more, such as a closed shelf."""

    def items(self):
        raise ValueError

    __iter__ = keys = values = items


def test_what_was_there_and_cannot_be_read_stays(dag, run_task, password):
    def begin(context):
        context["task"].shelf = Unreadable()

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda *_: None, pre_execute=begin))

    assert run.state == "success"
    assert type(run.task.shelf) is Unreadable


class PlainParams(ParamsDict):
    def items(self):
        return {key: self[key] for key in self}.items()


def test_parameters_of_a_class_that_lists_plain_values_do_not_fail_the_task(dag, run_task, password):
    task = OurOperator(task_id="job", dag=dag, payload=password, do=lambda *_: None)
    task.params = PlainParams({"x": 1})

    run = run_task(task)

    assert (run.state, dict(run.task.params)) == ("success", {"x": 1})


VALUES = [
    pytest.param("{{ 7 * 7 }} {% raw %}", id="jinja"),
    pytest.param("${dir:/etc:passwd} ${env:HOME} $HOME %s", id="references"),
    pytest.param("a: b\n- c: 'd\"", id="yaml"),
    pytest.param("blank  at end ", id="blanks"),
    pytest.param("ünïcode \u2028", id="unicode"),
]


@pytest.mark.parametrize("value", VALUES)
def test_attack_11_12_a_value_is_inert(dag, run_task, secrets_dir, value):
    (secrets_dir / "odd").write_text(value)
    seen, _ = seen_by(OurOperator, dag, run_task, payload=[f"${{dir:{secrets_dir}:odd}}"])

    assert seen == [value]


def test_attack_11_a_reference_that_comes_with_a_run_stays_a_text(dag, run_task, password):
    task = OurOperator(
        task_id="job", dag=dag, payload="{{ dag_run.conf['x'] }}", do=lambda self, _: seen.append(self.payload)
    )
    seen = []
    run_task(task, conf={"x": password})

    assert seen == [password]


def test_attack_11_a_reference_that_comes_with_data_beside_a_written_one_stays_a_text(dag, run_task, password):
    seen, _ = seen_by(OurOperator, dag, run_task, payload=[password, "{{ '$' }}{dir:/x:y}"])

    assert seen == [CANARY, "${dir:/x:y}"]


def test_attack_11_a_text_in_which_data_brings_a_reference_has_none_resolved(dag, run_task, password):
    mixed = f"{password} {{{{ dag_run.conf['x'] }}}}"
    task = OurOperator(task_id="job", dag=dag, payload=[mixed, password], do=lambda self, _: seen.append(self.payload))
    seen = []
    run_task(task, conf={"x": "${dir:/x:y}"})

    assert seen == [[f"{password} ${{dir:/x:y}}", CANARY]]


def test_attack_49_a_reference_in_a_key_is_refused(dag, run_task, password):
    _, run = seen_by(OurOperator, dag, run_task, payload={"a": {password: 1}})

    assert isinstance(run.error, ConfigException)
    assert "payload['a']: the key" in str(run.error)


def test_a_reference_that_nobody_answers_stops_the_task(dag, run_task, secrets_dir):
    _, run = seen_by(OurOperator, dag, run_task, payload={"a": f"${{dir:{secrets_dir}:nothing}}"})

    assert isinstance(run.error, UnresolvedReferenceError)
    assert "payload['a']" in str(run.error)


def test_a_task_without_references_asks_nobody(dag, run_task, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT")
    seen, run = seen_by(OurOperator, dag, run_task, payload={"a": "{{ task.task_id }}"})

    assert (run.state, seen) == ("success", {"a": "job"})


def test_jinja_comes_first(dag, run_task, password, secrets_dir):
    seen, _ = seen_by(OurOperator, dag, run_task, payload="${dir:" + str(secrets_dir) + ":{{ 'db' }}-password}")

    assert seen == CANARY


ODD_LITERALS = ["", "x", "ends in a line end\n", "two\r\nlines", "{ {", "4", "None", "[1, 2]", "é 😀"]
"""Strings with nothing to fill in, some of which Jinja changes all the same."""


@pytest.mark.parametrize("environment", [{}, {"keep_trailing_newline": True}, {"autoescape": True}], ids=repr)
@pytest.mark.parametrize("is_native", [False, True])
def test_a_string_with_nothing_to_fill_in_becomes_what_airflow_makes_of_it(is_native, environment):
    def rendered(kind):
        options = {"render_template_as_native_obj": is_native, "jinja_environment_kwargs": environment}
        with DAG(f"literals_{kind.__name__}", schedule=None, **options):
            copy = kind(task_id="job", payload={"all": ODD_LITERALS}).prepare_for_execution()
        copy.render_template_fields({})
        return copy.payload

    assert rendered(OurOperator) == rendered(StockOperator)


class ShoutingOperator(StockOperator):
    """Renders in its own way."""

    def render_template(self, content, *args, **kwargs):
        found = super().render_template(content, *args, **kwargs)
        return found.upper() if isinstance(found, str) else found


def test_an_operator_that_renders_in_its_own_way_still_does(dag, run_task):
    seen, _ = seen_by(configured(ShoutingOperator), dag, run_task, payload=["a", "{{ 'b' }}"])

    assert seen == ["A", "B"]


def test_a_mapped_task(dag, run_task, password):
    seen = []
    mapped = OurOperator.partial(task_id="job", dag=dag, do=lambda self, _: seen.append(self.payload)).expand(
        payload=[["a"], [password]]
    )
    run_task(mapped, map_index=1)

    assert seen == [[CANARY]]


def test_an_argument_that_no_template_fills_in_can_be_nested_deeply_in_a_mapped_task_too(dag, run_task):
    seen, given = [], OurOperator(task_id="given", dag=dag).output
    deep = functools.reduce(lambda inner, _: [inner], range(60), "x")
    mapped = OurOperator.partial(
        task_id="job", dag=dag, executor_config={"deep": deep}, do=lambda self, _: seen.append(self.payload)
    ).expand(payload=given)
    run = run_task(mapped, map_index=0, results={"given": ["a"]})

    assert run.state == "success", run.error
    assert seen == ["a"]


def test_spark_configuration_comes_in_layers(dag, run_task, password, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.a=file\nspark.app.b=file\n")
    payload = {"name": "n", "spark": {"conf": {"spark.app.b": password, "spark.app.n": 1}}}
    seen, run = seen_by(ConfOperator, dag, run_task, payload=payload, config_files=[str(tmp_path / "all.properties")])

    assert seen["spark"]["conf"] == {"spark.app.a": "file", "spark.app.b": CANARY, "spark.app.n": "1"}
    assert run.task.payload["spark"]["conf"] == {"spark.app.a": "file", "spark.app.b": password, "spark.app.n": "1"}
    assert run.rendered["effective_config"][1].startswith(f"spark.app.b = {password}   # DAG_CONFIG, payload['spark']")
    assert payload["spark"]["conf"]["spark.app.b"] == password


def test_layers_without_a_configuration_of_the_dag(dag, run_task, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.a=file\n")
    seen, _ = seen_by(
        ConfOperator, dag, run_task, payload={"spark": {}}, config_files=[str(tmp_path / "all.properties")]
    )

    assert seen == {"spark": {"conf": {"spark.app.a": "file"}}}


@pytest.mark.parametrize(
    ("allowed", "value", "state"),
    [
        pytest.param(False, "plain", "failed", id="not-allowed"),
        pytest.param(True, "plain", "success", id="allowed"),
        pytest.param(True, "two words", "failed", id="breaks-out"),
        pytest.param(True, "x'; DROP", "failed", id="quote"),
    ],
)
def test_attack_12_a_value_does_not_break_out_of_a_text_that_is_parsed(
    dag, run_task, secrets_dir, allowed, value, state
):
    (secrets_dir / "word").write_text(value)
    task = ConfOperator(
        task_id="job",
        dag=dag,
        command=f"--conf x=${{dir:{secrets_dir}:word}}",
        allow_exposed_arguments=allowed,
        do=lambda *_: None,
    )
    run = run_task(task)

    assert run.state == state
    assert value not in str(run.error)
    if state == "failed":
        assert isinstance(run.error, ExposedValueError)


class Trigger:
    """A trigger, whose arguments are stored."""

    def __init__(self, **kwargs):
        self.kwargs = kwargs

    def serialize(self):
        return "tests.Trigger", self.kwargs


def test_attack_30_a_trigger_that_would_get_a_value_is_refused_and_the_job_stopped(dag, run_task, password, capfd):
    def do(self, context):
        self.defer(trigger=Trigger(body=self.payload), method_name="go_on")

    STOPPED.clear()
    run = run_task(OurOperator(task_id="job", dag=dag, payload=[password], do=do))

    assert isinstance(run.error, ExposedValueError)
    assert "Trigger would be stored with values, in body" in str(run.error)
    assert STOPPED == ["job"]
    assert CANARY not in everything_shown(run, capfd)


def test_a_trigger_that_needs_no_value_is_left_alone(dag, run_task, password):
    def do(self, context):
        self.defer(trigger=Trigger(job="7"), method_name="go_on", kwargs={"sent": self.payload})

    run = run_task(OurOperator(task_id="job", dag=dag, payload=[password], do=do), finalize=False)

    assert run.message.trigger_kwargs == {"job": "7"}
    assert CANARY not in repr(run.message)


def test_a_task_begins_on_a_worker_which_resolves_references(dag):
    class TriggeredOperator(StockOperator):
        start_from_trigger = True

    assert configured(TriggeredOperator)(task_id="job", dag=dag, payload=None, do=None).start_from_trigger is False


class StartedInTheTriggerer(StockOperator):
    start_from_trigger = True
    start_trigger_args = StartTriggerArgs(trigger_cls="a.Trigger", next_method="go_on", trigger_kwargs={})


def test_so_does_a_mapped_task(dag):
    mapped = configured(StartedInTheTriggerer).partial(task_id="job", dag=dag).expand(payload=["a"])

    assert mapped.start_from_trigger is False


def test_so_does_a_mapped_task_whose_arguments_say_otherwise(dag):
    partial = configured(FileSensor).partial(task_id="job", dag=dag, start_from_trigger=True, deferrable=True)

    assert partial.expand(filepath=["a"]).start_from_trigger is False


def test_so_does_a_mapped_task_of_a_custom_class_below_a_configured_one(dag):
    class Custom(OurOperator):
        start_from_trigger = True

    assert Custom.partial(task_id="job", dag=dag).expand(payload=["a"]).start_from_trigger is False


def test_so_does_a_mapped_task_that_a_policy_configures(dag):
    mapped = StartedInTheTriggerer.partial(task_id="job", dag=dag).expand(payload=["a"])
    configure_task(mapped)

    assert mapped.start_from_trigger is False


def test_the_stock_class_still_starts_in_the_triggerer(dag):
    configured(StartedInTheTriggerer)

    assert StartedInTheTriggerer(task_id="job", dag=dag, payload=None, do=None).start_from_trigger is True


def test_the_fields_hold_values_again_after_a_deferral(dag, password):
    seen = []
    task = OurOperator(task_id="job", dag=dag, payload=[password], do=lambda self, _: seen.append(self.payload))
    task = task.prepare_for_execution()
    context = {}
    task.render_template_fields(context)
    task.resume_execution("go_on", {"event": {}}, context)
    task._try_state.run.close()

    assert (seen, task.payload) == ([[CANARY]], [password])


def test_what_is_configured_already_stays(dag):
    assert configured(OurOperator) is OurOperator
    assert issubclass(OurOperator, StockOperator)
    assert issubclass(OurOperator, ConfiguredOperator)
    assert (OurOperator.__name__, OurOperator.__module__) == ("OurOperator", StockOperator.__module__)


def test_the_serialized_dag_holds_references(dag, password):
    from airflow.serialization.serialized_objects import DagSerialization

    ConfOperator(task_id="job", dag=dag, payload={"spark": {"conf": {"spark.app.x": password}}}, do=None)

    assert password in json.dumps(DagSerialization.to_dict(dag))


@pytest.mark.parametrize("name", ["unresolved", "resolve_in"])
def test_a_policy_may_choose_an_option_of_a_task_that_is_made(dag, name):
    task = OurOperator(task_id="job", dag=dag, unresolved="fail", resolve_in="auto")
    setattr(task, name, {"unresolved": "keep", "resolve_in": "worker"}[name])

    assert (task.unresolved, task.resolve_in) == (("keep", "auto") if name == "unresolved" else ("fail", "worker"))


def test_a_run_in_the_same_process_knows_no_data_of_the_one_before(run_task, password):
    with DAG("flights", schedule=None, params={"given": password}) as dag:
        payload = {"data": "{{ params.given }}", "written": password}
        task = OurOperator(
            task_id="job", dag=dag, payload=payload, do=lambda self, _: self.payload["written"] == CANARY
        )

    assert [run_task(task).supervisor.sent("SetXCom")[0].value for _ in range(3)] == [True, True, True]


class OperatorWithNames(StockOperator):
    """It has attributes with names that anyone could choose."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.spec = self._options = self._files = self._driver = self._values = self._configuration = {"a": 1}


def test_an_operator_may_have_attributes_with_usual_names(dag, run_task, password):
    task = OperatorWithNames(task_id="job", dag=dag, payload=password, do=lambda self, _: self.payload == CANARY)
    configure_task(task)
    run = run_task(task)

    assert run.supervisor.sent("SetXCom")[0].value is True
    assert run.task._options == {"a": 1}


def test_an_option_may_be_set_before_the_operator_is_made(dag):
    class EarlyOperator(OurOperator):
        def __init__(self, **kwargs):
            self.unresolved = "keep"
            super().__init__(**kwargs)

    assert EarlyOperator(task_id="job", dag=dag).unresolved is None
