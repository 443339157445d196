"""A SparkApplication from its creation to its end, against a server that speaks Kubernetes' API."""

from __future__ import annotations

import threading

import pytest
from airflow.sdk import DAG
from airflow.sdk._shared.secrets_masker import reset_secrets_masker

from airflow_config_providers.operators.configure import configured
from tests.limits import LONGEST, eventually
from tests.operators.conftest import CANARY
from tests.servers.kubernetes import SparkApplications
from tests.servers.web import Response

pytest.importorskip("airflow.providers.cncf.kubernetes")

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def run_on(dag, no_leak, serve_kubernetes, password):
    """
    Run a ``SparkKubernetesOperator`` of ours, with references in two places, on a server of Kubernetes.

    ``airflow`` is for ``run_task``.
    """
    from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator

    spec = {"sparkConf": {"spark.app.password": password}, "arguments": ["--password", password]}
    application = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": spec}

    def run(server, *, airflow=None, metadata=None, **kwargs):
        serve_kubernetes(server)
        own = DAG("flights", schedule=None) if dag.task_ids else dag
        job = configured(SparkKubernetesOperator)(
            task_id="job",
            dag=own,
            name="job",
            random_name_suffix=False,
            template_spec=application | {"metadata": metadata},
            **kwargs,
        )
        return no_leak(job, **(airflow or {}))

    return run


def said(application):
    return f"the job got {application['spec']['arguments'][1]}"


def test_attack_30_the_application_gets_the_value_and_is_run_and_deleted(run_on, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.all=yes\n")
    server = SparkApplications(said)
    run = run_on(server, config_files=[str(tmp_path / "all.properties")])

    (created,) = server.created
    assert run.state == "success", run.error
    assert created["kind"] == "SparkApplication"
    assert created["spec"]["sparkConf"] == {"spark.app.password": CANARY, "spark.app.all": "yes"}
    assert created["spec"]["arguments"] == ["--password", CANARY]
    assert server.deleted == ["job"]


def test_attack_19_what_the_driver_prints_is_shown_with_references(run_on, password):
    run = run_on(SparkApplications(said))

    assert f"the job got {password}" in run.shown


def test_attack_19_an_application_that_failed_is_shown_with_references(run_on, password):
    server = SparkApplications(said, error=said)
    run = run_on(server)

    assert run.state == "failed"
    assert f"the job got {password}" in str(run.error)


def test_attack_30_what_the_operator_keeps_shows_references(run_on):
    run = run_on(SparkApplications(said))

    assert CANARY not in repr(
        {name: vars(value) for name, value in vars(run.task).items() if hasattr(value, "__dict__")}
    )


def test_a_later_try_that_follows_a_driver_shows_no_value_of_the_earlier_try(run_on, secrets_dir, monkeypatch):
    pytest.importorskip("airflow.sdk.bases.resumablejobmixin", reason="a task's state came with Airflow 3.3")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", "correct horse battery staple")
    state = {}
    server = SparkApplications(said)
    run_on(server, airflow={"state": state}).task._try_state.run.close()  # as the end of the process
    reset_secrets_masker()
    (secrets_dir / "db-password").write_text("an0ther-s3cret")
    run = run_on(server, airflow={"state": state, "try_number": 2})

    assert len(server.created) == 1, "the second try followed the driver of the first"
    assert "the job got ${dir:" in run.shown
    assert CANARY not in run.shown + str(state)


def test_a_driver_that_is_followed_is_kept_by_its_name_only(run_on):
    server = SparkApplications(said)
    run_on(server)
    run = run_on(server, airflow={"try_number": 2})

    assert run.task.pod.spec is None


def test_a_namespace_that_does_not_count_is_named(run_on):
    run = run_on(SparkApplications(said), metadata={"namespace": "reports"})

    assert "created in namespace 'default'" in run.rendered["effective_config"][0]


class LongRunning(SparkApplications):
    """Applications that run until a test ends them; the driver of a deleted one is listed until it was looked for."""

    def __init__(self):
        super().__init__()
        self.has_ended = False
        self.looks = 0
        self.gone = set()
        self.present = []

    def _application(self, request):
        if request.method == "POST":
            self.present.append(list(self._running))
            self.gone.clear()
        answer = super()._application(request)
        self.gone.update(self.deleted if request.method == "DELETE" else ())
        return answer

    def _pod(self, request):
        name = request.path.rpartition("/pods")[2].strip("/").partition("/")[0].removesuffix("-driver")
        if name in self.gone:
            return Response(404, b"{}", {"Content-Type": "application/json"})
        if "metadata.name" in request.query and self.gone:
            self.looks += 1
            if self.looks == 3:
                self._running.clear()
        return super()._pod(request)

    def _driver(self, application):
        driver = super()._driver(application)
        if self.has_ended:
            return driver
        (status,) = driver["status"]["containerStatuses"]
        running = {
            **status,
            "ready": True,
            "state": {"running": {"startedAt": driver["metadata"]["creationTimestamp"]}},
        }
        return {**driver, "status": {"phase": "Running", "containerStatuses": [running]}}


def test_an_application_is_replaced_when_its_secret_changes(run_on, secrets_dir, monkeypatch):
    """The next one is created when the driver of the first is gone, which it would follow otherwise."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    server = LongRunning()

    def rotate():
        assert eventually(lambda: server.created or server.has_ended)
        (secrets_dir / "db-password").write_text(f"{CANARY}-2")
        assert eventually(lambda: len(server.created) == 2 or server.has_ended)
        server.has_ended = True

    steps = threading.Thread(target=rotate)
    steps.start()
    run = run_on(server, streaming=True)
    server.has_ended = True
    steps.join(LONGEST)

    assert run.state == "success", run.error
    assert [made["spec"]["sparkConf"]["spark.app.password"] for made in server.created] == [CANARY, f"{CANARY}-2"]
    assert server.present == [[], []]


def test_attack_30_the_triggerer_which_knows_no_values_fetches_no_log_of_the_driver(run_on):
    run = run_on(SparkApplications(said), deferrable=True, logging_interval=5, airflow={"finalize": False})

    assert run.message.trigger_kwargs["logging_interval"] is None
    assert "logging_interval has no effect" in run.shown
