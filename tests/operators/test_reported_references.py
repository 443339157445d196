"""What the log of a task tells of its references."""

from __future__ import annotations

import io
import json
import re
from types import SimpleNamespace

import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import CANARY, structlog_to

pytestmark = pytest.mark.usefixtures("spark_submit", "connections")


@pytest.fixture
def logged(dag, run_task):
    """Run a job with ``conf``, and give what it logs and the run."""

    def run(conf, **kwargs):
        operator = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, conf=conf, **kwargs)
        with structlog_to(io.StringIO()) as log:
            done = run_task(operator)
        assert CANARY not in log.getvalue()
        return SimpleNamespace(text=log.getvalue(), run=done)

    return run


def test_the_log_tells_references_with_a_value_from_texts_that_look_like_one(logged, password, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_PRINTS", "see ${files:/nowhere:x}")

    log = logged({"spark.app.password": password, "spark.app.again": f"x{password}"})

    told = "Resolved references, which this log shows in place of their values: "
    assert re.search(re.escape(told + password) + r"\s", log.text)
    assert "see ${files:/nowhere:x}" in log.text


def test_values_that_are_empty_or_have_a_line_end_are_told_once_without_the_value(logged, secrets_dir):
    written = {"a": "", "b": f"{CANARY}\n", "c": f"{CANARY}\r\n", "pem": f"{CANARY}\n{CANARY}\n", "plain": CANARY}
    for name, text in written.items():
        (secrets_dir / name).write_bytes(text.encode())
    a, b, c, pem, plain = (f"${{dir:{secrets_dir}:{name}}}" for name in written)

    text = logged({"spark.app.a": a, "spark.app.b": b, "spark.app.c": f"{c}{pem}{plain}", "spark.app.again": b}).text

    assert text.count("The value") == 2
    assert f"The value of {a} is empty. Correct the reference, or what is stored there." in text
    assert f"The values of {b}, {c} end with a line end, which is part of the value." in text


def test_the_log_of_a_job_without_references_says_so(logged):
    assert "in place of their values: none" in logged({"spark.app.x": "1"}).text


def test_a_reference_that_is_kept_is_told(logged):
    log = logged({"spark.app.x": "${mounted:/nowhere:x}", "spark.app.home": "${env:HOME}"}, unresolved="keep")

    assert "none. Left as they are, because unresolved is 'keep': ${mounted:/nowhere:x}" in log.text
    assert "'keep': ${env:HOME}" not in log.text


def test_a_reference_that_is_meant_for_spark_is_told_apart(logged, password, spark_submit):
    log = logged({"spark.app.password": password, "spark.app.home": "${env:HOME}", "spark.app.again": "${env:HOME}"})

    told = f"values: {password}. Left as they are, because no provider has their name: ${{env:HOME}}"
    assert re.search(re.escape(told) + r"\s", log.text)
    assert spark_submit.spark_conf["spark.app.home"] == "${env:HOME}"


def test_a_reference_that_spark_gets_because_the_connection_is_missing_is_told(logged, spark_submit):
    log = logged({"spark.app.token": "${env:APP_TOKEN}"}, config_conn_id="config_providers_defualt")

    told = "spark.app.token: ${env:APP_TOKEN} is left to Spark as it is, because there is no connection "
    assert log.run.state == "success"
    assert f"{told}'config_providers_defualt'" in log.text
    assert log.run.rendered["effective_config"][0].startswith(f"! {told}")
    assert spark_submit.spark_conf["spark.app.token"] == "${env:APP_TOKEN}"


OF_DRIVER = {"driver.config.providers": "env", "driver.config.providers.env.class": "env"}


@pytest.mark.parametrize("extra", [pytest.param({}, id="empty"), pytest.param(OF_DRIVER, id="only of the driver")])
def test_a_reference_that_spark_gets_because_the_connection_defines_no_provider_is_told(logged, monkeypatch, extra):
    monkeypatch.setenv("AIRFLOW_CONN_BARE", json.dumps({"conn_type": "config_providers", "extra": extra}))

    log = logged({"spark.app.token": "${env:APP_TOKEN}"}, config_conn_id="bare")

    told = "spark.app.token: ${env:APP_TOKEN} is left to Spark as it is, because connection 'bare' defines no provider."
    assert log.run.state == "success"
    assert f"{told} If a provider should resolve it, correct config_conn_id, or define the provider there." in log.text


def test_a_reference_that_the_driver_resolves_is_not_told(logged, monkeypatch):
    extra = {**OF_DRIVER, "driver.config.providers.env.param.allowlist.pattern": "APP_.*"}
    monkeypatch.setenv("AIRFLOW_CONN_BARE", json.dumps({"conn_type": "config_providers", "extra": extra}))

    log = logged({"spark.app.token": "${env:APP_TOKEN}"}, config_conn_id="bare", resolve_in="driver")

    assert log.run.state == "success"
    assert "is left to Spark" not in log.text


def test_a_connection_that_is_missing_is_told_with_a_reference_that_needs_it(logged):
    log = logged({"spark.app.x": "${dir:/x:y}", "spark.app.z": "${env:HOME}"}, config_conn_id="nowhere")

    assert "refers to ${dir:/x:y}, but there is no connection 'nowhere'" in str(log.run.error)


def test_a_reference_in_a_field_is_told_too(logged):
    log = logged({}, env_vars={"TOKEN": "${env:APP_TOKEN}"}, config_conn_id="nowhere")

    assert "env_vars['TOKEN']: ${env:APP_TOKEN} is left to Spark" in log.text


def test_a_reference_that_is_spark_s_is_not_told_where_providers_are_defined(logged):
    assert "is left to Spark" not in logged({"spark.app.home": "${env:HOME}"}).text


def test_a_connection_whose_json_is_broken_is_told_with_its_variable_and_the_place(logged, monkeypatch):
    broken = '{"conn_type": "config_providers",\n "password": "' + CANARY + '" "extra": {}}'
    monkeypatch.setenv("AIRFLOW_CONN_BROKEN", broken)

    log = logged({"spark.app.x": "${dir:/x:y}"}, config_conn_id="broken")

    assert log.run.state == "failed"
    assert "AIRFLOW_CONN_BROKEN" in str(log.run.error)
    assert f"at line 2, column {len(CANARY) + 17}" in str(log.run.error)
    assert CANARY not in str(log.run.error)


def test_an_extra_that_breaks_is_told_with_the_place(logged, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_BROKEN", json.dumps({"conn_type": "config_providers", "extra": '{"a": 1,}'}))

    error = logged({"spark.app.x": "${dir:/x:y}"}, config_conn_id="broken").run.error

    assert "The extra of connection 'broken' is not a JSON object: it is invalid at line 1, column" in str(error)


def test_an_unknown_provider_is_told_with_the_connection_that_defines_none(logged):
    error = logged({"spark.app.x": "${dir:/x:y}"}, config_conn_id="spark_default").run.error

    assert "add the provider to config.providers of connection 'spark_default'" in str(error)


def test_an_unknown_provider_is_told_with_the_type_of_a_connection_for_something_else(logged):
    error = logged({"spark.app.x": "${dir:/x:y}"}, config_conn_id="spark_default").run.error

    assert "Its type is 'spark' and not 'config_providers': check config_conn_id." in str(error)


def test_an_unknown_provider_is_told_without_the_type_of_a_connection_that_defines_others(logged):
    error = logged({"spark.app.x": "${nowhere:/x:y}"}).run.error

    assert str(error) == (
        "spark.app.x (conf): ${nowhere:/x:y} names the unknown provider 'nowhere'. Known providers: dir, files. "
        "Correct the name, or add the provider to config.providers of connection 'config_providers_default'."
    )


@pytest.mark.parametrize("template", ["{{ none }}", "{{ dag_run.conf.get('x') }}"])
def test_a_template_that_returns_none_is_told_with_its_key(logged, template):
    log = logged({"spark.app.x": template, "spark.app.y": "None", "spark.app.z": "{{ 1 }}"})

    assert {*re.findall(r"(\S+): its template returned None", log.text)} == {"conf['spark.app.x']"}


def test_a_path_that_is_not_allowed_is_told_with_key_and_reference(logged):
    error = logged({"spark.app.x": "${files:/etc/hosts:localhost}"}).run.error

    assert str(error).startswith("spark.app.x (conf): ${files:/etc/hosts:localhost} is not resolved. ")


def test_a_reference_in_the_configuration_of_a_run_is_refused_without_the_advice_to_write_the_secret_there(
    dag, run_task, monkeypatch
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "true")
    operator = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag)

    error = str(run_task(operator, conf={"spark_conf": {"spark.app.password": "${vault:apps/db:password}"}}).error)

    assert "spark.app.password in dag_run.conf['spark_conf'] holds a reference" in error
    assert "write the value out" not in error
    assert "Do not pass the secret itself" in error


@pytest.mark.parametrize("folder", ["..", ""], ids=["brought", "over nothing"])
def test_a_step_up_that_data_brought_is_told_with_the_parameter_and_without_what_it_was(dag, run_task, folder):
    path = "${files:/etc/{{ params.folder }}/x:k}" if folder else "${files:/etc/{{ params.folder }}/../x:k}"
    operator = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, params={"folder": "x"}, conf={"spark.app.x": path}
    )

    error = str(run_task(operator, conf={"folder": f"canary/{folder}" if folder else ""}).error)

    assert error.startswith(
        "conf['spark.app.x']: a step '..' or a '?' in the path of a reference came from the result of a template"
    )
    assert "(params.folder)" in error
    assert "canary" not in error


def test_a_reference_that_data_brought_is_told_with_the_parameter(dag, run_task):
    operator = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, params={"x": "y"}, conf={"spark.app.x": "{{ params['x'] }}"}
    )

    error = str(run_task(operator, conf={"x": "${files:/canary:k}"}).error)

    assert error.startswith("conf['spark.app.x']: a reference came from the result of a template (params.x).")
    assert "canary" not in error


@pytest.mark.parametrize("default", [{}, {"default": "y"}], ids=["without a default", "with a default"])
def test_a_reference_that_a_parameter_of_the_dag_brought_is_told_with_the_parameter(dag, run_task, default):
    dag.params["token"] = "y"
    operator = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, conf={"spark.app.x": dag.param("token", **default)}
    )

    error = str(run_task(operator, conf={"token": "${files:/canary:k}"}).error)

    assert error.startswith("conf['spark.app.x']: a reference came from the parameter 'token' of the DAG, through")
    assert "canary" not in error


def test_a_reference_in_the_default_of_a_parameter_of_the_dag_is_told_with_the_parameter(dag, run_task, password):
    param = dag.param("token", default=password)
    operator = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, conf={"spark.app.x": param})

    error = str(run_task(operator).error)

    assert error.startswith("conf['spark.app.x']: a reference came from the parameter 'token' of the DAG, through")
    assert "and so does its default" in error


def test_a_reference_in_a_list_from_a_parameter_of_the_dag_is_told_with_the_parameter(dag, run_task, password):
    args = ["a", dag.param("rest", default=[])]
    operator = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, application_args=args)

    error = str(run_task(operator, conf={"rest": ["b", password]}).error)

    assert error.startswith("application_args[1][1]: a reference came from the parameter 'rest' of the DAG, through")


def test_a_parameter_of_the_dag_in_a_mapped_task_is_told(dag, run_task, password):
    operator = ConfiguredSparkSubmitOperator.partial(
        task_id="job", application="job.py", dag=dag, conf={"spark.app.x": dag.param("token", default="y")}
    ).expand(name=["a", "b"])

    error = str(run_task(operator, map_index=0, conf={"token": password}).error)

    assert error.startswith("conf['spark.app.x']: a reference came from the parameter 'token' of the DAG, through")


def test_a_reference_in_a_list_that_a_native_template_returned_is_told_with_its_template(dag, run_task, password):
    dag.render_template_as_native_obj = True
    operator = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, params={"l": []}, application_args=["a", "{{ params.l }}"]
    )

    error = str(run_task(operator, conf={"l": ["b", password]}).error)

    assert error.startswith("application_args[1][1]: a reference came from the result of a template (params.l).")


def test_a_reference_in_a_key_from_a_native_list_is_told_with_its_template(dag, run_task, password):
    dag.render_template_as_native_obj = True
    operator = ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, params={"l": []}, conf={"spark.app.l": "{{ params.l }}"}
    )

    error = str(run_task(operator, conf={"l": ["b", password]}).error)

    assert error.startswith("conf['spark.app.l'][1]: a reference came from the result of a template (params.l).")


def test_a_file_outside_of_config_paths_is_told_with_its_argument(logged, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_PATHS", str(tmp_path / "conf"))

    error = logged({}, config_files=["/etc/hosts"]).run.error

    assert "The file '/etc/hosts' is not inside" in str(error)
    assert "The file is config_files[0] of the task." in str(error)


def test_all_layer_files_that_cannot_be_read_are_told_together(logged, tmp_path):
    (tmp_path / "good.properties").write_text("spark.app.x=1")
    (tmp_path / "twice.properties").write_text("spark.app.x=1\nspark.app.x=2")
    files = [str(tmp_path / name) for name in ("absent.properties", "good.properties", "twice.properties")]

    error = str(logged({}, config_files=files).run.error)

    assert "2 problems" in error
    assert "The file is config_files[0] of the task." in error
    assert "The file is config_files[2] of the task." in error


def test_one_path_of_a_file_is_a_list_of_one(logged, tmp_path, spark_submit):
    (tmp_path / "base.properties").write_text("spark.app.base=yes\n")

    assert logged({}, config_files=str(tmp_path / "base.properties")).run.state == "success"
    assert spark_submit.spark_conf["spark.app.base"] == "yes"
