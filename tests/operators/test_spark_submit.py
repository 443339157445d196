"""The operator, run by Airflow's real task runner against a spark-submit that records its call."""

from __future__ import annotations

import copy
import json
import pickle
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow.sdk import BaseOperator

from airflow_config_providers.exceptions import (
    ConfigException,
    ExposedValueError,
    ProviderDefinitionError,
    ReservedKeyError,
    UnresolvedReferenceError,
)
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.stock import SHOWS_OUTPUT

PASSWORD = "${{dir:{}:db-password}}"
PATH = Path("a.properties")

pytestmark = pytest.mark.usefixtures("spark_submit", "connections")


@pytest.fixture
def password(secrets_dir):
    """A reference to the canary."""
    (secrets_dir / "db-password").write_text(CANARY)
    return PASSWORD.format(secrets_dir)


def operator(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **kwargs)


def everything_sent(run):
    """Return everything that the task sent to its supervisor, as text, except secrets for the masker."""
    return "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")


def test_spark_gets_the_value_and_people_see_the_reference(dag, run_task, password, spark_submit):
    run = run_task(operator(dag, conf={"spark.app.db.password": password}))

    assert run.state == "success"
    assert spark_submit.spark_conf["spark.app.db.password"] == CANARY
    assert run.rendered["effective_config"] == [f"spark.app.db.password = {password}   # DAG_CONFIG, conf"]


def test_attack_27_the_value_is_in_no_argument_and_no_environment(dag, run_task, password, spark_submit):
    run_task(operator(dag, conf={"spark.app.db.url": f"jdbc:x?password={password}"}))

    assert CANARY not in str(spark_submit.only.arguments)
    assert CANARY not in str(spark_submit.only.environ)
    assert CANARY in spark_submit.only.properties


def test_attack_27_a_driver_on_this_machine_gives_values_only_to_those_who_sign_in(
    dag, run_task, password, spark_submit
):
    run_task(operator(dag, conf={"spark.app.db.password": password}))

    assert "spark.authenticate=true" in spark_submit.only.properties


@pytest.mark.parametrize(
    ("conf", "is_warned"), [({}, True), ({"spark.authenticate": "false"}, False)], ids=["unsaid", "allowed"]
)
def test_attack_27_the_log_tells_of_a_driver_that_gives_values_to_everyone(
    dag, run_task, password, spark_submit, capfd, monkeypatch, conf, is_warned
):
    fields = {"conn_type": "spark", "host": "spark://one", "port": 7077}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    run_task(operator(dag, conf={"spark.app.db.password": password, **conf}))

    assert ("Everyone who reaches a port of the driver" in "".join(capfd.readouterr())) is is_warned


@pytest.mark.parametrize("mode", ["connect", "classic"])
def test_attack_27_the_log_tells_of_the_mode_in_which_spark_puts_values_into_an_environment(
    dag, run_task, password, capfd, mode
):
    run_task(operator(dag, conf={"spark.app.db.password": password, "spark.api.mode": mode}))

    is_told = "With spark.api.mode = connect, Spark puts its configuration into the environment" in "".join(
        capfd.readouterr()
    )
    assert is_told is (mode == "connect")


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"application": "{{ dag_run.conf.x }}"}, id="application"),
        pytest.param({"application_args": ["{{ dag_run.conf.x }}"]}, id="argument"),
        pytest.param({"proxy_user": "{{ dag_run.conf.x }}"}, id="user"),
    ],
)
def test_attack_22_data_of_a_run_in_the_command_cannot_write_lines_of_its_own_into_a_log(
    dag, run_task, spark_submit, capfd, field
):
    evil = "\u202eabc\x1b[2J\nINFO all is well"
    job = ConfiguredSparkSubmitOperator(task_id="job", dag=dag, **{"application": "job.py", **field})
    run_task(job, conf={"x": evil})

    assert evil in spark_submit.only.arguments
    logged = "".join(capfd.readouterr())
    assert r"\u202eabc\x1b[2J\nINFO all is well" in logged
    assert not {"\u202e", "\x1b"} & set(logged)


def test_plain_keys_stand_in_the_command(dag, run_task, spark_submit):
    run_task(operator(dag, conf={"spark.ui.enabled": "false"}))

    assert spark_submit.only.conf == {"spark.ui.enabled": "false"}
    assert spark_submit.only.properties is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(True, "true", id="boolean"),
        pytest.param(4, "4", id="integer"),
        pytest.param(0.5, "0.5", id="float"),
        pytest.param(1e-7, "1.0E-7", id="float-as-java-writes-it"),
        pytest.param("", "", id="empty"),
    ],
)
def test_plain_values_are_written_as_spark_writes_them(dag, run_task, spark_submit, value, text):
    run_task(operator(dag, conf={"spark.app.x": value}))

    assert spark_submit.only.conf == {"spark.app.x": text}


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, b"x"], ids=["none", "list", "mapping", "bytes"])
def test_other_values_are_refused(dag, run_task, value):
    run = run_task(operator(dag, conf={"spark.app.x": value}))

    assert isinstance(run.error, ConfigException)
    assert "spark.app.x" in str(run.error)


@pytest.mark.parametrize(
    ("conf", "kind"),
    [
        pytest.param('{"spark.app.password": "pl4in"}', "str", id="json"),
        pytest.param("spark.app.password=pl4in", "str", id="pair"),
        pytest.param("{{ dag_run.conf.pairs }}", "str", id="template"),
        pytest.param(["spark.app.password=pl4in"], "list", id="list"),
    ],
)
def test_a_configuration_that_is_no_mapping_is_refused_and_not_shown(dag, run_task, spark_submit, conf, kind):
    run = run_task(operator(dag, conf=conf), conf={"pairs": "spark.app.password=pl4in"})

    assert isinstance(run.error, ConfigException)
    assert str(run.error) == (
        f"conf: expected a mapping of key to value, found {kind}. Write a dict. If a template returns it, set "
        f"render_template_as_native_obj=True in the DAG."
    )
    assert spark_submit() == []


def test_a_reference_in_the_id_of_a_connection_is_refused(dag, run_task, spark_submit):
    run = run_task(operator(dag, conn_id="${dir:/x:y}"))

    assert isinstance(run.error, ConfigException)
    assert str(run.error) == "conn_id: a reference is not resolved here. Write the ID of the connection."
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        pytest.param({"java_class": "${dir:/x:y}"}, "java_class", id="string"),
        pytest.param({"deploy_mode": ["client", "${dir:/x:y}"]}, "deploy_mode", id="list"),
    ],
)
def test_a_reference_in_an_argument_that_is_not_resolved_is_refused(dag, run_task, spark_submit, arguments, name):
    run = run_task(operator(dag, **arguments))

    assert isinstance(run.error, ConfigException)
    assert str(run.error) == (
        f"{name}: a reference is not resolved here. Write the value itself if it is no secret; otherwise move it to "
        f"a template field, or to the connection."
    )
    assert spark_submit() == []


class OperatorWithOwnArgument(ConfiguredSparkSubmitOperator):
    """Takes an argument that a stock operator does not, and resolves it by itself."""

    def __init__(self, *, greeting: str, **kwargs) -> None:
        super().__init__(**kwargs)
        self.greeting = greeting


def test_what_a_class_of_a_user_takes_is_left_to_it(dag, run_task, spark_submit):
    task = OperatorWithOwnArgument(
        task_id="own", dag=dag, application="x.py", greeting="${dir:/x:y}", doc="${dir:/x:y}"
    )

    assert run_task(task).error is None
    assert len(spark_submit()) == 1


class PreparingOperator(ConfiguredSparkSubmitOperator):
    """Completes an argument, and keeps what it was given, as people do."""

    def __init__(self, *, driver_memory, **kwargs):
        self.driver_memory = driver_memory
        super().__init__(driver_memory=f"{driver_memory}g", **kwargs)


def test_a_named_argument_is_what_the_stock_operator_was_given(dag, run_task, spark_submit):
    run_task(PreparingOperator(task_id="job", dag=dag, application="job.py", driver_memory=2))

    assert spark_submit.only.conf == {"spark.driver.memory": "2g"}


def test_named_arguments_are_keys_that_any_layer_can_override(dag, run_task, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run = run_task(
        operator(dag, executor_memory="4g", num_executors=2), conf={"spark_conf": {"spark.executor.memory": "8g"}}
    )

    assert spark_submit.only.conf == {"spark.executor.memory": "8g", "spark.executor.instances": "2"}
    assert "--executor-memory" not in spark_submit.only.arguments
    assert run.rendered["effective_config"] == [
        "spark.executor.instances = 2   # DAG_CONFIG, argument num_executors",
        "spark.executor.memory = 8g   # RUN_CONFIG, dag_run.conf['spark_conf']; "
        "beats DAG_CONFIG argument executor_memory = 4g",
    ]


def test_a_named_argument_beats_the_same_key_in_conf_as_in_spark(dag, run_task, spark_submit):
    run_task(operator(dag, executor_memory="4g", conf={"spark.executor.memory": "1g"}))

    assert spark_submit.only.conf == {"spark.executor.memory": "4g"}


def test_the_stock_name_does_not_beat_a_layer(dag, run_task, spark_submit):
    run_task(operator(dag, conf={"spark.app.name": "mine"}))

    assert spark_submit.only.conf == {"spark.app.name": "mine"}
    assert "--name" not in spark_submit.only.arguments


def test_a_queue_in_a_layer_beats_that_of_the_connection(dag, run_task, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://local?queue=connection")
    run_task(operator(dag, conf={"spark.yarn.queue": "layer"}))

    arguments = spark_submit.only.arguments
    assert arguments[arguments.index("--queue") + 1] == "layer"


def test_layers_of_files_come_in_order_with_their_lines(dag, run_task, spark_submit, tmp_path):
    base, prod = tmp_path / "base.properties", tmp_path / "prod.properties"
    base.write_text("# common\nspark.app.a=base\nspark.app.b=base\n")
    prod.write_text("spark.app.b=prod\n")
    run = run_task(operator(dag, config_files=[str(base), str(prod)]))

    assert spark_submit.spark_conf == {"spark.app.a": "base", "spark.app.b": "prod"}
    assert run.rendered["effective_config"] == [
        f"spark.app.a = base   # STATIC_FILE_CONFIG, {base}:2",
        f"spark.app.b = prod   # STATIC_FILE_CONFIG, {prod}:1; beats STATIC_FILE_CONFIG {base}:3 = base",
    ]


@pytest.mark.parametrize(
    ("argument", "given"), [("config_files", [PATH]), ("config_files", PATH), ("properties_file", PATH)]
)
def test_files_may_be_named_by_pathlib(dag, run_task, tmp_path, spark_submit, monkeypatch, argument, given):
    monkeypatch.chdir(tmp_path)
    PATH.write_text("spark.app.x=1\n")
    run = run_task(operator(dag, **{argument: given}))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.x"] == "1"


@pytest.mark.parametrize(("given", "found"), [([None], "NoneType"), (3, "int"), ({"a": "b"}, "dict")])
def test_what_is_no_path_is_refused_in_plain_words(dag, run_task, given, found):
    run = run_task(operator(dag, config_files=given))

    assert isinstance(run.error, ConfigException)
    assert f"config_files: expected paths of files, found {found}" in str(run.error)


def test_the_properties_file_of_the_operator_is_the_strongest_file(dag, run_task, spark_submit, tmp_path):
    (tmp_path / "a.properties").write_text("spark.app.x=a")
    (tmp_path / "b.properties").write_text("spark.app.x=b")
    run_task(
        operator(dag, properties_file=str(tmp_path / "a.properties"), config_files=[str(tmp_path / "b.properties")])
    )

    assert spark_submit.spark_conf["spark.app.x"] == "a"


@pytest.mark.parametrize("given", [False, True], ids=["no-file-given", "a-file-given"])
def test_sparks_defaults_file_counts_unless_the_author_gives_a_file(dag, run_task, spark_submit, tmp_path, given):
    (tmp_path / "spark-conf").mkdir()
    (tmp_path / "spark-conf" / "spark-defaults.conf").write_text("spark.app.default yes\n")
    (tmp_path / "own.properties").write_text("spark.app.own=yes")
    run_task(operator(dag, properties_file=str(tmp_path / "own.properties") if given else None))

    assert set(spark_submit.spark_conf) == {"spark.app.own" if given else "spark.app.default"}


@pytest.mark.parametrize("known", [False, True], ids=["nobody-says-where", "known"])
def test_a_defaults_file_that_nobody_finds_is_told_and_not_passed_over(
    dag, run_task, password, monkeypatch, capfd, known
):
    if not known:
        monkeypatch.delenv("SPARK_CONF_DIR")
    run_task(operator(dag, conf={"spark.app.x": password}))

    assert ("so this job ignores its spark-defaults.conf" in "".join(capfd.readouterr())) is not known


def test_other_defaults_to_which_spark_env_sh_leads_are_told(dag, run_task, spark_submit, tmp_path, capfd):
    for name in ("spark-conf", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spark-defaults.conf").write_text("spark.app.x 1\n")
    (tmp_path / "spark-conf" / "spark-env.sh").write_text(f"SPARK_CONF_DIR={tmp_path}/other\n")
    run_task(operator(dag))

    assert f"sets SPARK_CONF_DIR to {tmp_path}/other, where Spark alone would read" in "".join(capfd.readouterr())


def test_a_file_counts_even_where_the_author_gave_an_empty_one(dag, run_task, spark_submit, tmp_path):
    """Spark leaves its defaults file out then, so it must be given some file."""
    (tmp_path / "own.properties").write_text("")
    run_task(operator(dag, properties_file=str(tmp_path / "own.properties")))

    assert spark_submit.only.properties == ""


def test_what_stood_in_a_file_does_not_come_into_the_command(dag, run_task, spark_submit, tmp_path):
    (tmp_path / "own.properties").write_text("spark.app.unknown=perhaps-a-secret")
    run_task(operator(dag, properties_file=str(tmp_path / "own.properties")))

    assert "perhaps-a-secret" not in str(spark_submit.only.arguments)


def test_the_deployment_can_have_files_of_its_own(dag, run_task, spark_submit, tmp_path, monkeypatch):
    (tmp_path / "all.properties").write_text("spark.app.x=all")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES", str(tmp_path / "all.properties"))
    run_task(operator(dag))

    assert spark_submit.spark_conf == {"spark.app.x": "all"}


def test_the_environment_counts_where_the_deployment_allows_it(dag, run_task, spark_submit, monkeypatch):
    monkeypatch.setenv("SPARK_APP_X", "environment")
    monkeypatch.setenv("SPARK_EXECUTOR_CORES", "3")
    task = operator(dag, conf={"spark.app.x": "dag"})
    run_task(task)
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED", "True")
    run_task(task)

    without, with_environment = spark_submit()
    assert without.conf == {"spark.app.x": "dag"}
    assert with_environment.conf == {"spark.app.x": "environment", "spark.executor.cores": "3"}


@pytest.mark.parametrize(
    ("text", "is_run"), [("tcp://10.0.0.1:4040", True), ("many", False)], ids=["a service link", "a mistake"]
)
def test_a_service_link_of_kubernetes_does_not_fail_a_task_and_a_mistake_does(
    dag, run_task, spark_submit, monkeypatch, text, is_run
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED", "True")
    monkeypatch.setenv("SPARK_UI_PORT", text)
    run = run_task(operator(dag))

    assert (run.state == "success") is is_run
    assert [submission.conf for submission in spark_submit()] == ([{}] if is_run else [])


def test_run_configuration_is_off_unless_the_deployment_allows_it(dag, run_task, spark_submit):
    run_task(operator(dag), conf={"spark_conf": {"spark.app.x": "run"}})

    assert spark_submit.only.conf == {}


def test_references_in_run_configuration_are_refused(dag, run_task, spark_submit, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run = run_task(operator(dag), conf={"spark_conf": {"spark.app.x": password}})

    assert isinstance(run.error, ConfigException)
    assert spark_submit() == []


@pytest.mark.parametrize(
    "text", ["${spark.app.password}", "${env.AIRFLOW_HOME}", "${system:user.name}", "{{secrets/scope/key}}"]
)
def test_so_are_strings_that_others_replace(dag, run_task, spark_submit, monkeypatch, text):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run = run_task(operator(dag), conf={"spark_conf": {"spark.app.x": text}})

    assert isinstance(run.error, ConfigException)
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("spark.app.x", "${spark.app.password}"),
        ("spark.hadoop.x", "${env.AIRFLOW_HOME}"),
        ("spark.hive.x", "${user.home}"),
    ],
)
def test_a_template_cannot_insert_such_a_string(dag, run_task, spark_submit, key, text):
    run = run_task(operator(dag, conf={key: "/x/{{ dag_run.conf.x }}"}), conf={"x": text})

    assert isinstance(run.error, ConfigException)
    assert f"conf['{key}']: a string that Spark, Hadoop or Databricks would replace" in str(run.error)
    assert spark_submit() == []


def test_a_template_in_a_file_cannot_insert_such_a_string(dag, run_task, spark_submit, tmp_path):
    (tmp_path / "base.properties").write_text("spark.hadoop.x=/x/{{ dag_run.conf.x }}")
    task = operator(dag, config_files=[str(tmp_path / "base.properties")])
    run = run_task(task, conf={"x": "${env.AIRFLOW_HOME}"})

    assert isinstance(run.error, ConfigException)
    assert spark_submit() == []


def test_a_template_keeps_such_a_string_of_its_author(dag, run_task, spark_submit):
    task = operator(dag, conf={"spark.hadoop.x": "${env.HOME}/{{ dag_run.conf.x }}"})
    run_task(task, conf={"x": "$a{b}"})

    assert spark_submit.spark_conf["spark.hadoop.x"] == "${env.HOME}/$a{b}"


def test_a_mapped_task_keeps_such_a_string_of_its_author(dag, run_task, spark_submit):
    conf = [{"spark.hadoop.x": "${env.HOME}"}]
    mapped = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py", dag=dag).expand(conf=conf)
    run_task(mapped, map_index=0)

    assert spark_submit.spark_conf["spark.hadoop.x"] == "${env.HOME}"


def test_such_a_string_counts_where_the_deployment_allows_references(dag, run_task, spark_submit, monkeypatch):
    for name in ("ENABLED", "REFERENCES"):
        monkeypatch.setenv(f"AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_{name}", "True")
    run_task(operator(dag), conf={"spark_conf": {"spark.app.x": "${spark.app.y}"}})

    assert spark_submit.spark_conf["spark.app.x"] == "${spark.app.y}"


def test_references_in_run_configuration_count_where_the_deployment_allows_them(
    dag, run_task, spark_submit, password, monkeypatch
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_REFERENCES", "True")
    run_task(operator(dag), conf={"spark_conf": {"spark.app.x": password}})

    assert spark_submit.spark_conf["spark.app.x"] == CANARY


def test_attack_11_run_configuration_is_never_a_template(dag, run_task, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run_task(operator(dag), conf={"spark_conf": {"spark.app.x": "{{ 7 * 6 }}"}})

    assert spark_submit.only.conf == {"spark.app.x": "{{ 7 * 6 }}"}


def test_attack_11_a_resolved_value_is_never_a_template_or_a_reference(dag, run_task, secrets_dir, spark_submit):
    value = "{{ 7 * 6 }} ${dir:x:y} {% raw %}"
    (secrets_dir / "odd").write_text(value)
    run_task(operator(dag, conf={"spark.app.x": f"${{dir:{secrets_dir}:odd}}"}))

    assert spark_submit.spark_conf["spark.app.x"] == value


def test_jinja_works_inside_references_and_files(dag, run_task, password, spark_submit, tmp_path):
    (tmp_path / "base.properties").write_text("spark.app.run={{ run_id }}")
    name = "{{ 'db-' ~ 'password' }}"
    run_task(
        operator(
            dag,
            config_files=["{{ params.folder }}/base.properties"],
            params={"folder": str(tmp_path)},
            conf={"spark.app.x": password.replace("db-password", name)},
        )
    )

    assert spark_submit.spark_conf["spark.app.run"] == "run-1"
    assert spark_submit.spark_conf["spark.app.x"] == CANARY


@pytest.mark.parametrize("key", ["config.providers", "config.providers.mine.class"])
def test_attack_07_a_dag_cannot_define_providers(dag, run_task, key):
    run = run_task(operator(dag, conf={key: "file"}))

    assert isinstance(run.error, ReservedKeyError)


def test_a_wrong_type_is_found_before_spark_starts(dag, run_task, spark_submit):
    run = run_task(operator(dag, conf={"spark.executor.instances": "two", "spark.dynamicAllocation.enabled": "maybe"}))

    assert len(run.error.problems) == 2
    assert spark_submit() == []


def test_an_unresolved_reference_fails_the_task_at_render(dag, run_task, secrets_dir, spark_submit):
    run = run_task(operator(dag, conf={"spark.app.x": f"${{dir:{secrets_dir}:nope}}"}))

    assert isinstance(run.error, UnresolvedReferenceError)
    assert run.rendered is None
    assert spark_submit() == []


def test_keep_submits_an_unresolved_reference(dag, run_task, secrets_dir, spark_submit):
    text = f"${{dir:{secrets_dir}:nope}}"
    run_task(operator(dag, conf={"spark.app.x": text}, unresolved="keep"))

    assert spark_submit.spark_conf["spark.app.x"] == text


def test_sparks_own_substitutions_stay(dag, run_task, spark_submit):
    run_task(operator(dag, conf={"spark.app.x": "${env:HOME} ${system:user.name}"}))

    assert spark_submit.only.conf == {"spark.app.x": "${env:HOME} ${system:user.name}"}


def test_without_references_no_connection_is_needed(dag, run_task, spark_submit, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT")
    run = run_task(operator(dag, conf={"spark.app.x": "plain"}))

    assert run.state == "success"


def test_with_references_a_missing_connection_is_an_error_that_says_so(dag, run_task, password, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT")
    run = run_task(operator(dag, conf={"spark.app.x": password}))

    assert isinstance(run.error, ProviderDefinitionError)
    assert "config_providers_default" in str(run.error)


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"application_args": ["--password", "{}"]}, id="application_args"),
        pytest.param({"proxy_user": "{}"}, id="proxy_user"),
        pytest.param({"post_submit_commands": ["echo {}"]}, id="post_submit_commands"),
        pytest.param({"name": "{}"}, id="name"),
        pytest.param({"jars": "/x/{}.jar"}, id="jars"),
        pytest.param({"files": "/x/{}"}, id="files"),
        pytest.param({"archives": "s3://{}/x.zip"}, id="archives"),
        pytest.param({"py_files": "/x/{}.zip"}, id="py_files"),
        pytest.param({"packages": "org:{}:1"}, id="packages"),
        pytest.param({"conf": {"spark.jars": "/x/{}.jar"}}, id="jars-in-conf"),
        pytest.param({"conf": {"spark.executorEnv.PASSWORD": "{}"}}, id="environment-of-executors"),
        pytest.param({"driver_class_path": "/x/{}"}, id="driver_class_path"),
        pytest.param({"conf": {"spark.driver.extraJavaOptions": "-Dp={}"}}, id="java-options"),
    ],
)
def test_a_value_that_would_be_exposed_is_refused(dag, run_task, password, spark_submit, field):
    run = run_task(operator(dag, **_filled(field, password)))

    assert isinstance(run.error, ExposedValueError)
    assert "allow_exposed_arguments" in str(run.error)
    assert spark_submit() == []


def _filled(field, text):
    if isinstance(field, dict):
        return {key: _filled(value, text) for key, value in field.items()}
    return [_filled(item, text) for item in field] if isinstance(field, list) else field.format(text)


@pytest.mark.parametrize(
    "conf",
    [
        pytest.param({"spark.ui.custom.executor.log.url": "http://x/${spark.app.password}"}, id="in the UI"),
        pytest.param({"spark.executor.extraJavaOptions": "-Dx=${system:spark.app.password}"}, id="by a property"),
        pytest.param({"spark.eventLog.dir": "${spark.app.a}", "spark.app.a": "${spark.app.password}"}, id="by a key"),
    ],
)
def test_spark_is_not_made_to_put_a_value_where_others_read_it(dag, run_task, password, spark_submit, conf):
    run = run_task(operator(dag, conf={"spark.app.password": password, **conf}))

    assert isinstance(run.error, ExposedValueError)
    assert "Spark replaces spark.app.password in it" in str(run.error)
    assert spark_submit() == []


def test_nor_to_put_a_variable_of_its_environment_there(dag, run_task, password, spark_submit):
    conf = {"spark.ui.custom.executor.log.url": "http://x/${env:APP_TOKEN}"}
    run = run_task(operator(dag, conf=conf, env_vars={"APP_TOKEN": password}))

    assert isinstance(run.error, ExposedValueError)
    assert "Spark replaces env_vars['APP_TOKEN'] in it" in str(run.error)
    assert spark_submit() == []


WAREHOUSE = "spark.hadoop.hive.metastore.warehouse.dir"


@pytest.mark.parametrize(
    ("conf", "secret"),
    [
        pytest.param(
            {WAREHOUSE: "/x/${dfs.encryption.key.provider.uri}"},
            "spark.hadoop.hadoop.security.key.provider.path",
            id="by an older name",
        ),
        pytest.param(
            {WAREHOUSE: "/x/${hadoop.security.key.provider.path}"},
            "spark.hadoop.dfs.encryption.key.provider.uri",
            id="by the current name",
        ),
        pytest.param(
            {WAREHOUSE: "/x/${fs.s3a.${n}.key}", "spark.hadoop.n": "secret"},
            "spark.hadoop.fs.s3a.secret.key",
            id="by a nested name",
        ),
        pytest.param(
            {WAREHOUSE: "/x/${p}{fs.s3a.secret.key}", "spark.hadoop.p": "$"},
            "spark.hadoop.fs.s3a.secret.key",
            id="by a name in parts",
        ),
    ],
)
def test_nor_hadoop_to_put_a_value_there(dag, run_task, password, spark_submit, conf, secret):
    run = run_task(operator(dag, conf={secret: password, **conf}))

    assert isinstance(run.error, ExposedValueError)
    assert f"Spark replaces {secret} in it" in str(run.error)
    assert spark_submit() == []


def test_nor_hadoop_to_put_a_variable_there_that_spark_gives_it(dag, run_task, password, spark_submit):
    task = operator(dag, conf={WAREHOUSE: "/x/${fs.s3a.secret.key}"}, env_vars={"AWS_SECRET_ACCESS_KEY": password})
    run = run_task(task)

    assert isinstance(run.error, ExposedValueError)
    assert "Spark replaces env_vars['AWS_SECRET_ACCESS_KEY'] in it" in str(run.error)


def test_nor_by_who_triggers_a_run(dag, run_task, password, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_REFERENCES", "True")
    given = {"spark_conf": {"spark.ui.custom.executor.log.url": "http://x/${spark.app.password}"}}
    run = run_task(operator(dag, conf={"spark.app.password": password}), conf=given)

    assert isinstance(run.error, ExposedValueError)
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("conf", "options"),
    [
        pytest.param({"spark.eventLog.dir": "/x/${spark.app.b}", "spark.app.b": "c"}, {}, id="no secret"),
        pytest.param({"spark.app.copy": "${spark.app.password}"}, {}, id="not shown"),
        pytest.param(
            {"spark.eventLog.dir": "/x/${spark.app.password}"}, {"allow_exposed_arguments": True}, id="knowingly"
        ),
    ],
)
def test_other_substitutions_of_spark_stay(dag, run_task, password, spark_submit, conf, options):
    run_task(operator(dag, conf={"spark.app.password": password, **conf}, **options))

    assert spark_submit.spark_conf.items() >= conf.items()


def test_exposed_arguments_are_resolved_where_the_author_says_so(dag, run_task, password, spark_submit):
    run = run_task(operator(dag, application_args=["--password", password], allow_exposed_arguments=True))

    assert spark_submit.only.arguments[-2:] == ["--password", CANARY]
    assert CANARY not in everything_sent(run)


@pytest.mark.parametrize("kind", [tuple, deque, frozenset])
def test_exposed_arguments_are_resolved_in_each_kind_of_collection(dag, run_task, password, spark_submit, kind):
    run_task(operator(dag, application_args=kind(["--password", password]), allow_exposed_arguments=True))

    assert {*spark_submit.only.arguments[-2:]} == {"--password", CANARY}


def test_attack_58_what_spark_derives_no_key_from_may_have_a_secret(dag, run_task, password, spark_submit):
    run = run_task(operator(dag, repositories=f"https://ci:{password}@repository/", exclude_packages=password))

    assert run.state == "success"
    assert spark_submit.spark_conf["spark.jars.repositories"] == f"https://ci:{CANARY}@repository/"
    assert CANARY not in str(spark_submit.only.arguments)


def test_references_work_in_the_other_template_fields(dag, run_task, secrets_dir, spark_submit, tmp_path):
    (secrets_dir / "place").write_text("s3://bucket/key")
    (tmp_path / "own.properties").write_text("spark.app.x=1")
    (secrets_dir / "file").write_text(str(tmp_path / "own.properties"))
    place, file = f"${{dir:{secrets_dir}:place}}", f"${{dir:{secrets_dir}:file}}"
    run = run_task(
        operator(
            dag,
            files=f"{place}/f",
            py_files=f"{place}/p.zip",
            jars=f"{place}/j.jar",
            packages=place,
            exclude_packages=place,
            keytab=place,
            principal=place,
            properties_file=file,
            env_vars={"PLACE": place},
            allow_exposed_arguments=True,
        )
    )

    assert run.state == "success"
    conf = spark_submit.spark_conf
    assert (conf["spark.files"], conf["spark.jars"]) == ("s3://bucket/key/f", "s3://bucket/key/j.jar")
    assert (conf["spark.submit.pyFiles"], conf["spark.app.x"]) == ("s3://bucket/key/p.zip", "1")
    assert conf["spark.kerberos.keytab"] == conf["spark.kerberos.principal"] == "s3://bucket/key"
    assert conf["spark.jars.packages"] == conf["spark.jars.excludes"] == "s3://bucket/key"
    assert spark_submit.only.environ["PLACE"] == "s3://bucket/key"
    assert "s3://bucket/key" not in str(spark_submit.only.arguments)
    assert "s3://bucket/key" not in everything_sent(run)


@pytest.mark.parametrize(
    ("master", "prefix"),
    [
        pytest.param("yarn", "spark.yarn.appMasterEnv", id="yarn"),
        pytest.param("k8s://h", "spark.kubernetes.driverEnv", id="k8s"),
    ],
)
def test_environment_variables_that_become_configuration_go_the_private_way(
    dag, run_task, password, spark_submit, run_on, master, prefix
):
    run_on(master)
    run_task(operator(dag, env_vars={"LOGIN": password, "PLAIN": "x"}, allow_exposed_arguments=True))

    assert spark_submit.spark_conf[f"{prefix}.LOGIN"] == CANARY
    assert "LOGIN" in spark_submit.spark_conf["spark.redaction.regex"].split("|")[0]
    assert spark_submit.only.conf == {f"{prefix}.PLAIN": "x"}
    assert CANARY not in str(spark_submit.only.arguments)


@pytest.mark.parametrize(
    ("master", "mode", "readers"),
    [
        pytest.param("yarn", "client", "the logs of the application on YARN", id="yarn"),
        pytest.param("yarn", "cluster", "the logs of the application on YARN", id="yarn, cluster mode"),
        pytest.param("k8s://h", "cluster", "the pod of the driver", id="k8s, cluster mode"),
        pytest.param("k8s://h", "client", "", id="k8s, where it stays on the worker"),
        pytest.param("local[1]", "client", "", id="local"),
    ],
)
def test_a_reference_in_a_variable_is_refused_where_others_can_read_the_environment_of_the_driver(
    dag, run_task, password, spark_submit, run_on, master, mode, readers
):
    run_on(master, mode)

    run = run_task(operator(dag, env_vars={"LOGIN": password}, conf={"spark.kubernetes.namespace": "n"}))

    told = str(run.error) if readers else ""
    assert readers in told
    assert (f"env_vars['LOGIN']: the value of {password} would be readable by everyone" in told) is bool(readers)
    assert bool(spark_submit()) is not bool(readers)


def test_a_preview_of_a_job_whose_hook_cannot_be_made_says_that_it_does_not_know_who_could_read_env_vars(
    notes_of_preview, password, monkeypatch
):
    fields = {"conn_type": "spark", "host": "local", "extra": {"spark-home": "/opt/spark"}}  # the stock hook refuses it
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    (note,) = notes_of_preview(env_vars={"LOGIN": password})

    assert note.startswith("! It is not known here where the job runs (ValueError)")


def test_a_preview_without_the_connection_of_the_job_says_that_it_does_not_know_where_it_runs(
    notes_of_preview, password, monkeypatch
):
    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT", raising=False)

    (note,) = notes_of_preview(env_vars={"LOGIN": password})

    assert note.startswith("! It is not known here where the job runs (there is no connection 'spark_default')")


def test_a_preview_of_a_job_on_yarn_says_who_could_read_env_vars(notes_of_preview, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}))

    (note,) = notes_of_preview(env_vars={"LOGIN": password})

    assert "would be readable by everyone who can read the logs of the application on YARN" in note


@pytest.fixture
def settled_job(dag, password, monkeypatch, tmp_path):
    """A rendered task with policies and references in ``env_vars``, and how many times it was asked where it runs."""
    (tmp_path / "policies.yaml").write_text(
        "policies:\n- name: m\n  class: bounds\n  params: {spark.driver.memory: {max: 2g}}\n"
    )
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    asked = []

    class CountingOperator(ConfiguredSparkSubmitOperator):
        def _destination(self):
            asked.append(self)
            return super()._destination()

    fields = {"application": "job.py", "env_vars": {"LOGIN": password}, "reload_action": "restart"}
    task = CountingOperator(task_id="t", dag=dag, **fields)
    task.render_template_fields({"run_id": "r"})
    yield task, asked
    task._try_state.run.close()


def test_policies_and_references_in_variables_ask_for_the_connection_once(settled_job):
    _, asked = settled_job

    assert len(asked) == 1


def test_a_reload_asks_for_the_connection_anew(settled_job):
    task, asked = settled_job

    task._try_state.run.again().close()

    assert len(asked) == 2


def test_where_a_job_runs_is_not_asked_for_env_vars_that_others_may_read(notes_of_preview, password, monkeypatch):
    fields = {"conn_type": "spark", "host": "local", "extra": {"spark-home": "/opt/spark"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    assert notes_of_preview(env_vars={"LOGIN": password}, allow_exposed_arguments=True) == []


@pytest.mark.parametrize(
    ("master", "env_vars", "told"),
    [
        pytest.param("yarn", {"A": "1"}, "'spark.yarn.appMasterEnv.A' may not be set", id="yarn"),
        pytest.param("k8s://h", {"A": "1"}, "'spark.kubernetes.driverEnv.A' may not be set", id="k8s"),
        pytest.param("local[1]", {"SPARK_DRIVER_MEMORY": "3g"}, "'spark.driver.memory'", id="memory"),
        pytest.param("local[1]", {"A": "1"}, "", id="another variable"),
    ],
)
def test_policies_see_environment_variables_that_set_keys(
    dag, run_task, spark_submit, run_on, monkeypatch, tmp_path, master, env_vars, told
):
    run_on(master)
    (tmp_path / "policies.yaml").write_text(
        "policies:\n- name: memory\n  class: bounds\n  params: {spark.driver.memory: {max: 2g}}\n"
        "- name: environment\n  class: forbidden_keys\n"
        "  params: {keys: [spark.yarn.appMasterEnv.*, spark.kubernetes.driverEnv.*]}\n"
    )
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))
    run = run_task(operator(dag, env_vars=env_vars))

    assert told in str(run.error)
    assert bool(spark_submit()) is not bool(told)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            {"env_vars": {"A": "\ud800"}}, "env_vars['A']: its value contains half of a surrogate", id="surrogate"
        ),
        pytest.param({"env_vars": {"A": "x\0"}}, "env_vars['A']: its value contains a NUL character", id="NUL"),
        pytest.param({"env_vars": {"A": 1}}, "env_vars['A']: its value is not a string", id="number"),
        pytest.param({"env_vars": {"A=B": "x"}}, "env_vars['A=B']: its name contains an equals sign", id="name with ="),
        pytest.param(
            {"env_vars": {"A\0": "x"}}, r"env_vars['A\x00']: its name contains a NUL character", id="name with NUL"
        ),
        pytest.param({"env_vars": {1: "x"}}, "env_vars[1]: its name is not a string", id="name that is a number"),
        pytest.param(
            {"application_args": ["a", "b\0"]}, "application_args[1]: its value contains a NUL character", id="args"
        ),
        pytest.param(
            {"application_args": ["\ud800"]}, "application_args[0]: its value contains half", id="half an argument"
        ),
        pytest.param(
            {"application_args": ["a", 2]}, "application_args[1]: its value is not a string", id="odd argument"
        ),
        pytest.param({"proxy_user": "u\0"}, "proxy_user: its value contains a NUL character", id="proxy user"),
    ],
)
def test_attack_what_no_program_can_get_is_refused_by_its_name(dag, run_task, password, spark_submit, fields, problem):
    run = run_task(operator(dag, conf={"spark.app.x": password}, **fields))

    assert isinstance(run.error, ConfigException)
    assert problem in str(run.error)
    assert spark_submit() == []


def test_attack_all_that_no_program_can_get_is_told_at_once_and_no_value(dag, run_task, secrets_dir, password):
    (secrets_dir / "odd").write_text(f"{CANARY}\0")
    odd = f"${{dir:{secrets_dir}:odd}}"
    run = run_task(operator(dag, env_vars={"A": odd, "B": 1, "C": password}, application_args=["\0"]))

    assert [problem.split(":")[0] for problem in run.error.problems] == [
        "env_vars['A']",
        "env_vars['B']",
        "application_args[0]",
    ]
    assert CANARY not in repr(run.error)


def test_what_a_program_can_get_is_left_alone(dag, run_task, spark_submit):
    run = run_task(operator(dag, env_vars={"A": "\udcff", "É": "ü"}, application_args=("a", "\udcff=")))

    assert run.state == "success"
    assert spark_submit.only.arguments[-2:] == ["a", "\udcff="]


def test_attack_30_nothing_that_the_task_sends_has_the_value(dag, run_task, password):
    run = run_task(
        operator(
            dag,
            conf={"spark.app.db.password": password, "spark.app.uri": f"postgresql://u:{password}@h"},
            env_vars={"APP_TOKEN": password},
        )
    )

    assert run.state == "success"
    assert CANARY not in everything_sent(run)


def test_attack_30_what_listeners_can_reach_holds_references(dag, run_task, password):
    run = run_task(operator(dag, conf={"spark.app.x": password}, env_vars={"T": password}))
    task, hook = run.task, run.task._hook

    assert task.conf == {"spark.app.x": password}
    assert CANARY not in repr([vars(task), vars(hook)])


def test_attack_30_a_copy_of_the_task_has_no_values(dag, run_task, password, monkeypatch):
    task = operator(dag, conf={"spark.app.x": password}).prepare_for_execution()
    task.render_template_fields({})

    assert not copy.deepcopy(task)._try_state.run
    assert CANARY.encode() not in pickle.dumps(task._try_state.run)


def test_rendered_fields_overwritten_after_execution_show_references(dag, run_task, password):
    task = operator(dag, conf={"spark.app.x": password})
    task.overwrite_rtif_after_execution = True
    run = run_task(task)

    assert run.rendered_last["conf"] == {"spark.app.x": password}
    assert run.rendered_last["effective_config"] == run.rendered["effective_config"]


@pytest.mark.parametrize("key", ["config.reload.action", "config.action.reload"])
def test_the_line_of_a_reload_action_is_shown_whatever_its_name(key, dag, run_task, spark_submit, tmp_path):
    (path := tmp_path / "a.properties").write_text(f"# on Mondays\n{key}=none\n")
    run = run_task(operator(dag, config_files=[str(path)]))

    assert f"config.reload.action = none   # STATIC_FILE_CONFIG, {path}:2" in run.rendered["effective_config"]


def test_keys_that_airflow_stars_are_shown_in_the_effective_configuration(dag, run_task, password):
    run = run_task(operator(dag, conf={"spark.hadoop.fs.s3a.secret.key": password}))

    assert run.rendered["conf"] == {"spark.hadoop.fs.s3a.secret.key": "***"}
    assert password in run.rendered["effective_config"][0]


def test_more_keys_than_airflow_stores_are_pointed_to_and_not_cut(dag, run_task, capfd):
    run = run_task(operator(dag, conf={f"spark.app.key{n:03}": "x" * 20 for n in range(200)}))
    shown = run.rendered["effective_config"]

    assert shown[0] == f"spark.app.key000 = {'x' * 20}   # DAG_CONFIG, conf"
    assert shown[-1].startswith(f"... and {200 - len(shown) + 1} more: see the task log")
    assert "spark.app.key199 = " in "".join(capfd.readouterr())


def test_a_failing_job_shows_references_in_log_and_error(dag, run_task, password, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"connecting with {CANARY}|Exception: bad {CANARY}")
    run = run_task(operator(dag, conf={"spark.app.x": password}))

    assert run.state == "failed"
    assert f"Exception: bad {password}" in str(run.error) or not SHOWS_OUTPUT
    output = "".join(capfd.readouterr())
    assert f"connecting with {password}" in output
    assert CANARY not in output


def test_a_value_that_a_line_of_the_other_stream_cuts_in_two_is_hidden(dag, run_task, password, tmp_path, capfd):
    pieces = f"printf 'is {CANARY[:9]}'; sleep 0.1; echo logged >&2; sleep 0.1; echo '{CANARY[9:]}'"
    binary = tmp_path / "spark3-submit"
    binary.write_text(f"#!/bin/sh\n{pieces}\n")
    binary.chmod(0o755)
    run_task(operator(dag, conf={"spark.app.x": password}, spark_binary=str(binary)))
    output = "".join(capfd.readouterr())

    assert f"is {password}" in output
    assert CANARY[9:] not in output


def test_a_failing_job_shows_the_command_that_people_know(dag, run_task, spark_submit, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")

    assert "Cannot execute: spark-submit --master local[1]" in str(run_task(operator(dag)).error)


def test_the_command_in_the_log_shows_references(dag, run_task, password, capfd):
    run_task(operator(dag, application_args=[f"--x={password}"], allow_exposed_arguments=True))

    output = "".join(capfd.readouterr())
    assert f"--x={password}" in output
    assert CANARY not in output


class Injected(ConfiguredSparkSubmitOperator):
    """Behaves like OpenLineage, which adds its transport to the configuration when the task begins."""

    def _get_hook(self):
        self.conf = {**self.conf, "spark.openlineage.transport.auth.apiKey": f"Bearer {CANARY}"}
        return super()._get_hook()


def test_what_airflow_adds_when_the_task_begins_goes_the_private_way(dag, run_task, spark_submit):
    run = run_task(Injected(task_id="job", application="job.py", dag=dag, conf={"spark.app.x": "1"}))

    assert spark_submit.spark_conf["spark.openlineage.transport.auth.apiKey"] == f"Bearer {CANARY}"
    assert CANARY not in str(spark_submit.only.arguments)
    assert run.task.conf == {"spark.app.x": "1"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("spark.hadoop.fs.s3a.secret.key", "a~c", id="a-key-that-spark-hides"),
        pytest.param("spark.hadoop.fs.azure.account.key.x", "a~c", id="a-key-that-spark-does-not-hide"),
        pytest.param("spark.app.url", "jdbc:x;password=a~c", id="a-password-inside-a-text"),
        pytest.param("spark.app.uri", "postgresql://u:a~c@host", id="a-password-in-a-url"),
    ],
)
def test_a_secret_that_is_written_out_is_not_shown_and_not_in_the_command(
    dag, run_task, spark_submit, tmp_path, key, value
):
    (tmp_path / "own.properties").write_text(f"{key}={value}")
    run = run_task(operator(dag, properties_file=str(tmp_path / "own.properties")))

    assert spark_submit.spark_conf[key] == value
    assert "a~c" not in str(spark_submit.only.arguments)
    assert "a~c" not in everything_sent(run)  # what is sent in base64 has no such character
    assert f"{key} = [hidden]   # STATIC_FILE_CONFIG" in run.rendered["effective_config"][0]


def test_text_in_braces_in_sparks_own_files_is_sparks(dag, run_task, spark_submit, tmp_path):
    (tmp_path / "own.properties").write_text("spark.executor.processTreeMetrics.x=-Dlog={{APP_ID}}.log")
    run_task(operator(dag, properties_file=str(tmp_path / "own.properties")))

    assert spark_submit.spark_conf["spark.executor.processTreeMetrics.x"] == "-Dlog={{APP_ID}}.log"


def test_post_submit_commands_get_their_values(dag, run_task, password, tmp_path):
    run = run_task(
        operator(
            dag,
            post_submit_commands=[f"sh -c 'printf %s {password} > {tmp_path}/after'"],
            allow_exposed_arguments=True,
        )
    )

    assert (tmp_path / "after").read_text() == CANARY
    assert CANARY not in repr(vars(run.task._hook))


@pytest.mark.parametrize("value", ["two words", "it's", "x;id", "$(id)", "a\\b", '"'])
def test_a_value_that_would_change_a_post_submit_command_is_refused(
    dag, run_task, secrets_dir, spark_submit, tmp_path, value
):
    (secrets_dir / "odd").write_text(value)
    command = f"sh -c 'printf %s ${{dir:{secrets_dir}:odd}} > {tmp_path}/after'"
    run = run_task(operator(dag, post_submit_commands=["true", command], allow_exposed_arguments=True))

    assert isinstance(run.error, ExposedValueError)
    assert str(run.error).startswith("post_submit_commands[1]: a value has characters that would change the meaning")
    assert spark_submit() == []
    assert not (tmp_path / "after").exists()


def test_each_post_submit_command_of_a_set_runs_with_its_own_value(dag, run_task, password, tmp_path):
    commands = {f"sh -c 'printf %s {password} > {tmp_path}/{name}'" for name in "abc"}
    commands |= {f"touch {tmp_path}/{name}" for name in "def"}
    run_task(operator(dag, post_submit_commands=commands, allow_exposed_arguments=True))

    assert {path.name: path.read_text() for path in tmp_path.iterdir() if len(path.name) == 1} == {
        **dict.fromkeys("abc", CANARY),
        **dict.fromkeys("def", ""),
    }


def test_default_args_reach_the_operator(run_task, password, spark_submit):
    from airflow.sdk import DAG

    with DAG("d", schedule=None, default_args={"conf": {"spark.app.x": password}, "unresolved": "keep"}) as dag:
        task = operator(dag)
    run_task(task)

    assert task.unresolved == "keep"
    assert spark_submit.spark_conf["spark.app.x"] == CANARY


def test_an_unknown_choice_of_unresolved_is_refused_when_the_dag_is_read(dag):
    with pytest.raises(ConfigException, match="did you mean 'keep'"):
        operator(dag, unresolved="kep")


def test_each_try_resolves_anew(dag, run_task, password, secrets_dir, spark_submit):
    task = operator(dag, conf={"spark.app.x": password})
    run_task(task)
    (secrets_dir / "db-password").write_text("rotated-secret")
    run_task(task)

    first, second = spark_submit()
    assert CANARY in first.properties
    assert "rotated-secret" in second.properties


def test_a_preview_shows_references_and_fetches_nothing(dag, password, secrets_dir, monkeypatch):
    (secrets_dir / "db-password").unlink()
    secrets_dir.rmdir()  # whoever opens the provider now fails
    task = operator(dag, conf={"spark.app.x": password})
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")  # there is no database here
    task.render_template_fields({"ti": object(), "run_id": "r"})

    assert task.effective_config == [f"spark.app.x = {password}   # DAG_CONFIG, conf"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            {"application_args": ["{}"]}, "application_args[0]: the value of {} would be readable by", id="argument"
        ),
        pytest.param({"conf": {"spark.app.name": "{}"}}, "spark.app.name: the value of {} would be", id="key"),
        pytest.param(
            {"conf": {"spark.app.x": "{}"}, "config_conn_id": "absent"},
            "The configuration refers to {}, but there is no connection 'absent'",
            id="no connection",
        ),
        pytest.param(
            {"conf": {"spark.app.x": "{}"}, "resolve_in": "driver"},
            "The driver should resolve the references, but no driver providers are defined",
            id="driver",
        ),
    ],
)
def test_a_preview_says_first_which_references_a_run_refuses(dag, password, monkeypatch, fields, problem):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")  # there is no database here
    task = operator(dag, **json.loads(json.dumps(fields).replace("{}", password)))
    task.render_template_fields({"ti": object(), "run_id": "r"})

    assert task.effective_config[0].startswith(f"! {problem.format(password)}")


@pytest.fixture
def notes_of_preview(dag, monkeypatch):
    """The notes at the top of ``effective_config`` after ``airflow tasks render``."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")  # there is no database here

    def render(**kwargs):
        task = operator(dag, **kwargs)
        task.render_template_fields({"ti": object(), "run_id": "r"})
        return [line for line in task.effective_config if line.startswith("!")]

    return render


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param(
            {"conf": {"spark.app.x": "${dri:/x:y}"}},
            "spark.app.x (conf): ${dri:/x:y} names the unknown provider 'dri', did you mean 'dir'? Known providers: "
            "dir, files. Correct the name, or add the provider to config.providers of connection "
            "'config_providers_default'.",
            id="unknown provider",
        ),
        pytest.param(
            {"env_vars": {"X": "${dir:/etc:passwd}"}},
            "env_vars['X']: ${dir:/etc:passwd}: /etc is not inside an allowed path",
            id="path outside allowed.paths",
        ),
        pytest.param(
            {"conf": {"spark.executor.cores": "two"}},
            "spark.executor.cores (conf): Not a number of type INT",
            id="wrong type",
        ),
    ],
)
def test_a_preview_says_what_is_certain_to_fail_in_a_run(notes_of_preview, fields, problem):
    (note,) = notes_of_preview(**fields)

    assert note.startswith(f"! {problem}")


def test_a_preview_says_once_that_the_connection_is_missing(notes_of_preview, password):
    (note,) = notes_of_preview(conf={"spark.app.x": password}, config_conn_id="absent")

    assert "there is no connection 'absent'" in note


def test_a_preview_does_not_mind_references_that_stay_as_they_are(notes_of_preview):
    conf = {"spark.app.x": "${other:y}", "spark.executor.cores": "${env:CORES}"}

    assert notes_of_preview(conf=conf, unresolved="keep") == []


def test_a_preview_leaves_references_of_the_driver_to_it(notes_of_preview, connections, monkeypatch):
    extra = {**connections, "driver.config.providers": "late", "driver.config.providers.late.class": "env"}
    monkeypatch.setenv(
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps({"conn_type": "config_providers", "extra": extra})
    )

    assert notes_of_preview(conf={"spark.app.x": "${late:X}"}, resolve_in="driver") == []


@pytest.mark.parametrize("is_expanded", [True, False], ids=["expand", "expand_kwargs"])
def test_a_reference_that_a_function_of_map_returns_is_refused(dag, run_task, password, spark_submit, is_expanded):
    """The function is the author's, and what it returns can come from its argument."""
    upstream = BaseOperator(task_id="upstream", dag=dag).output
    partial = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py", dag=dag)
    if is_expanded:
        task = partial.expand(conf=upstream.map(lambda n: {"spark.app.x": password, "spark.app.n": n}))
    else:
        task = partial.expand_kwargs(upstream.map(lambda n: {"conf": {"spark.app.x": password, "spark.app.n": n}}))
    run = run_task(task, map_index=0, results={"upstream": ["1"]})

    assert "conf['spark.app.x']: a reference came from the result of a template in a file, or from" in str(run.error)
    assert "a task or its group is mapped over, also through a function of .map()" in str(run.error)
    assert spark_submit() == []


def test_a_reference_in_partial_goes_with_what_a_function_of_map_returns(dag, run_task, password, spark_submit):
    names = BaseOperator(task_id="upstream", dag=dag).output.map(lambda n: f"report-{n}")
    partial = ConfiguredSparkSubmitOperator.partial(
        task_id="job", application="job.py", dag=dag, conf={"spark.app.x": password}
    )
    run = run_task(partial.expand(name=names), map_index=0, results={"upstream": ["1"]})

    assert run.state == "success", run.error
    assert spark_submit.spark_conf.items() >= {"spark.app.x": CANARY, "spark.app.name": "report-1"}.items()


def test_no_spark_submit_is_an_error_that_says_how_to_get_it(dag, run_task, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    run = run_task(operator(dag))

    assert "spark-submit" in str(run.error)
    assert "pyspark" in str(run.error)


def test_mapped_tasks_settle_and_resolve_each_on_its_own(run_task, password, spark_submit):
    from airflow.sdk import DAG

    with DAG("m", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:
        mapped = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py").expand(
            conf=[{"spark.app.x": password, "spark.app.n": "0"}, {"spark.app.x": password, "spark.app.n": "1"}]
        )
    assert mapped.dag is dag
    for index in range(2):
        run = run_task(mapped, map_index=index)
        assert run.state == "success"
        assert f"spark.app.n = {index}   # DAG_CONFIG, conf" in run.rendered["effective_config"]

    assert [CANARY in submission.properties for submission in spark_submit()] == [True, True]
