"""Keys that are misspelt or reserved, in a task that Airflow's real task runner runs."""

from __future__ import annotations

import io

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.exceptions import ConfigException, ReservedKeyError
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.driver_providers import FILE_KEY
from tests.operators.conftest import structlog_to

SETTING = "AIRFLOW__CONFIG_PROVIDERS__UNKNOWN_KEYS"
MEANT = "did you mean 'spark.executor.memory'?"

pytestmark = pytest.mark.usefixtures("spark_submit", "connections")


@pytest.fixture
def logged():
    """What tasks log."""
    with structlog_to(io.StringIO()) as file:
        yield file


def operator(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **kwargs)


@pytest.fixture
def written(dag, store, tmp_path, monkeypatch, run_task):
    """Run a job that has a key in one of the places where people write keys."""

    def run(place, key, value="8g"):
        if place == "a file":
            (tmp_path / "base.properties").write_text(f"{key}={value}\n")
            return run_task(operator(dag, config_files=[str(tmp_path / "base.properties")]))
        if place == "a run":
            monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
            return run_task(operator(dag), conf={"spark_conf": {key: value}})
        if place == "dynamic configuration":
            admin = ConfigAdmin(store)
            admin.incremental_alter_configs({ConfigResource(ResourceType.DAG, dag.dag_id): [AlterConfigOp(key, value)]})
            return run_task(operator(dag))
        return run_task(operator(dag, conf={key: value}))

    return run


PLACES = ["conf", "a file", "a run", "dynamic configuration"]


@pytest.mark.parametrize("place", PLACES)
def test_a_misspelt_key_is_told_in_the_task_log(written, place, spark_submit, logged):
    run = written(place, "spark.executor.memroy")

    assert run.state == "success"
    assert spark_submit.spark_conf == {"spark.executor.memroy": "8g"}
    assert MEANT in logged.getvalue()


def test_a_misspelt_key_is_told_also_if_another_key_is_refused(dag, run_task, logged):
    run = run_task(operator(dag, conf={"spark.executor.memroy": "8g", "executor.cores": "2"}))

    assert "'executor.cores'" in str(run.error)
    assert MEANT in logged.getvalue()


@pytest.mark.parametrize("place", PLACES)
def test_a_misspelt_key_fails_the_task_where_the_deployment_says_so(written, place, spark_submit, monkeypatch):
    monkeypatch.setenv(SETTING, "fail")
    run = written(place, "spark.executor.memroy")

    assert isinstance(run.error, ConfigException)
    assert MEANT in str(run.error)
    assert not spark_submit()


@pytest.mark.parametrize("place", PLACES)
def test_a_key_that_spark_would_leave_out_is_refused_with_the_one_that_is_meant(written, place, spark_submit):
    run = written(place, "executor.memory")

    assert isinstance(run.error, ConfigException)
    assert MEANT in str(run.error)
    assert not spark_submit()


@pytest.mark.parametrize("key", ["spark.config.providers", "spark.config.providers.v.param.url", FILE_KEY])
@pytest.mark.parametrize("place", PLACES)
def test_keys_that_define_providers_for_a_driver_are_refused_wherever_the_job_is_resolved(
    written, place, key, spark_submit
):
    run = written(place, key)

    assert isinstance(run.error, ReservedKeyError)
    assert f"'{key}' in " in str(run.error)
    assert "belong to the deployment" in str(run.error)
    assert not spark_submit()


OPTIONS = [
    pytest.param("spark.driver.extraJavaOptions", "-Xss4m -Dspark.config.providers_file=/tmp/x", id="option"),
    pytest.param("spark.driver.defaultJavaOptions", "-Dspark.config.providers=x", id="default option"),
    pytest.param("spark.driver.extraJavaOptions", "'-Dspark.con'\"fig.providers.v.param.url=x\"", id="quoted"),
    pytest.param("spark.yarn.appMasterEnv.JAVA_TOOL_OPTIONS", "-Dspark.config.providers=x", id="variable"),
]


@pytest.mark.parametrize(("key", "value"), OPTIONS)
@pytest.mark.parametrize("place", PLACES)
def test_options_of_the_jvm_that_define_providers_for_a_driver_are_refused(written, place, key, value, spark_submit):
    run = written(place, key, value)

    assert isinstance(run.error, ReservedKeyError)
    assert f"'{key}' in " in str(run.error)
    assert "-Dspark.config.providers defines providers of the driver" in str(run.error)
    assert not spark_submit()


UNNAMED = [
    pytest.param("spark.driver.extraJavaOptions", "-Xss4m -Dspark.config${spark.app.dot}providers=x", id="by Spark"),
    pytest.param("spark.driver.extraJavaOptions", "'-D${spark.app.option}'", id="quoted"),
    pytest.param("spark.kubernetes.driverEnv.JAVA_TOOL_OPTIONS", "-Dspark.config$(DOT)providers=x", id="by Kubernetes"),
]


@pytest.mark.parametrize(("key", "value"), UNNAMED)
@pytest.mark.parametrize("place", sorted({*PLACES} - {"a run"}))  # a run has no "${" at all
def test_options_of_the_jvm_whose_name_is_put_together_are_refused(written, place, key, value, spark_submit):
    run = written(place, key, value)

    assert isinstance(run.error, ReservedKeyError)
    assert "the name of a -D option has a '$'" in str(run.error)
    assert not spark_submit()


def test_a_variable_with_options_of_the_jvm_that_define_providers_for_a_driver_is_refused(
    dag, run_task, monkeypatch, spark_submit
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED", "True")
    monkeypatch.setenv("SPARK_DRIVER_EXTRAJAVAOPTIONS", "-Dspark.config.providers_file=/tmp/x")
    run = run_task(operator(dag))

    assert isinstance(run.error, ReservedKeyError)
    assert "in environment variable SPARK_DRIVER_EXTRAJAVAOPTIONS: -Dspark.config.providers" in str(run.error)
    assert not spark_submit()


def test_other_options_of_the_jvm_are_not_refused(written, spark_submit):
    options = "-Dspark.config.x=1 -Duser.timezone=UTC -Dx=${env:HOME}"
    run = written("conf", "spark.driver.extraJavaOptions", options)

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.driver.extraJavaOptions"] == options


def test_files_of_the_deployment_may_define_providers_for_a_driver(dag, run_task, tmp_path, monkeypatch, spark_submit):
    (tmp_path / "all.properties").write_text("spark.config.providers=mounted\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES", str(tmp_path / "all.properties"))
    run = run_task(operator(dag))

    assert run.state == "success"
    assert spark_submit.spark_conf == {"spark.config.providers": "mounted"}


def test_it_is_told_where_the_key_was_written(written, tmp_path):
    run = written("a file", "executor.memory")

    assert f"({tmp_path}/base.properties:1)" in str(run.error)


def test_all_such_keys_are_told_at_once(dag, run_task, monkeypatch):
    monkeypatch.setenv(SETTING, "fail")
    run = run_task(operator(dag, conf={"executor.memory": "1g", "fs.s3a.endpoint": "x", "spark.executor.coers": "2"}))

    assert len(run.error.problems) == 3


def test_a_deployment_may_have_all_keys_pass(written, spark_submit, monkeypatch, logged):
    monkeypatch.setenv(SETTING, "ignore")
    run = written("conf", "executor.memory")

    assert run.state == "success"
    assert spark_submit.only.conf == {"executor.memory": "8g"}
    assert "did you mean" not in logged.getvalue()


def test_a_word_that_the_setting_does_not_know_is_an_error(written, monkeypatch):
    monkeypatch.setenv(SETTING, "wran")
    run = written("conf", "spark.app.a")

    assert "unknown_keys: 'wran' is not one of warn, fail, ignore, did you mean 'warn'?" in str(run.error)


def test_keys_of_peoples_own_are_not_told(written, logged):
    written("conf", "spark.app.db.url")

    assert "did you mean" not in logged.getvalue()


def test_sparks_own_defaults_are_not_looked_at(dag, run_task, tmp_path, logged):
    (tmp_path / "spark-conf").mkdir()
    (tmp_path / "spark-conf" / "spark-defaults.conf").write_text("spark.executor.memroy 8g\nhive.x 1\n")
    run = run_task(operator(dag))

    assert run.state == "success"
    assert "did you mean" not in logged.getvalue()


def test_the_older_name_of_the_setting_is_read(written, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__MISSPELT_KEYS", "fail")
    run = written("conf", "spark.executor.memroy")

    assert MEANT in str(run.error)


@pytest.fixture
def spark_35(spark_submit, tmp_path, monkeypatch):
    """A Spark 3.5 that the task would start."""
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "RELEASE").write_text("Spark 3.5.8 built for Hadoop 3.3.4\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))


@pytest.mark.usefixtures("spark_35")
@pytest.mark.parametrize("place", PLACES)
def test_a_key_that_this_spark_does_not_have_yet_is_told(written, place, spark_submit, logged):
    run = written(place, "spark.api.mode", "connect")

    assert run.state == "success"
    assert spark_submit.spark_conf == {"spark.api.mode": "connect"}
    assert "Spark has this key since 4.0; this Spark is 3.5.8. Remove it, or set" in logged.getvalue()


@pytest.mark.usefixtures("spark_35")
def test_a_key_that_this_spark_does_not_have_yet_fails_the_task_where_the_deployment_says_so(written, monkeypatch):
    monkeypatch.setenv(SETTING, "fail")
    run = written("conf", "spark.api.mode", "connect")

    assert isinstance(run.error, ConfigException)
    assert "Spark has this key since 4.0; this Spark is 3.5.8" in str(run.error)


@pytest.mark.usefixtures("spark_35")
def test_a_key_that_this_spark_has_is_not_told(written, logged):
    written("conf", "spark.mesos.containerizer", "docker")

    assert "Spark has this key" not in logged.getvalue()


def test_a_key_that_this_spark_no_longer_has_is_told(written, tmp_path, monkeypatch, logged):
    (tmp_path / "RELEASE").write_text("Spark 4.2.0 built for Hadoop 3.5.0\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    written("conf", "spark.mesos.containerizer", "docker")

    assert "Spark has this key until 3.5; this Spark is 4.2.0. Remove it" in logged.getvalue()


CURRENT, OLDER = "spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"


@pytest.mark.parametrize(
    ("in_dag", "in_run"),
    [
        pytest.param(CURRENT, OLDER, id="the older name is stronger"),
        pytest.param(OLDER, CURRENT, id="the current name is stronger"),
    ],
)
def test_spark_gets_one_name_of_a_key_that_has_two(in_dag, in_run, dag, run_task, spark_submit, monkeypatch):
    """Spark would take the current name, in whichever layer it is."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run_task(operator(dag, conf={in_dag: "1g"}), conf={"spark_conf": {in_run: "2g"}})

    assert spark_submit.spark_conf == {in_run: "2g"}


def test_the_log_shows_both_names_of_a_key(dag, run_task, monkeypatch, logged):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run_task(operator(dag, conf={CURRENT: "1g"}), conf={"spark_conf": {OLDER: "2g"}})

    assert f"{OLDER} = 2g   # RUN_CONFIG" in logged.getvalue()
    assert f"beats DAG_CONFIG conf {CURRENT} = 1g" in logged.getvalue()


@pytest.mark.parametrize("place", ["conf", "a file"])
def test_a_master_that_the_operator_does_not_pass_on_is_told_in_the_task_log(written, place, logged):
    written(place, "spark.master", "yarn")

    assert "has no effect: the operator passes the master of its Spark connection" in logged.getvalue()


def test_nothing_is_told_without_another_master(written, logged):
    written("conf", "spark.app.x", "yarn")

    assert "has no effect" not in logged.getvalue()


def test_nothing_is_told_of_the_master_in_the_file_of_spark_itself(written, tmp_path, logged):
    (tmp_path / "spark-conf").mkdir()
    (tmp_path / "spark-conf" / "spark-defaults.conf").write_text("spark.master yarn\nspark.app.y of-spark\n")
    written("conf", "spark.app.x", "yarn")

    assert "spark.app.y = of-spark" in logged.getvalue()
    assert "has no effect" not in logged.getvalue()
