"""A SparkApplication from its creation to its end, against a server that speaks Kubernetes' API."""

from __future__ import annotations

import json

import pytest

from airflow_config_providers.operators.configure import configured
from tests.operators.conftest import CANARY
from tests.servers.kubernetes import SparkApplications
from tests.servers.web import WebServer

pytest.importorskip("airflow.providers.cncf.kubernetes")

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def run_on(dag, no_leak, monkeypatch, password):
    """Run a ``SparkKubernetesOperator`` of ours, with references in two places, on a server of Kubernetes."""
    from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator

    spec = {"sparkConf": {"spark.app.password": password}, "arguments": ["--password", password]}
    application = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": spec}

    def run(server, **kwargs):
        with WebServer(server) as web:
            config = {
                "clusters": [{"name": "c", "cluster": {"server": web.address}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
                "users": [{"name": "u", "user": {}}],
            }
            fields = {"conn_type": "kubernetes", "extra": {"kube_config": json.dumps(config)}}
            monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps(fields))
            return no_leak(
                configured(SparkKubernetesOperator)(
                    task_id="job", dag=dag, name="job", random_name_suffix=False, template_spec=application, **kwargs
                )
            )

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
