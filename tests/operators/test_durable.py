"""Airflow's durable mode: a try that follows the job of an earlier one. Run by Airflow's real task runner."""

from __future__ import annotations

import datetime
import json
import threading
from contextlib import suppress

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError, SubmitError
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.record_keeper import STATE_KEY
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.limits import eventually
from tests.operators.standalone_master import JOB
from tests.servers.web import Response, WebServer

pytest.importorskip("airflow.sdk.bases.resumablejobmixin", reason="a durable mode came with Airflow 3.3")

LENT = "${lender:creds:password}"
LINE = f"spark.app.db.password = {LENT}   # DAG_CONFIG, conf"


def operator(kind=ConfiguredSparkSubmitOperator, *, conf=None, **kwargs):
    """The task as it is when it is tried."""
    conf = {"spark.app.x": "1", "spark.app.db.password": LENT, **(conf or {})}
    with DAG("flights", schedule=None):
        return kind(task_id="job", application="job.jar", conf=conf, status_poll_interval=0.05, **kwargs)


@pytest.fixture
def run_try(run_task, state, master, spark_submit):
    """Run one try: ``run_try(2, operator)``."""
    return lambda number, operator: run_task(operator, state=state, try_number=number)


@pytest.fixture
def lost(run_try, diary):
    """A job that the first try has submitted; gives what that wrote down."""
    run_try(1, operator())
    return len(diary())


def test_a_job_is_submitted_and_what_it_got_is_kept_with_references(run_try, state, spark_submit):
    run = run_try(1, operator())

    assert run.state == "success"
    assert len(spark_submit()) == 1
    assert state["spark_job_id"] == JOB
    assert state[STATE_KEY]["conf"] == {
        "spark.app.x": "1",
        "spark.app.db.password": LENT,
    }
    assert LINE in state[STATE_KEY]["lines"]
    assert "lent to the job" not in json.dumps(state)


def test_a_password_that_a_template_fills_in_is_not_kept(run_try, state, monkeypatch):
    """Airflow stars it in the rendered fields, and shows what is kept in the task's state as it is."""
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps({"conn_type": "jdbc", "password": "f1lled-in"}))
    run_try(1, operator(conf={"spark.app.dsn": "jdbc:x?p={{ conn.other.password }}"}))

    assert "f1lled-in" not in json.dumps(state)
    assert state[STATE_KEY]["conf"]["spark.app.dsn"] == "jdbc:x?p=***"


@pytest.mark.parametrize("status", ["RUNNING", "FINISHED"])
def test_a_try_that_follows_a_job_opens_no_provider(run_try, lost, master, diary, spark_submit, status):
    master.job_is(status, "FINISHED")
    run = run_try(2, operator())

    assert run.state == "success"
    assert len(spark_submit()) == 1
    assert diary()[lost:] == []


@pytest.mark.parametrize("status", ["RUNNING", "FINISHED"])
def test_a_try_that_follows_a_job_shows_what_that_was_submitted_with(run_try, lost, master, status):
    master.job_is(status, "FINISHED")
    shown = run_try(2, operator(conf={"spark.app.x": "changed"})).rendered

    note, *lines = shown["effective_config"]
    assert note.startswith(
        f"! This try has submitted nothing: it follows job {JOB} of an earlier try, which is {status}."
    )
    assert LINE in lines
    assert "spark.app.x = 1   # DAG_CONFIG, conf" in lines
    assert "changed" not in str(shown)
    assert shown["conf"]["spark.app.x"] == "1"


def test_a_try_that_follows_a_job_without_configuration_shows_none(run_try, lost, state):
    state[STATE_KEY] |= {"conf": {}, "lines": []}
    shown = run_try(2, operator()).rendered

    assert shown["conf"] == {}


def test_the_log_says_that_nothing_was_submitted(run_try, lost, caplog, capfd):
    capfd.readouterr()
    run_try(2, operator())
    shown = caplog.text + "".join(capfd.readouterr())

    assert "This try has submitted nothing" in shown
    assert "Configuration of the job:" in shown
    assert "Effective configuration:" not in shown


def test_a_try_that_has_resolved_nothing_submits_nothing(run_task, lost, state, spark_submit):
    class Forgetful(SparkSubmitOperator):
        def execute(self, context):
            del state["spark_job_id"]  # as somebody may when the task was rendered
            return super().execute(context)

    run = run_task(operator(configured(Forgetful)), state=state, try_number=2, retries=1)

    assert run.state == "up_for_retry"
    assert "spark_job_id was deleted from the task's state meanwhile" in str(run.error)
    assert len(spark_submit()) == 1


def test_a_job_that_has_failed_is_submitted_again_with_what_is_configured_now(run_try, lost, master, spark_submit):
    master.job_is("FAILED", "FINISHED")
    run = run_try(2, operator(conf={"spark.app.x": "changed"}))

    assert run.state == "success"
    assert [job.conf["spark.app.x"] for job in spark_submit()] == ["1", "changed"]
    assert "spark.app.x = changed   # DAG_CONFIG, conf" in run.rendered["effective_config"]


def test_an_execute_that_followed_a_job_until_it_failed_can_submit_another(run_try, lost, master, spark_submit):
    class TwiceOperator(ConfiguredSparkSubmitOperator):
        def execute(self, context):
            with suppress(Exception):  # of another class in each version of the provider
                super().execute(context)
            master.job_is("FAILED", "FINISHED")
            return super().execute(context)

    master.job_is("RUNNING", "FAILED")
    run = run_try(2, operator(TwiceOperator))

    assert run.state == "success", run.error
    assert len(spark_submit()) == 2


def test_a_job_is_asked_once_whether_it_is_followed(run_try, lost, master):
    master.asked.clear()
    run_try(2, operator())

    assert master.asked == [f"/v1/submissions/status/{JOB}"]


def test_of_a_job_that_an_older_version_submitted_nothing_is_known(run_try, lost, state):
    del state[STATE_KEY]
    run = run_try(2, operator())

    (note,) = run.rendered["effective_config"]
    assert "The configuration of that job is unknown" in note


def test_what_another_job_was_submitted_with_is_not_shown(run_try, lost, state):
    state["spark_job_id"] = "driver-20261122-0002"
    run = run_try(2, operator())

    assert len(run.rendered["effective_config"]) == 1


@pytest.mark.parametrize(
    "written",
    ["text", {"job": JOB}, {"job": JOB, "conf": [], "lines": []}, {"job": JOB, "conf": {"a": 1}, "lines": [2]}],
)
def test_what_somebody_has_written_into_the_state_keeps_no_try_from_following_a_job(run_try, lost, state, written):
    state[STATE_KEY] = written

    assert run_try(2, operator()).state == "success"


def test_a_reference_that_somebody_has_written_into_the_state_is_not_resolved(run_try, lost, state, diary):
    state[STATE_KEY] = {"job": JOB, "conf": {"spark.app.x": "${lender:other:password}"}, "lines": []}
    run_try(2, operator())

    assert diary()[lost:] == []


def test_a_policy_does_not_keep_a_try_from_following_a_job(run_try, lost, monkeypatch, tmp_path):
    (tmp_path / "policies.yaml").write_text("policies:\n- name: none\n  class: nothing-like-this\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))

    assert run_try(2, operator()).state == "success"


def test_without_durable_a_retry_submits_anew(run_try, lost, spark_submit, diary):
    run = run_try(2, operator(durable=False))

    assert run.state == "success"
    assert len(spark_submit()) == 2
    assert "lent" in diary()[lost:]


def test_a_job_on_this_machine_is_not_looked_for(run_try, lost, monkeypatch, spark_submit):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    run = run_try(2, operator())

    assert run.state == "success"
    assert run.supervisor.sent("GetTaskStateStore") == []
    assert len(spark_submit()) == 2


def test_the_first_try_does_not_look_for_a_job_before_it_resolves(run_try):
    run = run_try(1, operator())

    assert [message.key for message in run.supervisor.sent("GetTaskStateStore")] == ["spark_job_id"], "Airflow's own"


# --- the same try again: AirflowRescheduleException, and RetryAction.RESCHEDULE of Airflow 3.4 ------------------


@pytest.fixture
def run_again(run_task, state, lost):
    """Run the first try again, after it was rescheduled: ``run_again(operator)``."""
    return lambda operator: run_task(operator, state=state, try_number=1, reschedules=1)


def test_a_try_that_was_rescheduled_follows_its_own_job(run_again, lost, master, spark_submit, state, diary):
    kept = json.dumps(state)
    master.job_is("RUNNING", "FINISHED")
    run = run_again(operator(conf={"spark.app.x": "changed"}))

    note, *lines = run.rendered["effective_config"]
    assert run.state == "success"
    assert len(spark_submit()) == 1
    assert note.startswith(
        f"! This try has submitted nothing since it was rescheduled: it follows job {JOB}, its own, which is RUNNING."
    )
    assert "spark.app.x = 1   # DAG_CONFIG, conf" in lines
    assert json.dumps(state) == kept, "what the job was submitted with, and the record"
    assert diary()[lost:] == []


def test_a_policy_does_not_keep_a_rescheduled_try_from_its_own_job(run_again, monkeypatch, tmp_path):
    (tmp_path / "policies.yaml").write_text("policies:\n- name: none\n  class: nothing-like-this\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))

    assert run_again(operator()).state == "success"


def test_a_rescheduled_try_of_which_an_older_version_submitted_the_job_follows_it(run_again, state):
    del state[STATE_KEY]
    (note,) = run_again(operator()).rendered["effective_config"]

    assert "of an earlier try" in note


def test_a_rescheduled_try_without_a_job_submits_one(run_task, state, master, spark_submit):
    run = run_task(operator(), state=state, reschedules=1)

    assert run.state == "success"
    assert len(spark_submit()) == 1
    assert LINE in run.rendered["effective_config"]


def test_the_policy_of_airflow_3_4_reschedules_a_try_that_then_follows_its_job(run_task, state, master, spark_submit):
    policies = pytest.importorskip("airflow.sdk.definitions.retry_policy")
    if not hasattr(policies.RetryDecision, "reschedule"):
        pytest.skip("Airflow 3.4 brought it")

    class Later(policies.RetryPolicy):
        def evaluate(self, *args, **kwargs):
            return policies.RetryDecision.reschedule(datetime.timedelta(seconds=1), max_reschedules=3)

    master.job_is("RUNNING")
    first = run_task(operator(configured(Crashed), retry_policy=Later()), state=state)
    master.job_is("RUNNING", "FINISHED")
    again = run_task(operator(conf={"spark.app.x": "changed"}), state=state, reschedules=1)

    assert [first.state, again.state] == ["up_for_reschedule", "success"]
    assert len(spark_submit()) == 1
    assert state[STATE_KEY]["conf"]["spark.app.x"] == "1"


def test_commands_for_the_end_of_a_job_get_their_values_from_the_try_that_sees_it(run_try, lost, diary, tmp_path):
    command = f"printf %s '{LENT}' > {tmp_path}/told"
    run = run_try(2, operator(post_submit_commands=[command], allow_exposed_arguments=True))

    assert run.state == "success"
    assert "lent" in diary()[lost:]
    assert LENT in str(run.rendered["post_submit_commands"])


def test_commands_that_came_with_a_run_get_no_value(run_task, run_try, lost, state, diary):
    commands = ["echo {{ dag_run.conf['x'] }}"]
    follower = operator(post_submit_commands=commands, allow_exposed_arguments=True)
    run = run_task(follower, state=state, try_number=2, conf={"x": LENT})

    assert isinstance(run.error, ConfigException)
    assert diary()[lost:] == []


# --- what was lent to a job ---------------------------------------------------------------------------------


def test_what_is_lent_to_a_job_in_a_cluster_outlives_the_try_until_the_job_ends(run_try, diary):
    run_try(1, operator())

    assert diary() == ["opened", "lent", "left to the job", "left no more", "taken back after the job"]


class WatchedState(dict):
    """A task's state store that calls ``told`` before it stores another key."""

    def __init__(self, told):
        super().__init__()
        self._told = told

    def __setitem__(self, key, value):
        self._told(key)
        super().__setitem__(key, value)


def test_a_job_is_left_what_it_was_lent_before_a_retry_could_follow_it(run_task, master, diary, spark_submit):
    done_before = {}
    run = run_task(operator(), state=WatchedState(lambda key: done_before.update({key: diary()})))

    assert run.state == "success"
    assert done_before["spark_job_id"] == ["opened", "lent", "left to the job"]


def test_a_job_that_airflow_may_not_know_of_keeps_what_it_was_lent(run_task, master, diary, spark_submit):
    def refuse(key):
        raise RuntimeError(f"nobody knows whether {key} is kept")

    run = run_task(operator(), state=WatchedState(refuse))

    assert run.state == "failed"
    assert diary() == ["opened", "lent", "left to the job", "taken back after the job"], "the last is for keep_leases"


@pytest.mark.parametrize(("status", "is_left"), [("UNKNOWN", True), ("FAILED", False)])
def test_a_poll_that_fails_leaves_what_was_lent_to_a_job_that_may_still_run(
    dag, run_try, master, diary, status, is_left
):
    master.job_is(status)
    run = run_try(1, operator())

    assert run.state == "failed"
    assert ("left no more" not in diary()) is is_left


class Killed(SparkSubmitOperator):
    """Is killed while it waits."""

    def poll_until_complete(self, external_id, context):
        self.on_kill()
        raise RuntimeError("killed")


def test_a_try_that_is_killed_with_its_job_leaves_nothing(run_try, master, diary):
    master.job_is("RUNNING")
    run_try(1, operator(configured(Killed)))

    assert diary()[2:4] == ["left to the job", "left no more"]


def test_a_job_that_nobody_would_follow_is_left_nothing(run_try, diary):
    run_try(1, operator(durable=False))

    assert "left to the job" not in diary()


# --- a restart ----------------------------------------------------------------------------------------------


class TwoJobs:
    """A cluster whose first job runs until it is killed, or until a test ends it, and whose second one ends."""

    def __init__(self) -> None:
        self.killed = []
        self.end = "RUNNING"
        self.when_asked = lambda: None

    def __call__(self, request) -> Response:
        job = request.path.rpartition("/")[2]
        if "/kill/" in request.path:
            self.killed.append(job)
        else:
            self.when_asked()
        first = "KILLED" if job in self.killed else self.end
        lines = ["{", '"submissionId" : "x",', '"success" : true,']
        lines += [f'"driverState" : "{"FINISHED" if job.endswith("2") else first}"', "}"]
        return Response(200, "\n".join(lines).encode())


@pytest.fixture
def cluster(spark_submit, connections, monkeypatch):
    """A cluster that the default connection leads to, and reloads at once."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    monkeypatch.setenv("FAKE_SPARK_PRINTS", "submitted as driver-20261122-000{number}")
    with WebServer(cluster := TwoJobs()) as server:
        extra = {"deploy-mode": "cluster", "rest-port": server.address.rpartition(":")[2]}
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1:7077", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        yield cluster


@pytest.fixture
def secret(secrets_dir):
    """The file with the secret of the job."""
    secret = secrets_dir / "password"
    secret.write_text("c4nary-first")
    return secret


def reading(secret):
    """The configuration of a job with a secret."""
    return {"spark.app.db.password": f"${{dir:{secret.parent}:password}}"}


@pytest.fixture
def restarted(run_task, cluster, secret):
    """A job whose secret has changed while it ran; gives the run, the cluster, the state and the IDs of jobs."""
    ids = []

    class Watched(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            if key == "spark_job_id":
                ids.append(value)
                secret.write_text("c4nary-second")

    store = Watched()
    return run_task(operator(conf=reading(secret), streaming=True), state=store), cluster, store, ids


def test_a_restart_replaces_the_job_that_a_later_try_follows(restarted, run_task, spark_submit):
    run, cluster, store, ids = restarted

    assert run.state == "success", run.error
    assert cluster.killed == ["driver-20261122-0001"]
    assert ids == ["driver-20261122-0001", "driver-20261122-0002"]
    assert store[STATE_KEY]["job"] == "driver-20261122-0002"
    assert "c4nary" not in json.dumps(store)

    later = run_task(operator(streaming=True), state=store, try_number=2)
    assert later.state == "success"
    assert "follows job driver-20261122-0002" in later.rendered["effective_config"][0]
    assert len(spark_submit()) == 2


def test_the_job_after_a_restart_gets_the_new_value(restarted, spark_submit):
    files = [submission.properties for submission in spark_submit()]

    assert [("c4nary-first" in file, "c4nary-second" in file) for file in files] == [(True, False), (False, True)]


# --- a restart by a try that follows a job --------------------------------------------------------------------


class Crashed(SparkSubmitOperator):
    """Ends while its job runs on, as with its worker."""

    def poll_until_complete(self, external_id, context):
        raise RuntimeError("the worker is gone")


@pytest.fixture
def crashed(run_task, cluster, secret, sealing, state, capfd, caplog):
    """Run a first try that ends before its job: ``crashed(streaming=True)``."""

    def run(**kwargs):
        begun = run_task(operator(configured(Crashed), conf=reading(secret), **kwargs), state=state)
        assert "the worker is gone" in str(begun.error)
        assert cluster.killed == []
        assert state["spark_job_id"] == JOB
        begun.task._try_state.run.close()  # as the end of the process
        capfd.readouterr()
        caplog.clear()

    return run


@pytest.fixture
def follow(run_task, secret, state, capfd, caplog):
    """Run the try after that: ``follow(streaming=True)`` gives the run, and what was ``shown``."""

    def run(**kwargs):
        run = run_task(operator(conf=reading(secret) | kwargs.pop("conf", {}), **kwargs), state=state, try_number=2)
        told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
        run.shown = told + caplog.text + "".join(capfd.readouterr()) + repr(run.error) + json.dumps(state)
        return run

    return run


def ends_when_asked(cluster, times):
    """Have the first job end when its status is asked for so many times."""
    asked = []

    def ask():
        asked.append(1)
        cluster.end = "FINISHED" if len(asked) >= times else "RUNNING"

    cluster.when_asked = ask


def passwords(spark_submit):
    found = ("c4nary-first", "c4nary-second")
    return [[value for value in found if value in job.properties] for job in spark_submit()]


def test_a_secret_that_changed_before_a_try_follows_restarts_the_job(
    crashed, follow, cluster, secret, state, spark_submit
):
    crashed(streaming=True)
    secret.write_text("c4nary-second")
    run = follow(streaming=True)

    assert run.state == "success", run.error
    assert cluster.killed == [JOB]
    assert passwords(spark_submit) == [["c4nary-first"], ["c4nary-second"]]
    assert state["spark_job_id"] == state[STATE_KEY]["job"] == "driver-20261122-0002"
    assert "Restart: the job's secrets changed. The job is stopped" in run.shown
    assert "c4nary" not in run.shown


@pytest.mark.parametrize("with_secret", [True, False])
def test_a_secret_that_changes_while_a_try_follows_restarts_the_job(
    crashed, follow, cluster, secret, sealing, spark_submit, with_secret
):
    if not with_secret:
        sealing("")
    crashed(streaming=True)
    asked = []

    def rotate_after_the_first_look():
        asked.append(1)
        if len(asked) == 2:
            secret.write_text("c4nary-second")

    cluster.when_asked = rotate_after_the_first_look
    run = follow(streaming=True)

    assert run.state == "success", run.error
    assert cluster.killed == [JOB]
    assert passwords(spark_submit) == [["c4nary-first"], ["c4nary-second"]]
    assert "later changes apply when it is restarted" in run.rendered["effective_config"][0]
    assert "c4nary" not in run.shown


def test_after_a_restart_the_task_shows_what_is_configured_now(crashed, follow, secret, spark_submit):
    crashed(streaming=True)
    secret.write_text("c4nary-second")
    run = follow(streaming=True, conf={"spark.app.x": "changed"})

    assert run.task.conf["spark.app.x"] == "changed"
    assert "submitted nothing" not in str(run.task.effective_config)
    assert [job.conf["spark.app.x"] for job in spark_submit()] == ["1", "changed"]


def test_a_job_with_the_values_of_now_is_followed_to_its_end(crashed, follow, cluster, spark_submit):
    crashed(streaming=True)
    ends_when_asked(cluster, 5)
    run = follow(streaming=True, conf={"spark.app.x": "changed"})

    assert run.state == "success", run.error
    assert cluster.killed == []
    assert len(spark_submit()) == 1


def test_a_followed_job_that_fails_with_an_old_value_is_submitted_again(
    crashed, follow, cluster, secret, spark_submit, monkeypatch
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "600")
    crashed(streaming=True)
    secret.write_text("c4nary-second")
    asked = []

    def fail_after_the_first_look():
        asked.append(1)
        cluster.end = "FAILED" if len(asked) > 1 else "RUNNING"

    cluster.when_asked = fail_after_the_first_look
    run = follow(streaming=True)

    assert run.state == "success", run.error
    assert passwords(spark_submit) == [["c4nary-first"], ["c4nary-second"]]


def test_a_job_that_is_not_restarted_is_followed_as_it_is(crashed, follow, cluster, secret, spark_submit):
    crashed()
    secret.write_text("c4nary-second")
    ends_when_asked(cluster, 5)
    run = follow()

    assert run.state == "success", run.error
    assert cluster.killed == []
    assert len(spark_submit()) == 1
    assert "later changes do not apply to it" in run.rendered["effective_config"][0]
    assert "does not watch" not in run.shown


def test_a_job_that_is_not_restarted_needs_no_secret_when_it_is_followed(crashed, follow, cluster, secret):
    crashed()
    secret.unlink()
    ends_when_asked(cluster, 3)
    run = follow()

    assert run.state == "success", run.error
    assert "does not watch" not in run.shown


def test_a_configuration_that_is_not_usable_now_does_not_keep_a_try_from_following(crashed, follow, cluster, secret):
    crashed(streaming=True)
    secret.unlink()
    ends_when_asked(cluster, 3)
    run = follow(streaming=True)

    assert run.state == "success", run.error
    assert cluster.killed == []
    assert "This try does not watch the secrets of the job that it follows" in run.shown
    assert "has no value" in run.shown
    assert "later changes do not apply to it" in run.rendered["effective_config"][0]


def of_another_job(state):
    state["spark_job_id"] = state[STATE_KEY]["job"] = "driver-20261122-0003"


def modified(state):
    state[STATE_KEY]["sealed"] = state[STATE_KEY]["sealed"].replace("encryptedPassword:", "encryptedPassword:AAAA")


def not_a_text(state):
    state[STATE_KEY]["sealed"] = ["c4nary"]


@pytest.mark.parametrize("change", [of_another_job, modified, not_a_text])
def test_sealed_values_that_are_not_of_this_job_are_one_warning(crashed, follow, cluster, secret, state, change):
    crashed(streaming=True)
    change(state)
    secret.write_text("c4nary-second")
    ends_when_asked(cluster, 5)
    run = follow(streaming=True)

    assert run.state == "success", run.error
    assert cluster.killed == []
    assert run.shown.count("had in an earlier process of the task cannot be read") == 1


def test_what_is_kept_of_a_job_shows_no_value(crashed, state, sealing):
    crashed(streaming=True)

    assert state[STATE_KEY]["sealed"].startswith("keyFactoryAlgorithm:")
    assert "c4nary" not in json.dumps(state)


def test_without_a_secret_no_values_are_kept(crashed, state, sealing):
    sealing("")
    crashed(streaming=True)

    assert "sealed" not in state[STATE_KEY]


class ResourceManager:
    """A resource manager of YARN with one application, which runs."""

    def __init__(self) -> None:
        self.put = []

    def __call__(self, request) -> Response:
        if request.method == "PUT":
            self.put.append((request.path, json.loads(request.body)))
        return Response(200, json.dumps({"app": {"state": "RUNNING", "finalStatus": "UNDEFINED"}}).encode())


def test_an_application_on_yarn_that_a_try_follows_is_killed_with_it(run_task, diary, spark_submit, monkeypatch):
    application = "application_1700000000000_0007"
    with WebServer(manager := ResourceManager()) as server:
        extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": server.address}
        connection = {"conn_type": "spark", "host": "yarn", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        follower = operator(configured(Killed), yarn_track_via_rm_api=True)
        run = run_task(follower, state={"spark_job_id": application}, try_number=2)

    assert "killed" in str(run.error)
    assert manager.put == [(f"/ws/v1/cluster/apps/{application}/state", {"state": "KILLED"})]


def test_a_driver_whose_pod_was_deleted_to_stop_it_has_not_succeeded():
    """The stock hook ends as if it had, and the job would not begin anew."""

    class Gone(SparkSubmitHook):
        def _poll_k8s_driver_via_api(self):
            return None

    hook = ConfiguredSparkSubmitHook.of(Gone(), submission=lambda conf, prefix, values: None, run=JobRun)
    assert hook._poll_k8s_driver_via_api() is None

    hook.on_kill()
    with pytest.raises(SubmitError, match="pod was deleted because the job was killed"):
        hook._poll_k8s_driver_via_api()


# --- Livy -----------------------------------------------------------------------------------------------------


class Livy:
    """Takes batches, each of which is ``state``."""

    def __init__(self) -> None:
        self.state = "success"
        self.posted = []

    def __call__(self, request) -> Response:
        if request.method == "POST":
            self.posted.append(json.loads(request.body))
        return Response(201 if request.method == "POST" else 200, json.dumps(self._answer(request.path)).encode())

    def _answer(self, path):
        if path.endswith("/log"):
            return {"id": 7, "log": [], "total": 0}
        return {"id": 7, "state": self.state, "appId": "app-7"}


@pytest.fixture
def batches(diary, serve_livy):
    pytest.importorskip("airflow.providers.apache.livy")
    return serve_livy(Livy())


def livy(**conf):
    from airflow.providers.apache.livy.operators.livy import LivyOperator

    conf = {"spark.app.x": "1", "spark.app.db.password": LENT, **conf}
    with DAG("flights", schedule=None):
        return configured(LivyOperator)(task_id="job", file="job.py", polling_interval=1, conf=conf)


def test_a_batch_of_livy_is_followed_without_a_provider(run_task, batches, state, diary):
    run_task(livy(), state=state)
    before = len(diary())
    run = run_task(livy(**{"spark.app.x": "changed"}), state=state, try_number=2)

    assert run.state == "success"
    assert len(batches.posted) == 1
    assert batches.posted[0]["conf"]["spark.app.db.password"] == "lent to the job"
    assert diary()[before:] == []
    assert "spark.app.x = 1   # DAG_CONFIG, spark_params['conf']" in run.rendered["effective_config"]
    assert "lent to the job" not in json.dumps(state)


class Saying(Livy):
    """Prints a value of its one batch, which ends when its log was asked for."""

    def _answer(self, path):
        lines = ["the job says c4nary-earlier and c4nary-second"] if path.endswith("/log") else []
        self.state = "success" if self.asked > 2 else "running"
        self.asked += 1
        return {"id": 7, "state": self.state, "appId": "app-7", "log": lines, "total": len(lines)}

    asked = 0


SECOND_TRY = {"try_number": 2}
SAME_TRY = {"reschedules": 1}


@pytest.mark.parametrize("again", [SECOND_TRY, SAME_TRY], ids=["a second try", "the same try"])
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_try_that_follows_a_job_shows_a_reference_for_the_value_that_it_was_submitted_with(
    run_task, connections, secret, serve_livy, sealing, state, capfd, is_kept, again
):
    livy_operator = pytest.importorskip("airflow.providers.apache.livy.operators.livy")

    class Crashed(livy_operator.LivyOperator):
        def poll_until_complete(self, external_id, context):
            raise RuntimeError("the worker is gone")

    def task(kind):
        with DAG("flights", schedule=None):
            return configured(kind)(task_id="job", file="job.py", polling_interval=1, conf=reading(secret))

    if not is_kept:
        sealing("")
    secret.write_text("c4nary-earlier")  # no other test has it
    batch = serve_livy(Saying())
    run_task(task(Crashed), state=state).task._try_state.run.close()
    batch.asked = 0
    secret.write_text("c4nary-second")
    capfd.readouterr()
    run = run_task(task(livy_operator.LivyOperator), state=state, **again)
    shown = "".join(capfd.readouterr())

    assert run.state == "success", run.error
    assert "the job says" in shown
    assert ("c4nary-earlier" in shown) is not is_kept


def test_a_followed_batch_that_is_restarted_gets_its_values(
    run_task, connections, secret, serve_livy, sealing, state, monkeypatch
):
    livy_operator = pytest.importorskip("airflow.providers.apache.livy.operators.livy")
    from tests.operators.test_livy import Batches

    class Crashed(livy_operator.LivyOperator):
        def poll_until_complete(self, external_id, context):
            raise RuntimeError("the worker is gone")

    def task(kind):
        with DAG("flights", schedule=None):
            return configured(kind)(
                task_id="job", file="job.py", polling_interval=1, conf=reading(secret), streaming=True
            )

    def end():
        try:
            eventually(lambda: len(batches.posted) == 2)
        finally:
            batches.has_ended = True

    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")
    batches = serve_livy(Batches())
    run_task(task(Crashed), state=state).task._try_state.run.close()
    secret.write_text("c4nary-second")
    thread = threading.Thread(target=end)
    thread.start()
    run_task(task(livy_operator.LivyOperator), state=state, try_number=2)
    thread.join()

    passwords = [batch["conf"]["spark.app.db.password"] for batch in batches.posted]
    assert passwords == ["c4nary-first", "c4nary-second"]


def test_an_outage_while_a_job_is_looked_for_is_retried(run_task, batches, state, monkeypatch):
    run_task(livy(), state=state)
    batches.state = "no state of Livy"
    run = run_task(livy(), state=state, try_number=2, retries=1)

    assert not isinstance(run.error, ProviderUnavailableError)
    assert run.state == "up_for_retry"
