"""The record that a try leaves. Run by Airflow's real task runner."""

from __future__ import annotations

import base64
import json
import sys
import zlib

import pytest

pytest.importorskip("airflow.sdk.bases.resumablejobmixin", reason="a task's state came with Airflow 3.3")
from airflow.sdk import DAG

from airflow_config_providers.job.records.entries import record_key, unpacked
from airflow_config_providers.job.records.files import RecordFiles
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.conftest import CANARY
from tests.operators.standalone_master import JOB

SECRET = "a secret of thirty-two bytes ...."
LENT = "${lender:creds:password}"


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", SECRET)


def operator(conf, **kwargs):
    with DAG("flights", schedule=None):
        return ConfiguredSparkSubmitOperator(
            task_id="job", application="job.jar", conf=conf, status_poll_interval=0, **kwargs
        )


def record(state, number=1):
    return unpacked(state, TaskTry("flights", "job", "run-1", -1, number))


def document(state, number=1):
    return zlib.decompress(base64.b64decode(state[record_key(number)]["data"])).decode()


def test_a_try_leaves_a_record_of_its_configuration(run_task, connections, spark_submit, state, password):
    run_task(operator({"spark.app.x": "1", "spark.app.password": password}), state=state)
    found = record(state)

    assert found.configs["spark.app.x"][0].value == "1"
    assert found.configs["spark.app.x"][0].origin == "conf"
    assert found.configs["spark.app.password"][0].value == password
    assert len(found.references[password]) == 32
    assert found.versions["airflow-config-providers"]


def test_each_try_has_its_own_record(run_task, connections, spark_submit, state):
    run_task(operator({"spark.app.x": "1"}), state=state)
    run_task(operator({"spark.app.x": "2"}), state=state, try_number=2)

    assert [record(state, number).configs["spark.app.x"][0].value for number in (1, 2)] == ["1", "2"]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda text: text, id="plain"),
        pytest.param(lambda text: text.encode().hex(), id="hex"),
        pytest.param(lambda text: base64.b64encode(text.encode()).decode(), id="base64"),
        pytest.param(lambda text: json.dumps(text)[1:-1], id="json"),
        pytest.param(lambda text: text[::-1], id="reversed"),
    ],
)
def test_no_form_of_a_value_is_in_a_record(
    run_task, connections, spark_submit, state, password, tmp_path, monkeypatch, form
):
    """A literal that equals a value, or contains it in another form, is shown with the reference."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH", f"file://{tmp_path}/records")
    literals = {"spark.app.plain": CANARY, "spark.app.b64": f"x {base64.b64encode(CANARY.encode()).decode()}"}
    run_task(operator({"spark.app.password": password, **literals}), state=state)
    (file,) = (tmp_path / "records").rglob("*.jsonl")

    assert form(CANARY) not in document(state)
    assert form(CANARY) not in json.dumps(state)
    assert form(CANARY) not in file.read_text()


def test_a_password_of_airflow_that_a_template_fills_in_is_starred(
    run_task, connections, spark_submit, state, monkeypatch
):
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "jdbc", "password": "f1lled-in"}))
    run_task(operator({"spark.app.dsn": "jdbc:x?p={{ conn.other.password }}"}), state=state)

    assert "f1lled-in" not in document(state)
    assert record(state).configs["spark.app.dsn"][0].value == "jdbc:x?p=***"


def test_a_try_that_a_policy_denies_leaves_its_reasons(
    run_task, connections, spark_submit, state, tmp_path, monkeypatch
):
    policies = tmp_path / "policies.yaml"
    policies.write_text(
        "policies:\n- name: memory\n  class: bounds\n  keys: {spark.executor.memory: {max: 1g}}\n", encoding="utf-8"
    )
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(policies))
    run = run_task(operator({"spark.executor.memory": "8g"}), state=state)
    found = record(state)

    assert run.state == "failed"
    assert found.configs["spark.executor.memory"][0].value == "8g"
    assert any("Policy" in problem for problem in found.problems)


def test_a_try_that_a_policy_only_warns_of_says_so_and_not_that_it_allowed_it(
    run_task, connections, spark_submit, state, tmp_path, monkeypatch
):
    policies = tmp_path / "policies.yaml"
    bound = "class: bounds, params: {spark.executor.memory: {max: %s}}"
    policies.write_text(
        f"policies:\n- {{name: soft, enforcement: warn, {bound % '1g'}}}\n- {{name: hard, {bound % '9g'}}}\n"
    )
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(policies))
    run_task(operator({"spark.executor.memory": "8g"}), state=state)
    found = record(state)

    assert found.policies == ("hard",)
    assert [note.partition(",")[0] for note in found.notes] == ["Policy 'soft' only warns"]


def test_a_missing_secret_is_a_problem_of_the_record(run_task, connections, spark_submit, state, secrets_dir):
    missing = f"${{dir:{secrets_dir}:nowhere}}"
    run_task(operator({"spark.app.password": missing}), state=state)

    assert missing in record(state).problems[0]
    assert record(state).references == {missing: None}


def test_records_can_be_turned_off(run_task, connections, spark_submit, state, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_ENABLED", "False")
    run_task(operator({"spark.app.x": "1"}), state=state)

    assert state == {}


def test_with_a_path_the_record_is_also_a_file(run_task, connections, spark_submit, state, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH", f"file://{tmp_path}/records")
    run_task(operator({"spark.app.x": "1"}), state=state)

    assert RecordFiles(f"file://{tmp_path}/records").read(record(state).task) == record(state)


def test_a_path_that_cannot_be_written_is_one_warning(run_task, connections, spark_submit, state, monkeypatch, capfd):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH", "file:///proc/nowhere")
    run = run_task(operator({"spark.app.x": "1"}), state=state)

    assert run.state == "success"
    assert record(state).configs["spark.app.x"][0].value == "1"
    assert "".join(capfd.readouterr()).count("The record of this try could not be kept") == 1


def test_a_package_that_the_path_needs_is_named_in_the_warning(
    run_task, connections, spark_submit, state, monkeypatch, capfd
):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH", "s3://bucket/records")
    run = run_task(operator({"spark.app.x": "1"}), state=state)

    assert run.state == "success"
    assert "could not be kept: Install the package s3fs on workers" in "".join(capfd.readouterr())


def test_before_airflow_3_3_the_record_is_an_xcom(run_task, connections, spark_submit, password, monkeypatch):
    monkeypatch.setattr("airflow_config_providers.operators.record_keeper.RecordKeeper.of", without_store)
    run = run_task(operator({"spark.app.password": password}))
    pushed = {message.key: message.value for message in run.supervisor.messages if type(message).__name__ == "SetXCom"}

    assert record(pushed).configs["spark.app.password"][0].value == password


def without_store(context, log, of=None):
    """A keeper as with Airflow 3.2, which has no task state."""
    from airflow_config_providers.operators.record_keeper import RecordKeeper

    return RecordKeeper(None, context["ti"].xcom_push, log)


def test_the_record_has_the_id_of_the_job(run_task, master, spark_submit, state):
    run_task(operator({"spark.app.x": "1"}), state=state)

    assert record(state).job == JOB


def test_after_its_end_a_task_adds_no_job_to_its_record(run_task, connections, spark_submit, state):
    run = run_task(operator({"spark.app.x": "1"}), state=state)
    run.ti.task._try_state.keep_job("another")

    assert record(state).job is None


def test_a_try_that_follows_a_job_records_what_was_submitted(run_task, master, spark_submit, state):
    run_task(operator({"spark.app.x": "1"}), state=state)
    run_task(operator({"spark.app.x": "changed"}), state=state, try_number=2)
    found = record(state, 2)

    assert found.follows == 1
    assert found.job == JOB
    assert found.configs["spark.app.x"][0].value == "1"
    assert record(state, 1).configs["spark.app.x"][0].origin == "conf"
