"""A running job whose secrets change is submitted again, within one try of its task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, BaseOperator

from airflow_config_providers.airflow_compat import AirflowSkipException
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType
from airflow_config_providers.core.properties import parse
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.limits import eventually
from tests.operators.conftest import meanwhile, recording
from tests.operators.stock import Kept, everything_shown

pytestmark = pytest.mark.usefixtures("spark_submit", "connections", "at_once")

KEY = "spark.app.db.password"
_OPERATORS = "airflow.providers.apache.spark.operators"
VALUES = [f"c4nary-{number}-s3cret+value" for number in range(4)]


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "0")


class Running:
    """A job that runs until a test ends it, and its secret."""

    def __init__(self, spark_submit, secrets_dir, end):
        self.submissions = spark_submit
        self.secret = secrets_dir / "db-password"
        self.secret.write_text(VALUES[0])
        self.reference = f"${{dir:{secrets_dir}:db-password}}"
        self._end = end

    def passwords(self):
        """Return what the jobs got, in order."""
        files = [{e.key: e.value for e in parse(s.properties or "", name="file")} for s in self.submissions()]
        return [{**file, **s.conf}.get(KEY) for file, s in zip(files, self.submissions(), strict=True)]

    def rotate(self, value):
        new = self.secret.with_name("new")
        new.write_text(value)
        new.rename(self.secret)

    def has_begun(self, times):
        assert eventually(lambda: len(self.submissions()) == times)

    def end(self):
        self._end.touch()

    @contextmanager
    def during(self, *steps):
        """Take ``steps`` in another thread while a block runs the job, which ends after them, also if one fails."""

        def take():
            try:
                for step in steps:
                    step()
            finally:
                self.end()

        with meanwhile(take):
            yield


class Shown(Kept):
    """Shows its value in its string."""

    def __repr__(self):
        return self.value


@pytest.fixture
def job(spark_submit, secrets_dir, tmp_path, monkeypatch):
    end = tmp_path / "end"
    monkeypatch.setenv("FAKE_SPARK_RUNS_UNTIL", str(end))
    return Running(spark_submit, secrets_dir, end)


def operator(dag, job, conf=None, **kwargs):
    return ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", dag=dag, conf={KEY: job.reference, **(conf or {})}, **kwargs
    )


def rotated(job, number):
    """Return steps that rotate the secret once ``number`` jobs have begun, and wait for the next."""
    return lambda: (job.has_begun(number), job.rotate(VALUES[number]), job.has_begun(number + 1))


def is_shown(text, out, capfd):
    """Wait until ``text`` was printed, and add to ``out`` what was."""
    return eventually(lambda: out.append("".join(capfd.readouterr())) or text in "".join(out))


def test_a_subclass_that_records_an_asset_after_a_restart_shows_no_value(dag, run_task, job, capfd):
    class Recording(ConfiguredSparkSubmitOperator):
        template_fields = (*ConfiguredSparkSubmitOperator.template_fields, "secret")

        def __init__(self, *, secret, **kwargs):
            super().__init__(**kwargs)
            self.secret = secret

        def _get_hook(self):
            self.kept = Kept(self.secret)
            return super()._get_hook()

        def execute(self, context):
            super().execute(context)
            context["outlet_events"][Asset("x://a")].extra = {"secret": self.kept.value}

    task = Recording(
        task_id="job", application="job.py", dag=dag, conf={KEY: job.reference}, secret=job.reference, streaming=True
    )
    with job.during(rotated(job, 1)):
        run = run_task(task)
    assert run.task.kept.value == VALUES[1]
    assert VALUES[1] not in everything_shown(run, capfd)


def test_the_next_job_has_what_pre_execute_has_added(dag, run_task, job, spark_submit):
    def change(context):
        context["task"].conf.update({"spark.app.late": "added", "spark.app.y": "2"})

    with job.during(rotated(job, 1)):
        run_task(operator(dag, job, {"spark.app.y": "1"}, streaming=True, pre_execute=change))

    plain = [{key: one.conf[key] for key in ("spark.app.late", "spark.app.y")} for one in spark_submit()]
    assert plain == [{"spark.app.late": "added", "spark.app.y": "2"}] * 2
    assert job.passwords() == VALUES[:2]


def test_what_pre_execute_has_added_to_the_context_is_unchanged_after_a_restart(dag, run_task, job):
    seen = []

    @configured
    class Looking(SparkSubmitOperator):
        def execute(self, context):
            seen.append(context["client"].value)
            super().execute(context)

    def keep(context):
        context.update(client=Shown(VALUES[0]))

    looking = Looking(
        task_id="job", application="job.py", dag=dag, conf={KEY: job.reference}, streaming=True, pre_execute=keep
    )
    with job.during(rotated(job, 1)):
        run = run_task(looking)

    assert (run.state, seen) == ("success", [VALUES[0]] * 2)


def test_three_rotations_are_three_reloads_in_one_try(dag, run_task, job, capfd):
    with job.during(rotated(job, 1), rotated(job, 2), rotated(job, 3)):
        run = run_task(operator(dag, job, streaming=True))

    assert run.state == "success"
    assert job.passwords() == VALUES
    shown = "".join(capfd.readouterr()) + repr(run.rendered) + repr(run.supervisor.sent("SetRenderedFields"))
    assert shown.count("Restart: ${dir:") == 3
    assert "c4nary" not in shown
    assert f"{KEY}={job.reference}" in shown.replace("\\", "")


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"reload_action": "restart"}, id="by an argument"),
        pytest.param({"conf": {"config.reload.action": " Restart"}}, id="in conf, by the name in KIP-297"),
        pytest.param({"conf": {"config.action.reload": "restart"}}, id="in conf, by the name in Kafka"),
        pytest.param(
            {"conf": {"config.reload.action": "restart"}, "reload_action": "none"}, id="in conf, against the argument"
        ),
    ],
)
def test_a_restart_can_be_asked_for(dag, run_task, job, asked):
    with job.during(rotated(job, 1)):
        run = run_task(operator(dag, job, **asked))

    assert run.state == "success"
    assert job.passwords() == VALUES[:2]
    assert all("reload" not in key for submission in job.submissions() for key in submission.conf)


def test_a_restart_can_be_the_default_of_a_connection(dag, run_task, job, connections, monkeypatch):
    extra = {**connections, "config.reload.action": "restart"}
    monkeypatch.setenv(
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps({"conn_type": "config_providers", "extra": extra})
    )
    with job.during(rotated(job, 1)):
        run_task(operator(dag, job))
    assert job.passwords() == VALUES[:2]


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({}, id="by default"),
        pytest.param({"streaming": True, "reload_action": "none"}, id="by an argument"),
        pytest.param({"streaming": True, "conf": {"config.reload.action": "none"}}, id="in conf"),
    ],
)
def test_a_batch_job_goes_on_with_the_values_that_it_has(dag, run_task, job, asked):
    before = set(threading.enumerate())
    watching = []

    def look():
        job.has_begun(1)
        watching.extend(t.name for t in set(threading.enumerate()) - before if t.name.startswith("config-"))
        job.rotate(VALUES[1])

    with job.during(look):
        run = run_task(operator(dag, job, **asked))
    assert run.state == "success"
    assert job.passwords() == VALUES[:1]
    assert watching == []


def test_a_rotation_to_the_same_value_is_no_reload(dag, run_task, job):
    with job.during(lambda: (job.has_begun(1), job.rotate(VALUES[0])), rotated(job, 1)):
        run_task(operator(dag, job, streaming=True))
    assert job.passwords() == VALUES[:2]


def test_the_job_goes_on_while_its_new_configuration_is_not_usable(dag, run_task, job, capfd):
    def break_and_mend():
        job.has_begun(1)
        job.secret.write_bytes(b"\xff")
        job.secret.unlink()
        assert eventually(lambda: not job.secret.exists())
        job.rotate(VALUES[1])
        job.has_begun(2)

    with job.during(break_and_mend):
        run = run_task(operator(dag, job, streaming=True))
    assert run.state == "success"
    assert job.passwords() == VALUES[:2]


def test_a_value_of_the_wrong_type_reloads_nothing_and_the_log_says_why(dag, run_task, job, capfd):
    job.secret.write_text("2")
    out = []

    def rotate():
        job.has_begun(1)
        job.rotate("many")
        assert is_shown("goes on as it is", out, capfd)

    with job.during(rotate):
        run = run_task(operator(dag, job, conf={"spark.executor.cores": job.reference}, streaming=True))
    assert run.state == "success"
    assert len(job.submissions()) == 1
    assert "spark.executor.cores" in "".join(out)
    assert "many" not in "".join(out)


@pytest.mark.parametrize("value", [f" {VALUES[1]}", f"{VALUES[1]}\t"])
def test_a_value_that_cannot_be_delivered_stops_no_job_and_the_log_says_why(dag, run_task, job, capfd, value):
    out = []

    def rotate():
        job.has_begun(1)
        job.rotate(value)
        assert is_shown("goes on as it is", out, capfd)
        job.rotate(VALUES[2])
        job.has_begun(2)

    with job.during(rotate):
        run = run_task(operator(dag, job, streaming=True))
    assert run.state == "success"
    assert job.passwords() == [VALUES[0], VALUES[2]]
    assert f"{KEY}: its value begins or ends with a space" in "".join(out)
    assert VALUES[1] not in "".join(out)


@pytest.mark.parametrize(
    ("program", "module", "name", "arguments"),
    [
        pytest.param("spark-sql", "spark_sql", "SparkSqlOperator", {"sql": "select 1"}, id="sql"),
        pytest.param(
            "spark-pipelines",
            "spark_pipelines",
            "SparkPipelinesOperator",
            {"pipeline_spec": "flights.yml"},
            id="pipelines",
        ),
    ],
)
def test_a_value_that_cannot_be_delivered_stops_no_job_of_another_program(
    dag, run_task, secrets_dir, tmp_path, monkeypatch, capfd, program, module, name, arguments
):
    stock = getattr(pytest.importorskip(f"{_OPERATORS}.{module}", reason="Spark provider before 6"), name)
    end, out = tmp_path / "end", []
    monkeypatch.setenv("FAKE_SPARK_RUNS_UNTIL", str(end))
    (folder := tmp_path / "other").mkdir()
    job = Running(recording(program, folder, monkeypatch), secrets_dir, end)

    def rotate():
        job.has_begun(1)
        job.rotate(f"{VALUES[1]} ")
        assert is_shown("goes on as it is", out, capfd)

    task = configured(stock)(task_id="job", dag=dag, conf={KEY: job.reference}, streaming=True, **arguments)
    with job.during(rotate):
        run = run_task(task)
    assert run.state == "success", run.error
    assert len(job.submissions()) == 1


def test_a_variable_that_cannot_be_delivered_stops_no_job(dag, run_task, job, capfd):
    out = []

    def rotate():
        job.has_begun(1)
        job.rotate(f"{VALUES[1]}\0")
        assert is_shown("goes on as it is", out, capfd)

    with job.during(rotate):
        run = run_task(operator(dag, job, env_vars={"PASSWORD": job.reference}, streaming=True))
    assert run.state == "success"
    assert len(job.submissions()) == 1


def test_a_job_that_fails_by_itself_fails_its_task(dag, run_task, job, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "3")
    with job.during(lambda: job.has_begun(1)):
        run = run_task(operator(dag, job, streaming=True))
    assert run.state == "failed"
    assert len(job.submissions()) == 1


def test_a_job_whose_old_secret_is_refused_before_the_settling_time_is_over_begins_anew(
    dag, run_task, job, monkeypatch, capfd
):
    monkeypatch.setenv("FAKE_SPARK_FAILURES", "1")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING", "3600")
    with job.during(lambda: (job.has_begun(1), job.rotate(VALUES[1]))):
        run = run_task(operator(dag, job, streaming=True))

    assert run.state == "success"
    assert job.passwords() == VALUES[:2]
    shown = "".join(capfd.readouterr())
    assert "the job failed after" in shown
    assert "c4nary" not in shown


def test_no_more_reloads_than_are_allowed_happen_in_an_hour(dag, run_task, job, monkeypatch, capfd):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RELOADS_PER_HOUR", "1")
    out = []

    def rotate():
        rotated(job, 1)()
        job.rotate(VALUES[2])
        assert is_shown("A restart waits", out, capfd)

    with job.during(rotate):
        run_task(operator(dag, job, streaming=True))
    assert job.passwords() == VALUES[:2]


def test_no_thread_is_left_after_the_job(dag, run_task, job):
    before = set(threading.enumerate())
    with job.during(rotated(job, 1)):
        run_task(operator(dag, job, streaming=True))
    assert eventually(lambda: not [t for t in set(threading.enumerate()) - before if t.name.startswith("config-")])


@pytest.mark.parametrize("key", ["config.reload.action", "config.action.reload"])
def test_another_action_is_a_problem_even_in_a_layer_that_loses(dag, run_task, job, tmp_path, key):
    (tmp_path / "a.properties").write_text(f"{key}=reboot\n")
    run = run_task(
        operator(dag, job, conf={"config.reload.action": "none"}, config_files=[str(tmp_path / "a.properties")])
    )
    assert run.state == "failed"
    assert f"{key}: 'reboot' is invalid; use none or restart" in str(run.error)
    assert job.submissions() == []


def test_another_action_is_a_problem_when_the_dag_is_parsed(dag, job):
    with pytest.raises(ConfigException, match="reload_action: 'reboot' is invalid; use none or restart"):
        operator(dag, job, reload_action="reboot")


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A file that exists when the job was told to end, which it ignores."""
    monkeypatch.setenv("FAKE_SPARK_IS_TOLD", str(tmp_path / "told"))
    return tmp_path / "told"


def processes_of(job):
    """Return what runs below this process, except for helpers of Python."""
    return [child for child in psutil.Process().children(recursive=True) if "spark-submit" in command_of(child)]


def command_of(process):
    """Return the command of a process; empty if it has ended."""
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def test_a_task_that_is_killed_while_its_job_is_stopped_submits_nothing_and_leaves_no_process(dag, run_task, job, told):
    def kill():
        job.has_begun(1)
        job.rotate(VALUES[1])
        assert eventually(told.exists)
        os.kill(os.getpid(), signal.SIGTERM)
        assert eventually(lambda: not processes_of(job))

    with job.during(kill):
        run = run_task(operator(dag, job, streaming=True))

    assert run.state == "failed"
    assert job.passwords() == VALUES[:1]
    assert processes_of(job) == []


def test_a_job_that_ends_by_itself_while_it_is_stopped_has_succeeded(dag, run_task, job, told):
    with job.during(lambda: (job.has_begun(1), job.rotate(VALUES[1]), eventually(told.exists))):
        run = run_task(operator(dag, job, streaming=True))

    assert run.state == "success"
    assert job.passwords() == VALUES[:1]


def test_a_job_that_has_skipped_its_task_is_not_submitted_again(dag, run_task, job):
    begun = []

    class Skipping(ConfiguredSparkSubmitOperator):
        def _get_hook(self):
            begun.append("a job")
            job.rotate(VALUES[1])
            raise AirflowSkipException

    run = run_task(Skipping(task_id="job", application="job.py", dag=dag, conf={KEY: job.reference}, streaming=True))

    assert run.state == "skipped"
    assert begun == ["a job"]


def test_a_stop_that_failed_does_not_count_as_a_kill(dag, job):
    class Unstoppable(ConfiguredSparkSubmitOperator):
        def on_kill(self):
            super().on_kill()
            raise OSError("the cluster is away")

    running = Unstoppable(task_id="job", application="job.py", dag=dag, conf={KEY: job.reference})
    with pytest.raises(OSError, match="away"):
        running._stop_job()

    running._try_state.refuse_after_kill()


def test_a_task_that_is_killed_while_spark_submit_starts_ends_it(dag, run_task, job):
    """The kill comes before the hook knows its process."""

    class Killed(ConfiguredSparkSubmitOperator):
        def _get_hook(self):
            hook = super()._get_hook()
            hook.on_kill()
            return hook

    run = run_task(Killed(task_id="job", application="job.py", dag=dag, conf={KEY: job.reference}))
    job.end()

    assert run.state == "failed"
    assert processes_of(job) == []


@pytest.mark.slow
def test_a_task_that_is_killed_while_its_first_rendering_imports_modules_ends_without_another_error():
    script = Path(__file__).with_name("killed_while_rendering.py")
    subprocess.run([sys.executable, script], check=True, cwd=script.parents[2])


def test_a_task_that_is_killed_while_its_references_are_resolved_does_not_begin_its_job(dag, run_task, job):
    """A stock operator has nothing to kill by then, and would submit its job afterwards."""
    begun = []

    class Submitting(BaseOperator):
        template_fields = ("text",)

        def __init__(self, *, text, **kwargs):
            super().__init__(**kwargs)
            self.text = text

        def execute(self, context):
            begun.append(self.text)

    class Killed(configured(Submitting)):
        def _resolve_job(self, context, jinja_env):
            super()._resolve_job(context, jinja_env)
            os.kill(os.getpid(), signal.SIGTERM)

    run = run_task(Killed(task_id="job", text=job.reference, dag=dag))

    assert run.state == "failed"
    assert str(run.error) == "The task was killed before its job began. No job is left."
    assert begun == []


def notes(run):
    return [line for line in run.rendered["effective_config"] if line.startswith("! This job is not restarted")]


@pytest.mark.slow
def test_an_operator_that_cannot_be_restarted_says_so_and_is_not_watched(dag, run_task, job, monkeypatch):
    from airflow.providers.apache.spark.operators.spark_pyspark import PySparkOperator

    threads = []
    run = run_task(
        configured(PySparkOperator)(
            task_id="job",
            dag=dag,
            python_callable=lambda: threads.extend(thread.name for thread in threading.enumerate()),
            op_kwargs={"password": job.reference},
            streaming=True,
        ),
        finalize=False,
    )

    assert len(notes(run)) == 1
    assert "cannot be stopped safely" in notes(run)[0]
    assert not [name for name in threads if name.startswith("config-")]


def test_a_job_that_can_be_restarted_has_no_note(dag, run_task, job):
    job.end()
    assert notes(run_task(operator(dag, job, streaming=True))) == []


def test_a_change_of_dynamic_configuration_reaches_a_running_job(dag, run_task, job, store, monkeypatch, capfd):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__FOLLOW_INTERVAL", "1")
    task = ConfigResource.of_task("flights", "job")

    def alter():
        job.has_begun(1)
        operation = AlterConfigOp("spark.app.limit", "9", OpType.SET)
        ConfigAdmin(store).incremental_alter_configs({task: [operation]})
        job.has_begun(2)

    with job.during(alter):
        run = run_task(operator(dag, job, streaming=True))
    assert run.state == "success"
    assert job.submissions()[-1].conf["spark.app.limit"] == "9"
    assert "Restart: the dynamic configuration changed" in "".join(capfd.readouterr())


def test_a_refresh_by_which_no_value_differs_is_no_reload(dag, run_task, job, store, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__FOLLOW_INTERVAL", "1")

    def refresh():
        job.has_begun(1)
        ConfigAdmin(store).refresh([ConfigResource.of_task("flights", "job")])
        rotated(job, 1)()

    with job.during(refresh):
        run_task(operator(dag, job, streaming=True))
    assert job.passwords() == VALUES[:2]
