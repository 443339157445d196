"""``[config_providers] apply_to`` is changed while a task of a stock operator is deferred, and then it goes on."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

pytest.importorskip("airflow.providers.apache.livy")

from airflow.providers.apache.livy.operators.livy import LivyOperator
from airflow.sdk import DAG

from airflow_config_providers import cluster_policy
from airflow_config_providers.operators.configured import ConfiguredOperator
from tests.operators.triggering import first_event, resumption, stored_trigger
from tests.servers.web import Response, WebServer

CANARY = "lent to the job"
REFERENCE = "${lender:apps/db:password}"
SAYS = "the job says"


class Livy:
    """Runs a batch, and says that it printed what it was given."""

    def __init__(self):
        self.state, self.posted, self.logs_fetched = "running", [], 0

    def __call__(self, request):
        if request.method == "POST":
            self.posted.append(json.loads(request.body))
        is_log = request.path.endswith("/log")
        self.logs_fetched += is_log
        lines = [f"{SAYS} {self.posted[0]['conf']['spark.app.x']}"] if is_log else []
        answer = {"id": 7, "state": self.state, "appId": "app-7", "from": 0, "total": len(lines), "log": lines}
        return Response(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def livy(serve_livy):
    """A Livy whose batch runs."""
    return serve_livy(Livy())


class Deployment:
    """Reads one DAG as often as Airflow would, runs its task, and then its trigger."""

    def __init__(self, monkeypatch, run_task, capfd):
        self._monkeypatch = monkeypatch
        self._run_task = run_task
        self._capfd = capfd
        self.shown = ""

    def task(self, *, on, is_mapped, **given):
        """Return the task as read by a process that has the setting."""
        given = {"file": "job.py", "deferrable": True, "polling_interval": 1, **given}
        conf = {"spark.app.x": REFERENCE}
        with DAG("flights", schedule=None):
            if is_mapped:
                task = LivyOperator.partial(task_id="job", conf=conf, **given).expand(args=[["a"]])
            else:
                task = LivyOperator(task_id="job", conf=conf, args=["a"], **given)
        return self.told(task, on=on)

    def told(self, task, *, on):
        """Ask the policy about a task, as a process does that reads the DAG."""
        self._monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark" if on else "")
        cluster_policy.task_policy(task)
        return task

    def run(self, task, **kwargs):
        run = self._run_task(task, map_index=0 if task.is_mapped else -1, **kwargs)
        told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
        self.shown += told + "".join(self._capfd.readouterr()) + repr(run.error) + repr(vars(run.task))
        return run

    def wait(self, message):
        """Run the trigger of a deferred task, and give what the task is resumed with, both as Airflow stores them."""
        event = first_event(stored_trigger(message))
        self.shown += "".join(self._capfd.readouterr()) + message.model_dump_json() + repr(event)
        return resumption(message, event.payload)


@pytest.fixture
def deployment(monkeypatch, run_task, capfd):
    return Deployment(monkeypatch, run_task, capfd)


@pytest.fixture(params=[False, True], ids=["plain", "mapped"])
def is_mapped(request):
    return request.param


def is_ours(run):
    return isinstance(run.task, ConfiguredOperator)


@pytest.mark.parametrize("end", ["success", "dead"])
def test_turned_on_a_deferred_task_goes_on_as_ours(deployment, livy, diary, is_mapped, end):
    begun = deployment.run(deployment.task(on=False, is_mapped=is_mapped), finalize=False)
    livy.state = end
    resumed_with = deployment.wait(begun.message)
    run = deployment.run(deployment.task(on=True, is_mapped=is_mapped), resumed_with=resumed_with)

    assert (is_ours(begun), is_ours(run)) == (False, True)
    assert run.state == ("success" if end == "success" else "failed")
    assert ("did not succeed" in str(run.error)) is (end == "dead")
    assert [body["conf"] for body in livy.posted] == [{"spark.app.x": REFERENCE}]
    assert diary() == ["opened", "lent", "taken back without a job"]
    assert run.rendered["spark_params"]["conf"] == {"spark.app.x": REFERENCE}
    assert CANARY not in deployment.shown


@pytest.mark.parametrize("end", ["success", "dead"])
def test_turned_off_a_deferred_task_goes_on_as_the_stock_one(deployment, livy, diary, is_mapped, end):
    begun = deployment.run(deployment.task(on=True, is_mapped=is_mapped), finalize=False)
    livy.state = end
    resumed_with = deployment.wait(begun.message)
    run = deployment.run(deployment.task(on=False, is_mapped=is_mapped), resumed_with=resumed_with)

    assert (is_ours(begun), is_ours(run)) == (True, False)
    assert run.state == ("success" if end == "success" else "failed")
    assert ("did not succeed" in str(run.error)) is (end == "dead")
    assert [body["conf"] for body in livy.posted] == [{"spark.app.x": CANARY}]
    assert diary() == ["opened", "lent", "taken back without a job"]
    assert livy.logs_fetched == 0
    assert run.rendered["spark_params"]["conf"] == {"spark.app.x": REFERENCE}
    assert CANARY not in deployment.shown


def test_left_on_a_deferred_task_resolves_once_in_each_process_and_submits_once(deployment, livy, diary, is_mapped):
    begun = deployment.run(deployment.task(on=True, is_mapped=is_mapped), finalize=False)
    livy.state = "success"
    resumed_with = deployment.wait(begun.message)
    run = deployment.run(deployment.task(on=True, is_mapped=is_mapped), resumed_with=resumed_with)

    assert run.state == "success"
    assert len(livy.posted) == 1
    assert diary() == ["opened", "lent", "taken back without a job"] * 2
    assert deployment.shown.count(f"{SAYS} {REFERENCE}") == 1
    assert CANARY not in deployment.shown


def test_turned_on_a_task_whose_references_nobody_answers_says_so(deployment, livy, connections):
    begun = deployment.run(deployment.task(on=False, is_mapped=False), finalize=False)
    livy.state = "success"
    resumed_with = deployment.wait(begun.message)
    run = deployment.run(deployment.task(on=True, is_mapped=False), resumed_with=resumed_with)

    assert run.state == "failed"
    assert "names the unknown provider 'lender'" in str(run.error)
    assert len(livy.posted) == 1


def test_turned_on_a_task_whose_trigger_failed_fails_as_the_stock_one(deployment, livy, diary, is_mapped):
    deployment.run(deployment.task(on=False, is_mapped=is_mapped), finalize=False)
    failed = ("__fail__", {"error": "Trigger failure", "traceback": ["no such trigger"]})
    run = deployment.run(deployment.task(on=True, is_mapped=is_mapped), resumed_with=failed)

    assert run.state == "failed"
    assert str(run.error) == "Trigger failure"
    assert CANARY not in deployment.shown


RUN_STATE = {"life_cycle_state": "RUNNING", "result_state": "", "state_message": ""}
ENDED = {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS", "state_message": ""}


@pytest.fixture
def databricks(monkeypatch):
    """A Databricks, and what was posted to it; its run is in the ``earlier`` states, then in ``state``."""
    pytest.importorskip("airflow.providers.databricks")
    service = SimpleNamespace(state=RUN_STATE, earlier=[], posted=[])

    def answer(request):
        if request.method == "POST":
            service.posted.append(json.loads(request.body))
        state = service.earlier.pop() if service.earlier else service.state
        run = {"run_id": 9, "job_id": 3, "run_page_url": "http://databricks/run/9", "state": state}
        run["tasks"] = [{"task_key": "t", "run_id": 10, "state": state}]
        if "get-output" in request.path:
            run = {"error": f"{SAYS} {CANARY}"}
        return Response(200, json.dumps(run).encode(), {"Content-Type": "application/json"})

    with WebServer(answer) as server:
        port = int(server.address.rpartition(":")[2])
        fields = {"conn_type": "databricks", "host": "127.0.0.1", "port": port, "schema": "http", "password": "token"}
        monkeypatch.setenv("AIRFLOW_CONN_DATABRICKS_DEFAULT", json.dumps(fields))
        yield service


@pytest.mark.parametrize("on_at_first", [True, False], ids=["turned off", "turned on"])
def test_a_deferred_run_of_databricks_goes_on_both_ways(deployment, databricks, diary, on_at_first):
    from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator

    def task(*, on):
        with DAG("flights", schedule=None):
            clusters = [{"new_cluster": {"spark_conf": {"spark.app.x": REFERENCE}}}, {"new_cluster": {}}]
            made = DatabricksSubmitRunOperator(task_id="job", tasks=clusters, deferrable=True, polling_period_seconds=1)
        return deployment.told(made, on=on)

    begun = deployment.run(task(on=on_at_first), finalize=False)
    databricks.state = ENDED
    resumed_with = deployment.wait(begun.message)
    run = deployment.run(task(on=not on_at_first), resumed_with=resumed_with)

    assert (is_ours(begun), is_ours(run), run.state) == (on_at_first, not on_at_first, "success")
    (posted,) = databricks.posted
    sent = CANARY if on_at_first else REFERENCE
    assert posted["tasks"][0]["new_cluster"]["spark_conf"] == {"spark.app.x": sent}
    assert diary() == ["opened", "lent", "taken back without a job"]
    assert CANARY not in deployment.shown


@pytest.mark.parametrize("end", ["SUCCESS", "FAILED"])
@pytest.mark.parametrize("is_left_on", [True, False], ids=["left on", "turned off"])
def test_attack_30_what_the_triggerer_logs_and_stores_of_a_databricks_run_has_no_value(
    deployment, databricks, diary, end, is_left_on
):
    from airflow.providers.databricks.operators.databricks import DatabricksSubmitRunOperator

    def task(*, on):
        with DAG("flights", schedule=None):
            cluster = {"spark_conf": {"spark.app.x": REFERENCE}}
            made = DatabricksSubmitRunOperator(
                task_id="job", new_cluster=cluster, deferrable=True, polling_period_seconds=1
            )
        return deployment.told(made, on=on)

    begun = deployment.run(task(on=True), finalize=False)
    databricks.state = {**ENDED, "result_state": end, "state_message": f"{SAYS} {CANARY}"}
    resumed_with = deployment.wait(begun.message)
    run = deployment.run(task(on=is_left_on), resumed_with=resumed_with)

    assert CANARY not in json.dumps(resumed_with) + deployment.shown
    assert run.state == ("success" if end == "SUCCESS" else "failed")
    assert (f"{SAYS} {REFERENCE}" in str(run.error)) is (end == "FAILED" and is_left_on)


def test_attack_30_the_triggerer_logs_no_message_of_a_state_in_which_a_databricks_run_waits(databricks, capfd):
    from airflow_config_providers.operators.databricks import QuietDatabricksTrigger

    databricks.earlier = [{"life_cycle_state": "WAITING_FOR_RETRY", "state_message": f"{SAYS} {CANARY}"}]
    databricks.state = ENDED
    trigger = QuietDatabricksTrigger(run_id=9, databricks_conn_id="databricks_default", polling_period_seconds=0)

    event = first_event(trigger)

    shown = "".join(capfd.readouterr()) + repr(event)
    assert "WAITING_FOR_RETRY" in shown
    assert CANARY not in shown
