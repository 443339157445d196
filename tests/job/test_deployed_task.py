"""What is known of a deployed job without a run."""

from __future__ import annotations

import json

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, task
from airflow.serialization.serialized_objects import DagSerialization

from airflow_config_providers.job.authored_job import NO_OPTIONS, AuthoredJob
from airflow_config_providers.job.deployed_task import deployed_job, deployed_options
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator


class CustomOperator(ConfiguredSparkSubmitOperator):
    """Its job is stored on its own, because Airflow does not store that it submits jobs."""


@task
def result():
    """Return what is known only in a run."""


KINDS = pytest.mark.parametrize("kind", [ConfiguredSparkSubmitOperator, CustomOperator])
KNOWN_IN_RUN = [
    "job: what the DAG sets is known only in a run, which fills in the configuration, or refuses it because it is "
    "not a mapping of keys to strings, numbers and booleans."
]


def deployed(kind, **kwargs):
    """Return the job of a stored task, and the warnings."""
    with DAG("flights", schedule=None) as dag:
        given = {"application": "job.py"} if "application" in kind.template_fields else {}
        filled = {name: value() if callable(value) else value for name, value in kwargs.items()}
        kind(task_id="job", **given, **filled)
    stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    warnings = []
    return deployed_job(stored.get_task("job"), "job", warnings.append), warnings


@KINDS
@pytest.mark.parametrize("conf", ["{{ params.conf }}", result, ("spark.a",)], ids=["template", "result", "tuple"])
def test_a_configuration_that_is_no_mapping_is_known_only_in_a_run(kind, conf):
    job, warnings = deployed(kind, conf=conf)

    assert (job.layers, warnings) == ((), KNOWN_IN_RUN)


def test_an_operator_without_a_field_for_spark_configuration_gets_no_layer():
    steps = pytest.importorskip("airflow.providers.amazon.aws.operators.emr").EmrAddStepsOperator
    _, warnings = deployed(configured(steps), job_flow_id="j-1")

    assert warnings == [
        "job: EmrAddStepsOperator has no field for Spark configuration, so no layer reaches its job, and the keys that "
        "are shown have no effect there."
    ]


@KINDS
@pytest.mark.parametrize("conf", [result, lambda: result().map(str)], ids=["result", "mapped-result"])
def test_beside_a_configuration_that_another_task_returns_the_arguments_are_known(kind, conf):
    job, warnings = deployed(kind, conf=conf, executor_memory="2g")

    assert job.layers[-1].configs == {"spark.executor.memory": "2g"}
    assert warnings == ["job: not shown, because only a run fills it in: conf."]


@KINDS
def test_beside_a_value_that_a_function_makes_of_a_result_the_other_keys_are_known(kind):
    job, warnings = deployed(kind, conf=lambda: {"spark.app.size": result().map(str), "spark.app.mode": "b"})

    assert job.layers[0].configs == {"spark.app.mode": "b"}
    assert warnings == ["job: not shown, because only a run fills it in: conf['spark.app.size']."]


@pytest.mark.parametrize(
    ("conf", "known", "unknown"),
    [
        pytest.param(lambda: {"spark.a": result(), "spark.b": "1"}, {"spark.b": "1"}, "conf['spark.a']", id="key"),
        pytest.param(lambda: {"spark.a": result().map(lambda found: found)}, {}, "conf['spark.a']", id="mapped-key"),
        pytest.param(result, {}, "conf", id="whole"),
    ],
)
def test_of_a_mapped_task_what_is_not_a_result_is_known(conf, known, unknown):
    with DAG("flights", schedule=None) as dag:
        ConfiguredSparkSubmitOperator.partial(
            task_id="job", application="job.py", conf=conf(), executor_memory="2g"
        ).expand(application_args=[["a"]])
    stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    warnings = []
    job = deployed_job(stored.get_task("job"), "job", warnings.append)

    shown = {key: text for layer in job.layers for key, text in layer.configs.items()}
    assert shown == {"spark.executor.memory": "2g", **known}
    assert warnings == [f"job: not shown, because only a run fills it in: {unknown}."]


@KINDS
def test_a_value_that_another_task_returns_is_its_template_beside_the_other_keys(kind):
    job, warnings = deployed(kind, conf=lambda: {"spark.app.size": result(), "spark.app.mode": "b"}, name=result)

    conf, arguments = job.layers
    assert (conf.configs["spark.app.mode"], warnings) == ("b", [])
    assert "xcom_pull(task_ids='result" in conf.configs["spark.app.size"]
    assert "xcom_pull(task_ids='result" in arguments.configs["spark.app.name"]


@KINDS
def test_a_value_that_is_made_of_what_another_task_returns_has_no_template(kind):
    job, warnings = deployed(kind, conf=lambda: {"spark.app.size": result().map(str)})

    assert (job.layers, warnings) == ((), KNOWN_IN_RUN)


@KINDS
@pytest.mark.parametrize("files", [result, lambda: [result()]], ids=["all", "one"])
def test_a_file_that_another_task_names_is_among_the_files(kind, files):
    job, _ = deployed(kind, config_files=files)

    (path,) = job.files.values()
    assert "{{" in path


@KINDS
def test_files_that_no_run_would_read_do_not_keep_a_dag_from_being_stored(kind):
    job, _ = deployed(kind, config_files={"${vault:apps/db:password}": "a"})

    assert job.is_known


def hostile(text):
    """Return a stored task whose job anyone has written."""
    with DAG("flights", schedule=None) as dag:
        CustomOperator(task_id="job", application="job.py", config_conn_id="own")
    stored = DagSerialization.to_dict(dag)
    stored["dag"]["tasks"][0]["__var"]["_authored_job"] = text
    return DagSerialization.from_dict(json.loads(json.dumps(stored))).get_task("job")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "junk",
        "[]",
        "null",
        7,
        "[" * 100_000,
        '{"layers": 1}',
        '{"layers": ["conf"]}',
        '{"layers": [["conf"]]}',
        '{"layers": [["conf", ["a"]]]}',
        '{"layers": [["conf", {"a": 1}]]}',
        '{"layers": [["conf", {"a": "1"}, {"a": 1}]]}',
        '{"layers": [["conf", {"a": "1"}, {}, {"a": "secret"}]]}',
        '{"layers": [[{}, {"a": "1"}]]}',
        '{"layers": [], "texts": ["a"]}',
        '{"layers": [], "texts": {"a": {}}}',
        '{"layers": [], "files": {"a": 1}}',
        '{"layers": [], "options": {"unresolved": "x"}}',
        '{"layers": [], "options": {"resolve_in": {}}}',
    ],
)
def test_a_stored_job_that_is_none_is_not_known(text):
    task, warnings = hostile(text), []

    assert deployed_job(task, "job", warnings.append) == AuthoredJob(is_known=False)
    assert warnings == KNOWN_IN_RUN
    assert deployed_options(task) == NO_OPTIONS


@pytest.mark.parametrize("option", ['"config_conn_id": ["a"]', '"allow_exposed_arguments": "no"', '"unknown": 1'])
def test_options_of_other_kinds_are_left_out(option):
    task = hostile(f'{{"layers": [], "options": {{{option}}}}}')

    assert deployed_options(task) == NO_OPTIONS


@pytest.mark.parametrize(
    ("task_id", "has_hint"),
    [
        pytest.param("plain", True, id="a stock operator"),
        pytest.param("mapped", True, id="a stock operator, mapped"),
        pytest.param("other", False, id="an operator without Spark"),
    ],
)
def test_the_note_on_a_stock_operator_names_the_setting_that_configures_it(task_id: str, has_hint: bool):
    with DAG("flights", schedule=None) as dag:
        SparkSubmitOperator(task_id="plain", application="x.py")
        SparkSubmitOperator.partial(task_id="mapped", application="x.py").expand(conf=[{"spark.a": "1"}])
        EmptyOperator(task_id="other")
    task = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task(task_id)
    notes: list[str] = []

    assert deployed_job(task, task_id, notes.append) is None
    assert len(notes) == 1
    assert ("apply_to" in notes[0]) == has_hint


@pytest.mark.parametrize(
    ("apply_to", "way"),
    [
        pytest.param("", "To configure it, set apply_to in [config_providers], and remove the tag", id="not set"),
        pytest.param("spark", "is set here: add the family of the operator if it is not in it", id="set"),
    ],
)
def test_a_stock_operator_is_noted_with_what_would_configure_it(monkeypatch, apply_to, way):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", apply_to)

    _, (warning,) = deployed(SparkSubmitOperator)

    assert way in warning


@pytest.mark.parametrize("conf", [{"spark.app.x": None}, ["spark.app.x=1"]], ids=["none", "list"])
def test_a_configuration_that_a_run_refuses_is_noted(conf):
    assert deployed(ConfiguredSparkSubmitOperator, conf=conf)[1] == KNOWN_IN_RUN


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("spark.app.x", "token=hunter2", "[hidden]"),
        ("spark.app.x", "${v:a:b} token=hunter2", "${v:a:b}[hidden]"),
        ("spark.driver.extraJavaOptions", "-Dtoken=1 -Xmx64g", "-Dtoken=1 -Xmx64g"),
    ],
    ids=["a secret", "beside a reference", "options of Spark"],
)
def test_what_is_stored_on_its_own_is_what_policies_of_a_run_see(key, text, expected):
    job, _ = deployed(CustomOperator, conf={key: text})

    assert job.layers[0].configs == {key: expected}
