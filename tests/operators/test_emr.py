"""The operators of EMR against moto, which shows again what it was sent."""

from __future__ import annotations

import json

import pytest

from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY

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
