"""What a kill and a restart reach: spark-submit itself, or the driver that it has started in a cluster."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from airflow_config_providers.job.run import JobRun
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.limits import LONGEST
from tests.operators.stock import NOT_DURABLE

K8S, YARN, STANDALONE = "k8s://https://10.0.0.1", "yarn", "spark://10.0.0.1:7077"


@pytest.fixture
def job(dag, monkeypatch):
    """Return an operator whose hook leads to a master, and has attributes: ``job(K8S, is_in_cluster=True)``."""
    pytest.importorskip("airflow.providers.cncf.kubernetes")

    def make(master, mode="client", **attributes):
        connection = {"conn_type": "spark", "host": master, "extra": {"deploy-mode": mode, "namespace": "jobs"}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        operator = ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag)
        operator._try_state.begin(JobRun())
        operator._hook = operator._get_hook()
        vars(operator._hook).update(attributes)
        return operator

    return make


@pytest.fixture
def process():
    """A process in place of spark-submit."""
    with subprocess.Popen(["sleep", "600"], text=True) as process:
        yield process
        process.kill()


IN_CLUSTER = {"is_in_cluster": True}


@pytest.mark.parametrize(
    ("master", "mode", "attributes", "is_unknown"),
    [
        pytest.param(K8S, "cluster", IN_CLUSTER, True, id="k8s, not named yet"),
        pytest.param(K8S, "client", IN_CLUSTER, True, id="k8s, in the cluster because of a key"),
        pytest.param(K8S, "cluster", {**IN_CLUSTER, "_kubernetes_driver_pod": "pod"}, False, id="k8s, named"),
        pytest.param(K8S, "client", {}, False, id="k8s, here"),
        pytest.param(STANDALONE, "cluster", IN_CLUSTER, True, id="standalone, not named yet"),
        pytest.param(STANDALONE, "cluster", {**IN_CLUSTER, "_driver_id": "driver-1"}, False, id="standalone, named"),
        pytest.param(STANDALONE, "client", {}, False, id="standalone, here"),
        pytest.param(YARN, "cluster", IN_CLUSTER, False, id="YARN, whose id is known in time"),
    ],
)
def test_a_kill_waits_for_the_name_of_a_driver_that_can_have_begun_elsewhere(
    job, process, master, mode, attributes, is_unknown
):
    hook = job(master, mode, _is_read=True, _submit_sp=process, **attributes)._hook
    killed = []
    hook._kill = lambda: killed.append(True)

    hook.on_kill()

    assert hook._late_kill.is_due is is_unknown
    assert bool(killed) is not is_unknown
    hook._late_kill.forget()


@pytest.mark.parametrize(
    ("attributes", "has_begun"),
    [
        pytest.param({}, True, id="here"),
        pytest.param(IN_CLUSTER, False, id="in the cluster, not named yet"),
        pytest.param({**IN_CLUSTER, "_driver_id": "driver-1"}, True, id="standalone"),
        pytest.param({**IN_CLUSTER, "_yarn_application_id": "application_1_1"}, True, id="YARN"),
        pytest.param({**IN_CLUSTER, "_kubernetes_driver_pod": "pod"}, True, id="k8s"),
    ],
)
def test_a_driver_has_begun_when_it_runs_here_or_can_be_killed_in_the_cluster(job, process, attributes, has_begun):
    assert job(STANDALONE, _submit_sp=process, **attributes)._has_begun() is has_begun


@pytest.mark.skipif(not NOT_DURABLE, reason="this Spark provider does not ask YARN's resource manager")
@pytest.mark.parametrize(
    ("status", "follows", "is_told"),
    [
        pytest.param("0", True, True, id="followed"),
        pytest.param("1", True, False, id="not accepted by YARN"),
        pytest.param("0", False, False, id="not followed"),
    ],
)
def test_it_is_said_why_an_application_on_yarn_cannot_be_followed(
    dag, run_task, spark_submit, monkeypatch, capfd, status, follows, is_told
):
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": "http://127.0.0.1:9"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn", "extra": extra}))
    monkeypatch.setenv("FAKE_SPARK_EXIT", status)
    how = {"yarn_track_via_rm_api": True} if follows else NOT_DURABLE

    run_task(ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **how), state={})

    assert len(spark_submit()) == 1
    assert ("spark-submit has not named the application on YARN" in capfd.readouterr().out) is is_told


def test_nothing_has_begun_before_spark_submit_has(job):
    operator = job(STANDALONE)

    assert not operator._has_begun()
    operator._hook = None
    assert not operator._has_begun()


def test_a_driver_that_runs_here_may_end_by_itself(job, process):
    operator = job(STANDALONE, _submit_sp=process)

    operator._stop_job()

    assert process.wait(LONGEST) == -signal.SIGTERM


def test_a_driver_in_the_cluster_is_killed_there(job, process):
    operator = job(STANDALONE, _submit_sp=process, **IN_CLUSTER)

    operator._stop_job()

    assert operator._hook._is_killed
    assert process.wait(LONGEST) == -signal.SIGKILL  # spark-submit, which only waits
