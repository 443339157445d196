"""The operators of Dataproc, with Google's own client, against a server that keeps what it is sent."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY
from tests.operators.triggering import first_event, resumption, stored_trigger
from tests.servers.certificates import self_signed
from tests.servers.dataproc import HOST, RefusedCallError, serve_dataproc

dataproc = pytest.importorskip("airflow.providers.google.cloud.operators.dataproc")

pytestmark = pytest.mark.usefixtures("connections")

BATCH = "projects/p/locations/r/batches/b-1"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """One for all tests: gRPC reads what it trusts once."""
    return self_signed(tmp_path_factory.mktemp("certificate"), HOST)


@pytest.fixture
def service(certificate, monkeypatch):
    """Start Dataproc: ``service({call: (class of the request, answer)})`` gives the requests that come."""
    extra = {"is_anonymous": True, "project": "p"}
    connection = {"conn_type": "google_cloud_platform", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT", json.dumps(connection))
    with ExitStack() as stack:

        def start(answers):
            requests, environ = stack.enter_context(serve_dataproc(answers, certificate))
            for name, value in environ.items():
                monkeypatch.setenv(name, value)
            return requests

        yield start


@pytest.fixture
def job(dag, password):
    """A ``DataprocSubmitJobOperator`` of ours whose job has a reference in two places."""
    work = {
        "main_python_file_uri": "gs://bucket/job.py",
        "args": ["--password", password],
        "properties": {"spark.app.password": password},
    }

    def make(**kwargs):
        given = {"job": {"placement": {"cluster_name": "c"}, "pyspark_job": work}, "region": "r", "project_id": "p"}
        return configured(dataproc.DataprocSubmitJobOperator)(task_id="job", dag=dag, **given, **kwargs)

    return make


def answering(state="PENDING", refuse=False):
    """Take every job, and show it again in ``state``; or refuse and quote it."""
    from google.cloud.dataproc_v1 import GetJobRequest, Job, SubmitJobRequest

    taken = []

    def submit(request):
        if refuse:
            raise RefusedCallError(f"cannot {Job.to_json(request.job)}")
        taken.append(Job(request.job, reference={"project_id": "p", "job_id": "j-1"}))
        return taken[0]

    def get(request):
        is_changing = isinstance(state, list)
        now = (state.pop(0) if len(state) > 1 else state[0]) if is_changing else state
        return Job(taken[0], status={"state": now})

    return {"JobController/SubmitJob": (SubmitJobRequest, submit), "JobController/GetJob": (GetJobRequest, get)}


def test_attack_30_a_job_of_dataproc_gets_the_value_and_nobody_else(job, service, no_leak, password, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.all=yes\n")
    requests = service(answering())
    run = no_leak(job(asynchronous=True, config_files=[str(tmp_path / "all.properties")]))

    (request,) = requests
    sent = request.job.pyspark_job
    assert run.state == "success"
    assert dict(sent.properties) == {"spark.app.password": CANARY, "spark.app.all": "yes"}
    assert list(sent.args) == ["--password", CANARY]
    assert run.rendered["job"]["pyspark_job"]["args"] == ["--password", password]
    assert f"spark.app.password = {password}" in str(run.rendered["effective_config"])


def test_attack_19_a_refusal_of_dataproc_that_quotes_the_job_shows_the_reference(job, service, no_leak, password):
    service(answering(refuse=True))
    run = no_leak(job(asynchronous=True))

    assert run.state == "failed"
    assert password in str(run.error)


@pytest.mark.parametrize("value", [CANARY, f"'a' \"b\" {CANARY} \\ é"], ids=["plain", "escaped"])
def test_attack_19_a_job_of_dataproc_that_failed_is_shown_with_references(
    job, service, no_leak, secrets_dir, password, value
):
    (secrets_dir / "db-password").write_text(value)
    service(answering("ERROR"))
    run = no_leak(job(deferrable=True))

    assert run.state == "failed"
    assert password in str(run.error)


def test_attack_30_dataprocs_trigger_gets_no_value(job, service, no_leak):
    service(answering())
    run = no_leak(job(deferrable=True), finalize=False)

    assert run.message.trigger_kwargs["job_id"] == "j-1"


def resumed(deferred):
    """Run the trigger of a deferred task, and return what the task is resumed with, and what the triggerer logs."""
    event = first_event(stored_trigger(deferred.message))
    return resumption(deferred.message, event.payload), repr(event)


@pytest.mark.parametrize("state", ["DONE", "ERROR", "CANCELLED"])
def test_attack_30_what_the_triggerer_logs_and_stores_of_a_job_has_no_value(job, service, no_leak, password, state):
    service(answering(["PENDING", state]))
    task = job(deferrable=True)
    resumed_with, logged = resumed(no_leak(task, finalize=False))
    run = no_leak(task, resumed_with=resumed_with)

    assert CANARY not in logged + json.dumps(resumed_with)
    assert run.state == ("success" if state == "DONE" else "failed")
    assert (password in str(run.error)) is (state != "DONE")


@pytest.fixture
def batch(dag, password, service):
    """Return a function that makes a ``DataprocCreateBatchOperator`` of ours, and what its service gets."""
    from google.cloud.dataproc_v1 import Batch, BatchOperationMetadata, CreateBatchRequest, GetBatchRequest
    from google.longrunning.operations_pb2 import Operation
    from google.protobuf.any_pb2 import Any

    def create(request):
        metadata = Any()
        metadata.Pack(BatchOperationMetadata.pb(BatchOperationMetadata(batch=BATCH)))
        return Operation(name="o-1", metadata=metadata)

    def make(state, **kwargs):
        def get(request):
            return Batch(requests[0].batch, name=BATCH, state=state, state_message=f"the job said {CANARY}")

        requests = service(
            {
                "BatchController/CreateBatch": (CreateBatchRequest, create),
                "BatchController/GetBatch": (GetBatchRequest, get),
            }
        )
        work = {
            "pyspark_batch": {"main_python_file_uri": "gs://bucket/job.py", "args": [password]},
            "runtime_config": {"properties": {"spark.app.password": password}},
        }
        given = {"batch": work, "batch_id": "b-1", "region": "r", "project_id": "p", **kwargs}
        return configured(dataproc.DataprocCreateBatchOperator)(task_id="job", dag=dag, **given), requests

    return make


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED"])
def test_attack_30_a_batch_of_dataproc_gets_the_value_and_nobody_else(batch, no_leak, password, state):
    task, requests = batch(state)
    run = no_leak(task)

    sent = requests[0].batch
    assert run.state == ("success" if state == "SUCCEEDED" else "failed")
    assert dict(sent.runtime_config.properties) == {"spark.app.password": CANARY}
    assert list(sent.pyspark_batch.args) == [CANARY]
    assert f"the job said {password}" in (str(run.error) if state == "FAILED" else str(run.supervisor.messages))


@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED"])
def test_attack_30_what_the_triggerer_logs_and_stores_of_a_batch_has_no_value(batch, no_leak, password, state):
    task, _ = batch(state, deferrable=True)
    resumed_with, logged = resumed(no_leak(task, finalize=False))
    run = no_leak(task, resumed_with=resumed_with)

    assert CANARY not in logged + json.dumps(resumed_with)
    assert run.state == ("success" if state == "SUCCEEDED" else "failed")
    assert (f"the job said {password}" in str(run.error)) is (state == "FAILED")


def test_a_task_that_was_deferred_by_an_earlier_version_goes_on(job, service, no_leak, password):
    service(answering("ERROR"))
    event = {"job_id": "j-1", "job_state": "ERROR", "job": {"args": [CANARY]}}
    run = no_leak(job(deferrable=True), resumed_with=("execute_complete", {"event": event}))

    assert str(run.error) == f"Job j-1 failed:\n{{'args': ['{password}']}}"


def test_a_failure_of_which_dataproc_says_nothing_more_is_still_one(job, service, no_leak):
    service({})
    event = {"job_id": "j-1", "job_state": "ERROR", "job": None}
    run = no_leak(job(deferrable=True), resumed_with=("execute_complete", {"event": event}))

    assert str(run.error) == "Job j-1 failed:\nNone"
