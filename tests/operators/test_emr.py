"""The operators of EMR against moto, which shows again what it was sent."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY
from tests.operators.triggering import first_event, resumption, stored_trigger

pytest.importorskip("airflow.providers.amazon")
pytest.importorskip("moto", reason="install the extra moto")

pytestmark = pytest.mark.usefixtures("connections")

ROLE = "arn:aws:iam::123456789012:role/job"


@pytest.fixture
def aws(monkeypatch):
    """AWS, which the connection points to."""
    from tests.servers.aws import serve_aws

    with serve_aws() as aws:
        extra = {"endpoint_url": aws.address, "region_name": "eu-west-1"}
        given = {"conn_type": "aws", "login": "test", "password": "the-secret-key", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(given))
        yield aws


@pytest.fixture
def emr(aws):
    """The client of EMR, and a cluster."""
    emr = aws.client("emr")
    instances = {"KeepJobFlowAliveWhenNoSteps": True, "InstanceCount": 1, "MasterInstanceType": "m5.xlarge"}
    cluster = emr.run_job_flow(Name="c", ReleaseLabel="emr-7.1.0", Instances=instances, LogUri="s3://logs/")
    return emr, cluster["JobFlowId"]


@pytest.fixture
def step(dag, emr):
    """An ``EmrAddStepsOperator`` of ours."""
    from airflow.providers.amazon.aws.operators.emr import EmrAddStepsOperator

    def make(steps, **kwargs):
        return configured(EmrAddStepsOperator)(task_id="job", dag=dag, job_flow_id=emr[1], steps=steps, **kwargs)

    return make


def steps_of(emr):
    client, cluster = emr
    return client.list_steps(ClusterId=cluster)["Steps"]


def test_attack_30_a_step_gets_the_value_and_nobody_else(step, emr, no_leak, password):
    words = ["spark-submit", "--conf", f"spark.app.password={password}", "s3://bucket/job.py"]
    steps = [{"Name": "job", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": words}}]
    run = no_leak(step(steps))

    (stored,) = steps_of(emr)
    assert run.state == "success"
    assert run.rendered["steps"] == steps
    assert stored["Config"]["Args"] == [word.replace(password, CANARY) for word in words]


NO_LAYER = "EmrAddStepsOperator has no field for Spark configuration, so no layer reaches its job"


@pytest.mark.parametrize(("text", "has_note"), [("spark.app.all=yes\n", True), ("", False)])
def test_keys_that_do_not_reach_a_step_are_shown_with_a_note(step, no_leak, tmp_path, text, has_note):
    (tmp_path / "all.properties").write_text(text)
    run = no_leak(step([], config_files=[str(tmp_path / "all.properties")]))

    assert any(NO_LAYER in line for line in run.rendered["effective_config"]) is has_note


def test_a_preview_shows_that_keys_do_not_reach_a_step(step, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")  # there is no database here
    (tmp_path / "all.properties").write_text("spark.app.all=yes\n")
    task = step([], config_files=[str(tmp_path / "all.properties")])
    task.render_template_fields({"ti": object(), "run_id": "r"})

    assert [line for line in task.effective_config if NO_LAYER in line]


def test_attack_12_steps_in_one_text_hold_no_reference(step, emr, no_leak, password):
    run = no_leak(step(f"[{{'Name': 'job', 'HadoopJarStep': {{'Args': ['{password}']}}}}]"))

    assert run.state == "failed"
    assert steps_of(emr) == []


def test_attack_30_the_trigger_of_a_step_gets_no_value(step, emr, no_leak, password):
    steps = [{"Name": "job", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": [password]}}]
    run = no_leak(step(steps, deferrable=True), finalize=False)

    (stored,) = steps_of(emr)
    assert run.message.trigger_kwargs["step_ids"] == [stored["Id"]]


@pytest.fixture
def serverless(aws):
    """The client of EMR Serverless, and an application that has started."""
    serverless = aws.client("emr-serverless")
    application = serverless.create_application(name="a", releaseLabel="emr-7.1.0", type="SPARK", clientToken="t")
    serverless.start_application(applicationId=application["applicationId"])
    return serverless, application["applicationId"]


@pytest.fixture
def job_run(dag, serverless, password):
    """An ``EmrServerlessStartJobOperator`` of ours, with a reference in the configuration and in an argument."""
    from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator

    configuration = [
        {"classification": "spark-log4j2", "properties": {"rootLogger.level": "warn"}},
        {"classification": "spark-defaults", "properties": {"spark.app.password": password}},
    ]
    given = {
        "task_id": "job",
        "dag": dag,
        "application_id": serverless[1],
        "execution_role_arn": ROLE,
        "job_driver": {"sparkSubmit": {"entryPoint": "s3://bucket/job.py", "entryPointArguments": [password]}},
        "configuration_overrides": {"applicationConfiguration": configuration},
    }

    def make(**kwargs):
        return configured(EmrServerlessStartJobOperator)(**given, **kwargs)

    return make


def stored_run(serverless):
    client, application = serverless
    (run,) = client.list_job_runs(applicationId=application)["jobRuns"]
    return client.get_job_run(applicationId=application, jobRunId=run["id"])["jobRun"]


def test_attack_30_a_serverless_run_gets_the_value_and_nobody_else(job_run, serverless, no_leak, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.all=yes\n")
    run = no_leak(job_run(wait_for_completion=False, config_files=[str(tmp_path / "all.properties")]))

    stored = stored_run(serverless)
    logging, spark = stored["configurationOverrides"]["applicationConfiguration"]
    assert run.state == "success"
    assert logging["properties"] == {"rootLogger.level": "warn"}
    assert spark["properties"] == {"spark.app.password": CANARY, "spark.app.all": "yes"}
    assert stored["jobDriver"]["sparkSubmit"]["entryPointArguments"] == [CANARY]


def test_attack_30_the_trigger_of_a_serverless_run_gets_no_value(job_run, serverless, no_leak):
    run = no_leak(job_run(deferrable=True), finalize=False)

    assert run.message.trigger_kwargs["job_id"] == stored_run(serverless)["jobRunId"]


def without_aiobotocore(kind):
    """Return a hook of ``kind`` for a trigger: it asks in a thread, because not everyone has aiobotocore."""

    class ThreadedHook(kind):
        async def get_async_conn(self):
            return client(self.conn)

        def get_waiter(self, name, deferrable=False, **kwargs):
            waiter = super().get_waiter(name, **kwargs)

            async def wait(**given):
                await asyncio.to_thread(waiter.wait, **given)

            return SimpleNamespace(wait=wait)

    @asynccontextmanager
    async def client(conn):
        yield conn

    return ThreadedHook


def resumed(deferred, caplog):
    """Run the trigger of a deferred task, and return what the task is resumed with, and what the triggerer logs."""
    trigger = stored_trigger(deferred.message)
    trigger.aws_hook_class = without_aiobotocore(trigger.aws_hook_class)
    caplog.clear()
    event = first_event(trigger)
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    return resumption(deferred.message, event.payload), repr([event, *logged])


def steps_now(state, said):
    """Change the steps that moto stores, which has no details of failures."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.emr.models import Step, emr_backends

    class FailedStep(Step):
        @property
        def status(self):
            details = {"Reason": "Application Exception", "Message": said, "LogFile": "s3://logs/stderr.gz"}
            return {**super().status, "FailureDetails": details}

    backends = emr_backends[DEFAULT_ACCOUNT_ID].values()
    clusters = [cluster for backend in backends for cluster in backend.clusters.values()]
    for step in [step for cluster in clusters for step in cluster.steps]:
        step.state = state
        step.__class__ = FailedStep


def runs_now(state, said):
    """Change the runs that moto stores."""
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.emrserverless.models import emrserverless_backends

    for runs in emrserverless_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].job_runs.values():
        for run in runs:
            run.state, run.state_details = state, said


@pytest.fixture
def deferred_steps(step, password):
    """A deferred task that adds a step with a reference."""
    steps = [{"Name": "job", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": [password]}}]
    return step(steps, deferrable=True, waiter_delay=0, waiter_max_attempts=1)


@pytest.fixture
def deferred_run(job_run):
    """A deferred task that starts a run of EMR Serverless with references."""
    return job_run(deferrable=True, waiter_delay=0, waiter_max_attempts=1)


SAID = f"java.sql.SQLException: cannot sign in with {CANARY}"


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "RUNNING"])
def test_attack_30_what_the_triggerer_logs_and_stores_of_a_step_has_no_value(
    deferred_steps, no_leak, password, caplog, state
):
    deferred = no_leak(deferred_steps, finalize=False)
    steps_now(state, SAID)
    resumed_with, logged = resumed(deferred, caplog)
    run = no_leak(deferred_steps, resumed_with=resumed_with)

    assert CANARY not in logged + json.dumps(resumed_with)
    assert run.state == ("success" if state == "COMPLETED" else "failed")
    assert (f"cannot sign in with {password}" in str(run.error)) is (state == "FAILED")


@pytest.mark.parametrize("state", ["SUCCESS", "FAILED", "RUNNING"])
def test_attack_30_what_the_triggerer_logs_and_stores_of_a_serverless_run_has_no_value(
    deferred_run, no_leak, password, caplog, state
):
    deferred = no_leak(deferred_run, finalize=False)
    runs_now(state, SAID)
    resumed_with, logged = resumed(deferred, caplog)
    run = no_leak(deferred_run, resumed_with=resumed_with)

    assert CANARY not in logged + json.dumps(resumed_with)
    assert run.state == ("success" if state == "SUCCESS" else "failed")
    assert (f"cannot sign in with {password}" in str(run.error)) is (state == "FAILED")


def test_a_serverless_run_that_takes_too_long_is_cancelled(deferred_run, serverless, no_leak, caplog):
    deferred = no_leak(deferred_run, finalize=False)
    runs_now("RUNNING", "")
    resumed_with, _ = resumed(deferred, caplog)
    run = no_leak(deferred_run, resumed_with=resumed_with)

    assert stored_run(serverless)["state"] == "CANCELLED"
    assert str(run.error) == "EMR Serverless job failed or timed out in deferrable mode"


def test_a_step_whose_task_was_deferred_by_an_earlier_version_goes_on(deferred_steps, no_leak, password):
    event = {"status": "error", "message": SAID, "value": ["s-1"]}
    run = no_leak(deferred_steps, resumed_with=("execute_complete", {"event": event}))

    assert f"cannot sign in with {password}" in str(run.error)


def test_a_failure_of_which_emr_says_nothing_more_is_still_one(deferred_steps, no_leak):
    event = {"status": "error", "message": "m", "value": ["s-1"], "question": {"ClusterId": "j-none"}}
    run = no_leak(deferred_steps, resumed_with=("execute_complete", {"event": event}))

    assert str(run.error) == "Error while running steps: {'status': 'error', 'message': 'm', 'value': ['s-1']}"
