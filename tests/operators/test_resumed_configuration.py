"""A task that goes on after a deferral: what it asks and shows, once its job is over, or before it has one."""

from __future__ import annotations

import datetime
from importlib.util import find_spec

import pytest
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import DAG
from airflow.sdk.exceptions import TaskDeferred

from airflow_config_providers.exceptions import ConfigProvidersError, PolicyViolation
from airflow_config_providers.job.records.entries import first_record, record_key
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.lineage import record_facet
from tests.operators.conftest import recording
from tests.operators.stock import NOT_DURABLE
from tests.servers.recorder import Recorder

pytestmark = pytest.mark.usefixtures("connections")

of_airflow_3_3 = pytest.mark.skipif(
    not find_spec("airflow.sdk.bases.resumablejobmixin"), reason="a task's state came with Airflow 3.3"
)

DENIED = "policies:\n- name: no-x\n  class: forbidden_keys\n  params:\n    keys: [spark.app.x]\n"
NOTE = "! This task went on after a deferral. What is shown was settled anew, without asking the policies, and "


class Following(SparkSubmitOperator):
    """Goes on as operators of Airflow's providers do."""

    __module__ = "airflow.providers.example"

    def end(self, context, event):
        """Go on after the job."""
        return "over"


class Waiting(Following):
    """Is deferred, and goes on in a method of a test's choice."""

    has_begun = False
    method = "end"

    def execute(self, context, event=None):
        if event or self.has_begun:
            return super().execute(context)
        raise TaskDeferred(trigger=TimeDeltaTrigger(datetime.timedelta(1)), method_name=self.method)

    def end_of_its_own(self, context, event):
        """Go on in a method that only this class has."""
        return "over"

    def call_execute(self, context, event):
        self.has_begun = True
        return self.execute(context)

    def call_that_of_spark(self, context, event):
        return SparkSubmitOperator.execute(self, context)


class Over(Waiting):
    """Goes on in ``execute`` after its job."""

    def execute(self, context, event=None):
        return "over" if event else super().execute(context)


def task(kind=Waiting, **conf):
    with DAG("flights", schedule=None):
        return configured(kind)(task_id="job", application="job.py", conf={"spark.app.x": "1", **conf}, **NOT_DURABLE)


@pytest.fixture
def go_on(run_task, state, spark_submit):
    """Begin a task, and go on in a method: ``go_on("end", then=..., **conf)``; ``then`` is called in between."""

    def run(method, *, then=lambda: None, kind=Waiting, **conf):
        begun = run_task(task(kind), state=state)
        assert begun.state == "deferred"
        then()
        kept = {m.key: m.value for m in begun.supervisor.messages if type(m).__name__ == "SetXCom"}  # Airflow 3.2
        resumed_with, results = (method, {"event": "it is time"}), {"job": kept.get(record_key(1))}
        return run_task(task(kind, **conf), state=state, results=results, resumed_with=resumed_with)

    return run


@pytest.fixture
def deny(monkeypatch, tmp_path):
    """Have a policy deny the configuration from now on, or allow it."""

    def write(*, allowed=False):
        (tmp_path / "policies.yaml").write_text(DENIED.replace("x", "y") if allowed else DENIED)
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))

    return write


def test_a_policy_does_not_fail_a_task_whose_job_is_over(go_on, deny):
    run = go_on("end", then=deny)

    assert run.state == "success", run.error


@pytest.mark.parametrize("method", ["execute", "call_execute", "call_that_of_spark", "end_of_its_own"])
def test_a_policy_denies_a_job_that_is_submitted_after_a_deferral(go_on, deny, spark_submit, method):
    """As on EMR Serverless, whose operator is deferred until its application has started."""
    run = go_on(method, then=deny)

    assert isinstance(run.error, PolicyViolation)
    assert spark_submit() == []


@pytest.mark.parametrize("method", ["execute", "call_execute", "call_that_of_spark"])
def test_a_job_that_policies_allow_is_submitted_after_a_deferral(go_on, spark_submit, method):
    assert go_on(method).state == "success"
    assert len(spark_submit()) == 1


@pytest.fixture
def record(state):
    """Return the record of the try."""
    return lambda: first_record([state], TaskTry("flights", "job", "run-1", -1, 1))


@pytest.fixture
def of_airflow(monkeypatch):
    """Take the operator for one of Airflow's, of whose methods it is known whether they submit a job."""
    monkeypatch.setattr(Waiting, "__module__", Following.__module__)


@of_airflow_3_3
@pytest.mark.usefixtures("of_airflow")
@pytest.mark.parametrize("method", ["execute", "call_execute", "call_that_of_spark"])
def test_the_record_has_what_a_job_after_a_deferral_was_submitted_with(go_on, deny, record, method):
    def allow():
        deny(allowed=True)

    go_on(method, then=allow, **{"spark.app.x": "changed"})

    assert record().configs["spark.app.x"][0].value == "changed"
    assert record().policies == ("no-y",)


@pytest.mark.usefixtures("of_airflow")
@pytest.mark.parametrize("method", ["execute", "call_execute", "call_that_of_spark"])
def test_the_event_of_a_task_that_submits_after_a_deferral_has_what_its_job_got(go_on, method):
    pytest.importorskip("openlineage.client", reason="of the extra leaks")
    run = go_on(method)

    assert record_facet(run.ti, "success")["configProviders"].keys["spark.app.x"]["origin"] == "conf"


@of_airflow_3_3
@pytest.mark.parametrize(("kind", "method"), [(Waiting, "end"), (Waiting, "end_of_its_own"), (Over, "execute")])
def test_the_record_of_a_job_before_a_deferral_is_left(go_on, record, kind, method):
    go_on(method, kind=kind, **{"spark.app.x": "changed"})

    assert record().configs["spark.app.x"][0].value == "1"


@of_airflow_3_3
@pytest.mark.parametrize(("kind", "method"), [(Waiting, "end"), (Over, "execute")])
def test_the_record_of_a_job_before_a_deferral_is_left_if_its_references_have_no_value_later(
    go_on, record, kind, method
):
    run = go_on(method, kind=kind, **{"spark.app.x": "${nobody:x:y}"})

    assert isinstance(run.error, ConfigProvidersError)
    assert record().configs["spark.app.x"][0].value == "1"


@of_airflow_3_3
@pytest.mark.usefixtures("of_airflow")
@pytest.mark.parametrize("method", ["execute", "call_execute", "call_that_of_spark"])
def test_the_record_has_what_was_denied_after_a_deferral(go_on, deny, record, method):
    go_on(method, then=deny, **{"spark.app.x": "changed"})

    assert record().configs["spark.app.x"][0].value == "changed"
    assert "'spark.app.x' may not be set" in record().problems[0]


@pytest.mark.usefixtures("of_airflow")
@pytest.mark.parametrize("method", ["call_execute", "call_that_of_spark"])
def test_the_page_of_a_task_that_submits_does_not_say_that_it_did_before(go_on, method):
    run = go_on(method, **{"spark.app.x": "changed"})

    assert run.rendered["effective_config"][0].startswith(NOTE)
    assert run.rendered_last["effective_config"] == run.rendered["effective_config"][1:]
    assert run.rendered_last["conf"] == {"spark.app.x": "changed"}


class Later:
    """Is deferred, and then calls the ``execute`` of its operator."""

    has_begun = False

    def execute(self, context):
        if self.has_begun:
            return super().execute(context)
        raise TaskDeferred(trigger=TimeDeltaTrigger(datetime.timedelta(1)), method_name="begin")

    def begin(self, context, event):
        self.has_begun = True
        return self.execute(context)


@pytest.fixture(params=["livy", "spark-sql"])
def later(request, dag, serve_livy, tmp_path, monkeypatch):
    """Return an operator whose job is submitted after a deferral, and what counts its jobs."""
    if request.param == "livy":
        kind = pytest.importorskip("airflow.providers.apache.livy.operators.livy").LivyOperator
        jobs = serve_livy(
            Recorder({"id": 7, "state": "success", "appId": "a", "log": [], "from": 0, "total": 0})
        ).requests
        given = {"file": "job.py"}
    else:
        kind, jobs, given = SparkSqlOperator, recording("spark-sql", tmp_path, monkeypatch), {"sql": "select 1"}
    of_airflow = type("Later", (Later, kind), {"__module__": Following.__module__})
    monkeypatch.setattr(Later, "__module__", Following.__module__)
    return configured(of_airflow)(task_id="job", dag=dag, conf={"spark.app.x": "1"}, **given), jobs


@pytest.mark.parametrize("is_denied", [True, False], ids=["denied", "allowed"])
def test_policies_are_asked_before_each_kind_of_operator_submits_after_a_deferral(later, run_task, deny, is_denied):
    operator, jobs = later
    if is_denied:
        deny()

    run = run_task(operator, state={}, resumed_with=("begin", {"event": "it is time"}))

    assert isinstance(run.error, PolicyViolation) is is_denied
    assert bool(jobs()) is not is_denied


class PastOurs(SparkSqlOperator):
    """Submits its query with the ``execute`` of Airflow itself."""

    __module__ = Following.__module__

    def call_that_of_spark(self, context, event):
        return SparkSqlOperator.execute(self, context)


def test_policies_are_asked_before_a_query_that_goes_past_our_execute_after_a_deferral(
    dag, run_task, deny, tmp_path, monkeypatch
):
    queries = recording("spark-sql", tmp_path, monkeypatch)
    operator = configured(PastOurs)(task_id="job", dag=dag, conf={"spark.app.x": "1"}, sql="select 1")
    deny()

    run = run_task(operator, state={}, resumed_with=("call_that_of_spark", {"event": "it is time"}))

    assert isinstance(run.error, PolicyViolation)
    assert queries() == []


def test_the_page_of_a_task_that_goes_on_says_which_keys_were_changed_since(go_on):
    run = go_on("end", **{"spark.app.x": "changed", "spark.app.y": "2"})

    differs = "differs from what its job was submitted with, which the record of this try has"
    assert run.rendered["effective_config"][0] == f"{NOTE}{differs}: spark.app.x, spark.app.y."


def test_the_page_of_a_task_that_goes_on_as_it_began_has_no_note(go_on):
    assert not go_on("end").rendered["effective_config"][0].startswith("!")


def test_the_page_of_a_task_that_submits_after_its_deferral_has_no_note(go_on):
    run = go_on("execute", **{"spark.app.x": "changed"})

    assert not run.rendered["effective_config"][0].startswith("!")


def test_without_a_record_the_page_says_that_it_was_settled_anew(go_on, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RECORDS_ENABLED", "False")

    note = go_on("end").rendered["effective_config"][0]
    assert note == f"{NOTE}this try has left no record of what its job was submitted with."


def test_many_changed_keys_are_counted(go_on):
    run = go_on("end", **{f"spark.app.k{number:02}": "new" for number in range(25)})

    assert "spark.app.k19 and 5 more." in run.rendered["effective_config"][0]
