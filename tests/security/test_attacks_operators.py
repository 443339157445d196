"""Everything that Airflow lets a task do, by an operator that got references and a canary that must not show."""

from __future__ import annotations

import copy
import datetime
import gc
import json
import logging
import pickle
import re
import sys
import threading
import time
import traceback
import warnings

import pytest
import structlog
from airflow.sdk import DAG, Asset, BaseSensorOperator, task

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.log import reversal
from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.operators.stock import CANARY, OurOperator, StockOperator, everything_shown

pytestmark = pytest.mark.usefixtures("connections")


@pytest.fixture
def password(secrets_dir):
    """A reference to the canary."""
    (secrets_dir / "db-password").write_text(CANARY)
    return f"${{dir:{secrets_dir}:db-password}}"


def ours(kind, dag, **kwargs):
    """Make a task of a stock class, as a deployment's policy finds it, and give it references."""
    made = kind(task_id="job", dag=dag, **kwargs)
    configure_task(made)
    return made


# What came with data


def submit(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", durable=False, dag=dag, **kwargs)


@pytest.mark.parametrize(
    ("where", "kwargs"),
    [
        pytest.param("conf['spark.app.x']", {"conf": {"spark.app.x": "{{ dag_run.conf['x'] }}"}}, id="conf"),
        pytest.param("env_vars['X']", {"env_vars": {"X": "{{ params.x }}"}}, id="environment"),
        pytest.param("application_args[0]", {"application_args": ["{{ dag_run.conf['x'] }}"]}, id="arguments"),
        pytest.param("config_files[0]", {"config_files": ["/{{ dag_run.conf['x'] }}"]}, id="path of a file"),
        pytest.param("name", {"name": "{{ dag_run.conf['x'] }}"}, id="named argument"),
        pytest.param("conf['a']", {"conf": {"a": "${HOME} {{ dag_run.conf['x'] }}"}}, id="beside a shell's variable"),
    ],
)
def test_attack_11_who_triggers_a_run_reads_no_secret_by_a_template(
    dag, run_task, spark_submit, password, where, kwargs
):
    run = run_task(submit(dag, params={"x": password}, **kwargs), conf={"x": password})

    assert isinstance(run.error, ConfigException)
    assert str(run.error).startswith(f"{where}: a reference came in with what a template filled in")
    assert spark_submit() == []


def test_attack_11_nor_by_a_template_in_a_file(dag, run_task, spark_submit, password, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.x={{ dag_run.conf['x'] }}\n")
    run = run_task(submit(dag, config_files=[str(tmp_path / "all.properties")]), conf={"x": password})

    assert "spark.app.x in " in str(run.error)
    assert spark_submit() == []


def test_a_deployment_may_let_them(dag, run_task, spark_submit, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_REFERENCES", "True")
    run_task(submit(dag, conf={"spark.app.x": "{{ dag_run.conf['x'] }}"}), conf={"x": password})

    assert spark_submit.spark_conf["spark.app.x"] == CANARY


def test_attack_11_macros_and_parameters_bring_no_reference(run_task, password):
    seen = []
    dag = DAG("macros", schedule=None, user_defined_macros={"mine": lambda: password}, params={"p": password})
    fields = ["{{ mine() }}", "{{ params.p }}", password]
    run_task(OurOperator(task_id="job", dag=dag, payload=fields, do=lambda self, _: seen.append(self.payload)))

    assert seen == [[password, password, CANARY]]


# Mapped tasks


@pytest.mark.parametrize("kind", [OurOperator, StockOperator], ids=["ours", "by policy"])
@pytest.mark.parametrize(
    "expand",
    [
        pytest.param(lambda partial, x: partial(payload=[x]).expand(command=["a", x]), id="expand"),
        pytest.param(lambda partial, x: partial().expand_kwargs([{}, {"payload": [x], "command": x}]), id="kwargs"),
    ],
)
def test_attack_30_a_mapped_task(dag, run_task, password, capfd, kind, expand):
    seen = []

    def partial(**kwargs):
        do = lambda self, _: seen.append((self.payload, self.command))  # noqa: E731 - short
        return kind.partial(task_id="job", dag=dag, do=do, **kwargs)

    mapped = expand(partial, password)
    configure_task(mapped)
    run = run_task(mapped, map_index=1)

    assert seen == [([CANARY], CANARY)]
    assert CANARY not in everything_shown(run, capfd)


def test_attack_30_the_name_of_a_mapped_task_shows_the_reference(dag, run_task, password):
    def do(self, context):
        context["mine"] = f"for {self.payload}"

    mapped = OurOperator.partial(task_id="job", dag=dag, do=do, map_index_template="{{ mine }}").expand(
        payload=[password]
    )
    run = run_task(mapped, map_index=0)

    assert run.ti.rendered_map_index == f"for {password}"


def test_attack_30_a_mapped_function(dag, run_task, password, capfd):
    seen = []
    with dag:
        mapped = task(lambda x, y: seen.append((x, y)), task_id="job").partial(y=password).expand(x=["a", password])
    configure_task(mapped.operator)
    run = run_task(mapped.operator, map_index=1)

    assert seen == [(CANARY, CANARY)]
    assert CANARY not in everything_shown(run, capfd)


# What runs beside execute


@pytest.mark.parametrize("state", ["success", "failed"])
def test_attack_30_callbacks_and_hooks_see_references(dag, run_task, password, capfd, state):
    seen = {}

    def note(name):
        return lambda context: seen.update({name: repr((context["task"].payload, dict(context)))})

    class HookedOperator(StockOperator):
        def pre_execute(self, context):
            seen["before"] = repr((self.payload, dict(context)))

        def post_execute(self, context, result=None):
            seen["after"] = repr((self.payload, dict(context), result))

        def execute(self, context):
            if self.command == "failed":
                raise RuntimeError(self.payload)
            return {"result": self.payload}

    callbacks = {f"on_{name}_callback": note(name) for name in ("execute", "success", "failure")}
    run = run_task(ours(HookedOperator, dag, payload=password, command=state, **callbacks))

    expected = {"before", "execute"} | ({"after", "success"} if state == "success" else {"failure"})
    assert (run.state, set(seen)) == (state, expected)
    assert all(password in text for text in seen.values())
    assert CANARY not in everything_shown(run, capfd) + repr(seen)


def test_attack_19_a_task_that_takes_too_long(dag, run_task, password, capfd):
    def do(self, context):
        local = self.payload
        time.sleep(5)
        return local

    limit = datetime.timedelta(seconds=0.3)
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do, execution_timeout=limit))
    shown = traceback.TracebackException.from_exception(run.error, capture_locals=True).format()

    assert run.state == "failed"
    assert CANARY not in everything_shown(run, capfd) + "".join(shown)


def test_a_second_try_resolves_anew(dag, run_task, secrets_dir, password):
    seen = []
    job = OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: seen.append(self.payload))
    run_task(job)
    (secrets_dir / "db-password").write_text("changed")
    run_task(job)

    assert seen == [CANARY, "changed"]


def test_when_a_task_is_gone_so_is_all_that_hid_its_values(dag, password):
    streams = sys.stdout, sys.__stderr__
    job = OurOperator(task_id="job", dag=dag, payload=password, do=lambda *_: None).prepare_for_execution()
    job.render_template_fields({})
    assert reversal._active
    assert sys.stdout is not streams[0]
    job.resume_execution("go_on", {"event": 1}, {})
    del job
    gc.collect()

    assert not reversal._active
    assert (sys.stdout, sys.__stderr__) == streams


def test_attack_19_tasks_side_by_side_in_one_process(dag, secrets_dir, capfd):
    problems = []

    def do(self, context):
        for _ in range(30):
            print(self.task_id, self.payload)
            logging.getLogger("side").warning("%s", self.payload)
        raise ValueError(self.payload)

    def run(job):
        job = job.prepare_for_execution()
        job.render_template_fields({})
        try:
            job.resume_execution("go_on", {"event": 1}, {})
        except ValueError as error:
            problems.append(repr(error))

    jobs = []
    for number in range(6):
        (secrets_dir / f"s{number}").write_text(f"c4nary-{number}-zq8v")
        reference = f"${{dir:{secrets_dir}:s{number}}}"
        jobs.append(OurOperator(task_id=f"job{number}", dag=dag, payload=reference, do=do))
    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()

    out = "".join(capfd.readouterr())
    assert len(problems) == 6
    assert "${dir:" in out
    assert not re.search(r"c4nary-\d-zq8v", out + "".join(problems))
    assert not reversal._active


# What a task leaves


def test_attack_30_what_is_said_of_an_asset_shows_the_reference(dag, password):
    from airflow.sdk import AssetAlias
    from airflow.sdk.execution_time.context import OutletEventAccessors
    from airflow.sdk.execution_time.task_runner import _serialize_outlet_events

    def do(self, context):
        context["outlet_events"][Asset("table")].extra["url"] = self.payload
        context["outlet_events"][AssetAlias("alias")].add(Asset("other"), extra={"url": self.payload})

    context = {"outlet_events": OutletEventAccessors()}
    job = OurOperator(task_id="job", dag=dag, payload=password, do=do).prepare_for_execution()
    job.render_template_fields(context)
    job.resume_execution("go_on", {"event": 1}, context)
    job._run.close()
    sent = list(_serialize_outlet_events(context["outlet_events"]))

    assert [event["extra"] for event in sent] == [{"url": password}] * 2


class KeepingOperator(StockOperator):
    """Keeps what it sent, where it kept things before, and in a slot."""

    __slots__ = ("last",)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.sent = []
        self.options = {"depth": {}}

    def execute(self, context):
        self.sent.append(self.payload)
        self.options["depth"]["x"] = self.payload
        self.last = [self.payload]


def test_attack_30_what_is_put_into_an_attribute_shows_the_reference(dag, run_task, password):
    run = run_task(ours(KeepingOperator, dag, payload=password))

    assert run.state == "success"
    assert (run.task.sent, run.task.options, run.task.last) == ([password], {"depth": {"x": password}}, [password])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_of_a_task_is_one_of_the_same_kind(dag, password, copied):
    job = ours(KeepingOperator, dag, payload=password)
    again = copied(job)

    assert type(again) is type(job)
    assert (again.payload, again.task_id, bool(again._run)) == (password, "job", False)


def test_a_class_of_somebody_s_own_below_ours(dag, run_task, password, capfd):
    seen = []

    class TeamOperator(OurOperator):
        template_fields = ("payload", "team")

        def __init__(self, team, **kwargs):
            super().__init__(**kwargs)
            self.team = team

        def execute(self, context):
            self.before = self.team
            return super().execute(context)

    job = TeamOperator(
        task_id="job",
        dag=dag,
        team=password,
        payload=password,
        do=lambda self, _: seen.append((self.before, self.team, self.payload)),
    )
    run = run_task(job)

    assert seen == [(password, CANARY, CANARY)]
    assert type(run.task) is TeamOperator
    assert CANARY not in everything_shown(run, capfd)


def test_a_class_that_is_made_in_a_way_of_its_own(dag, run_task, password):
    class Registering(type(StockOperator)):
        """Stands for a metaclass of somebody's own."""

    class TeamOperator(StockOperator, metaclass=Registering):
        pass

    seen = []
    run_task(ours(TeamOperator, dag, payload=password, do=lambda self, _: seen.append(self.payload)))

    assert seen == [CANARY]


def test_attack_30_several_results_of_a_function(dag, run_task, password, capfd):
    with dag:
        made = task(lambda x: {"a": x, "b": [x]}, task_id="job", multiple_outputs=True)(password)
    configure_task(made.operator)
    run = run_task(made.operator)

    pushed = {message.key: message.value for message in run.supervisor.sent("SetXCom")}
    assert (pushed["a"], pushed["b"]) == (password, [password])
    assert CANARY not in everything_shown(run, capfd)


def test_a_sensor_has_its_values_each_time(dag, run_task, password):
    class WaitingSensor(BaseSensorOperator):
        template_fields = ("payload",)

        def __init__(self, payload, **kwargs):
            super().__init__(**kwargs)
            self.payload = payload

        def poke(self, context):
            seen.append(self.payload)
            return len(seen) > 1

    seen = []
    run = run_task(ours(WaitingSensor, dag, payload=password, poke_interval=0.01))

    assert (run.state, seen) == ("success", [CANARY, CANARY])


def test_an_operator_that_another_one_runs(dag, run_task, password):
    seen = []

    def do(self, context):
        OurOperator(task_id="inner", payload=password, do=lambda self, _: seen.append(self.payload)).execute(context)

    run = run_task(StockOperator(task_id="job", dag=dag, do=do))
    dag.get_task("inner")._run.close()

    assert (run.state, seen) == ("success", [CANARY])


# Templates that become objects


def test_a_dag_that_makes_objects_of_its_fields(run_task, password):
    seen = []
    dag = DAG("native", schedule=None, render_template_as_native_obj=True)
    fields = [password, "{{ [1, 2] }}", f"{password}{{{{ 7 }}}}"]
    run_task(OurOperator(task_id="job", dag=dag, payload=fields, do=lambda self, _: seen.append(self.payload)))

    assert seen == [[CANARY, [1, 2], f"{CANARY}7"]]


def test_a_file_holds_texts_also_there(run_task, spark_submit, tmp_path):
    expected = {"spark.app.a": "1.10", "spark.app.b": "010", "spark.app.c": "['x']", "spark.app.d": "report.sql"}
    (tmp_path / "all.properties").write_text("".join(f"{key}={text}\n" for key, text in expected.items()))
    dag = DAG("native", schedule=None, render_template_as_native_obj=True)
    run_task(submit(dag, config_files=[str(tmp_path / "all.properties")]))

    assert spark_submit.spark_conf == expected


# What is raised and said


def test_attack_19_exceptions_of_every_shape(dag, run_task, password, capfd):
    def do(self, context):
        value = self.payload
        first, second = ValueError(value.encode(), {"k": [value]}, {value: 1}), KeyError(value)
        first.add_note(f"note {value}")
        first.__cause__, second.__cause__ = second, first
        group = ExceptionGroup(f"group {value}", [first, second, ExceptionGroup("inner", [OSError(5, value, value)])])
        group.add_note(value)
        raise group

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    shown = "".join(traceback.TracebackException.from_exception(run.error, capture_locals=True).format())

    assert f"group {password}" in shown
    assert CANARY not in everything_shown(run, capfd) + shown


def test_attack_19_octets_that_are_no_text(dag, run_task, password, capfd):
    job = OurOperator(
        task_id="job", dag=dag, payload=password, do=lambda self, _: (self.payload.encode() + b"\xff").decode()
    )
    run = run_task(job)

    assert isinstance(run.error, UnicodeDecodeError)
    assert CANARY not in everything_shown(run, capfd) + repr((run.error.args, run.error.object))


def test_attack_19_an_error_that_holds_the_request_that_failed(dag, run_task, password):
    import requests

    def do(self, context):
        headers = {"Authorization": f"Bearer {self.payload}"}
        try:
            requests.post("http://127.0.0.1:9/batches", json={"conf": self.payload}, headers=headers, timeout=5)
        except requests.ConnectionError as error:
            raise RuntimeError("no answer") from error

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    request = run.error.__cause__.request

    assert request.body == json.dumps({"conf": password}).encode()
    assert request.headers["Authorization"] == f"Bearer {password}"
    assert CANARY not in repr(vars(request))


def raise_in_thread(value):
    thread = threading.Thread(target=lambda: sys.excepthook(ValueError, ValueError(value), None))
    thread.start()
    thread.join()


def log_exception(value):
    try:
        raise ValueError(value)
    except ValueError:
        logging.getLogger("std").exception("failed", stack_info=True)
        structlog.get_logger("own").exception("failed", stack_info=True)


def warn_captured(value):
    logging.captureWarnings(True)
    warnings.warn(value, stacklevel=1)
    logging.captureWarnings(False)


SAYINGS = {
    "structlog": lambda v: structlog.get_logger("own").info("said", value=v, octets=v.encode(), nested={"k": {v: [v]}}),
    "standard library": lambda v: logging.getLogger("std").warning("said %s", v, extra={"more": v}),
    "exceptions": log_exception,
    "exception hook": lambda v: sys.excepthook(ValueError, ValueError(v), None),
    "exception hook in a thread": raise_in_thread,
    "captured warning": warn_captured,
    "long line": lambda v: print(f"{'x' * 200_000}{v}{'y' * 200_000}"),
    "pieces": lambda v: [sys.stderr.write(piece) for piece in (v[:7], v[7:], "\n")],
    "octets": lambda v: sys.stdout.buffer.write(f"{v}\n".encode()),
    "first standard output": lambda v: print(v, file=sys.__stdout__),
    "first standard error": lambda v: print(v, file=sys.__stderr__),
}


@pytest.mark.parametrize("say", SAYINGS.values(), ids=SAYINGS.keys())
def test_attack_19_however_it_is_said(dag, run_task, password, capfd, caplog, say):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: say(self.payload)))
    said = "".join(capfd.readouterr()) + caplog.text

    assert run.state == "success"
    assert password in said
    assert CANARY not in said


def test_attack_19_a_thread_that_outlives_its_task(dag, run_task, password, capfd):
    go, threads = threading.Event(), []

    def do(self, context):
        value = self.payload

        def later():
            go.wait(10)
            print("printed later", value)
            logging.getLogger("late").error("logged later %s", value)

        threads.append(threading.Thread(target=later))
        threads[0].start()

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    go.set()
    threads[0].join()
    shown = everything_shown(run, capfd)

    assert f"printed later {password}" in shown
    assert CANARY not in shown
