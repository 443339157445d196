"""A task run by Airflow's real task runner, without a server: its supervisor and spark-submit are stand-ins."""

from __future__ import annotations

import datetime
import io
import json
import logging
import os
import stat
import sys
import threading
import traceback
import uuid
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import TypeAdapter

from airflow_config_providers.job.records.entries import PREFIX
from airflow_config_providers.operators.try_state import TryState
from airflow_config_providers.testing import InMemoryConfigStore
from tests.canary import CANARY
from tests.limits import LONGEST
from tests.operators.standalone_master import Master
from tests.reversal import reversing_nothing, storing_as_it_is
from tests.servers.own_jvm import own_jvm
from tests.servers.web import WebServer


@contextmanager
def meanwhile(step):
    """Take a step in another thread while the block runs a task."""
    thread = threading.Thread(target=step)
    thread.start()
    try:
        yield
    finally:
        thread.join(LONGEST)


SPARK_SUBMIT = """#!{python} -IS
import json, os, sys
arguments = sys.argv[1:]
confs = [arguments[i + 1] for i, word in enumerate(arguments) if word == "--conf"]
file = arguments[arguments.index("--properties-file") + 1] if "--properties-file" in arguments else None
seen = {{
    "arguments": arguments,
    "conf": dict(conf.split("=", 1) for conf in confs),
    "properties": open(file, encoding="ascii", newline="").read() if file else None,
    "environ": dict(os.environ),
}}
with open({record!r}, "a") as record:
    record.write(json.dumps(seen) + "\\n")
if "--kill" in arguments:
    sys.exit(0)
number = sum(1 for _ in open({record!r}))
if asked := os.environ.get("FAKE_SPARK_PRINTS_AFTER"):
    import time
    while not os.path.exists(asked):
        time.sleep(0.02)
for line in os.environ.get("FAKE_SPARK_PRINTS", "").split("|"):
    print(line.replace("{{number}}", str(number)), flush=True)
if end := os.environ.get("FAKE_SPARK_RUNS_UNTIL"):
    import signal, time
    if told := os.environ.get("FAKE_SPARK_IS_TOLD"):
        signal.signal(signal.SIGTERM, lambda *_: open(told, "w").close())
    print("it got", seen["properties"], flush=True)
    while not os.path.exists(end):
        time.sleep(0.02)
if number <= int(os.environ.get("FAKE_SPARK_FAILURES", "0")):
    sys.exit(1)
sys.exit(int(os.environ.get("FAKE_SPARK_EXIT", "0")))
"""
"""It needs no package: without them Python starts in a fraction of the time, which many tests wait for."""


class Submissions:
    """What spark-submit was called with, one entry a call."""

    def __init__(self, record: Path) -> None:
        self._record = record

    def __call__(self) -> list[SimpleNamespace]:
        text = self._record.read_text() if self._record.exists() else ""
        lines = text.rpartition("\n")[0].splitlines()  # the last can be half written
        return [SimpleNamespace(**json.loads(line)) for line in lines]

    @property
    def only(self) -> SimpleNamespace:
        (submission,) = self()
        return submission

    @property
    def spark_conf(self) -> dict[str, str]:
        """The configuration that Spark would have: --conf overrides the file."""
        from airflow_config_providers.core.properties import parse

        submission = self.only
        file = {entry.key: entry.value for entry in parse(submission.properties or "", name="file")}
        return {**file, **submission.conf}


def recording(name, tmp_path, monkeypatch):
    """Put a program on PATH that records how it was called, and prints what it read."""
    folder = tmp_path / "bin"
    folder.mkdir()
    record = tmp_path / "submissions.jsonl"
    program = folder / name
    program.write_text(SPARK_SUBMIT.format(python=sys.executable, record=str(record)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "spark-conf"))
    return Submissions(record)


@pytest.fixture
def spark_submit(tmp_path, monkeypatch):
    """A program on PATH that records how it was called. The tests in tests/integration run the real one."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return recording("spark-submit", tmp_path, monkeypatch)


@pytest.fixture
def secrets_dir(tmp_path):
    """A folder with one secret a file, which the provider ``dir`` may read."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    return folder


@pytest.fixture
def connections(monkeypatch, secrets_dir, tmp_path):
    """The deployment's connections: Spark on local[1], and two providers."""
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    extra = {
        "config.providers": "dir, files",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(secrets_dir),
        "config.providers.files.class": "file",
        "config.providers.files.param.allowed.paths": str(tmp_path),
    }
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", connection)
    return extra


@pytest.fixture
def diary(tmp_path, monkeypatch):
    """What the deployment's provider writes down."""
    path = tmp_path / "diary"
    extra = {
        "config.providers": "lender",
        "config.providers.lender.class": "tests.operators.lending.LendingConfigProvider",
        "config.providers.lender.param.diary": str(path),
    }
    monkeypatch.setenv(
        "AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", "tests.operators.lending.LendingConfigProvider"
    )
    monkeypatch.setenv(
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps({"conn_type": "config_providers", "extra": extra})
    )
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    return lambda: path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def serve_livy(monkeypatch):
    """Make the default connection lead to a stand-in for Livy."""
    with ExitStack() as stack:

        def serve(livy):
            server = stack.enter_context(WebServer(livy))
            port = int(server.address.rpartition(":")[2])
            connection = {"conn_type": "livy", "host": "127.0.0.1", "port": port, "schema": "http"}
            monkeypatch.setenv("AIRFLOW_CONN_LIVY_DEFAULT", json.dumps(connection))
            return livy

        yield serve


@pytest.fixture
def serve_kubernetes(monkeypatch):
    """Make the default connection lead to a stand-in for Kubernetes."""
    with ExitStack() as stack:

        def serve(kubernetes):
            server = stack.enter_context(WebServer(kubernetes))
            config = {
                "clusters": [{"name": "c", "cluster": {"server": server.address}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
                "users": [{"name": "u", "user": {}}],
            }
            fields = {"conn_type": "kubernetes", "extra": {"kube_config": json.dumps(config)}}
            monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps(fields))
            return kubernetes

        yield serve


class Supervisor:
    """Replaces the supervisor of a task: records messages, and has variables and results."""

    def __init__(
        self, store: InMemoryConfigStore, results: dict[str, object], state: dict[str, object] | None = None
    ) -> None:
        self.messages: list[object] = []
        self._store = store
        self._results = results
        self._state = state
        self._xcoms: dict[tuple[str, str], object] = {}

    def send(self, msg):
        from airflow.sdk.exceptions import ErrorType
        from airflow.sdk.execution_time.comms import ErrorResponse, XComResult

        self.messages.append(msg)
        if type(msg).__name__ == "GetVariable":
            return self._variable(msg.key)
        if type(msg).__name__ == "GetVariableKeys":
            return self._names(msg.prefix)
        if self._state is not None and type(msg).__name__.endswith("TaskStateStore"):
            return self._task_state(msg)
        if "XCom" in type(msg).__name__ and (answer := self._own_xcom(msg)) is not None:
            return answer
        if type(msg).__name__ == "GetXCom":  # without a result, Airflow answers so, too
            return XComResult(key=msg.key, value=json.loads(json.dumps(self._results.get(msg.task_id))))
        return ErrorResponse(error=ErrorType.GENERIC_ERROR) if type(msg).__name__.startswith("Get") else None

    def _own_xcom(self, msg):
        """Return the answer to a message about an XCom of this task; None if it has not pushed it."""
        from airflow.sdk.execution_time.comms import XComResult, XComSequenceSliceResult

        kind, place = type(msg).__name__, (msg.task_id, msg.key)
        if kind == "SetXCom":
            self._xcoms[place] = msg.value
        elif kind == "DeleteXCom":
            self._xcoms.pop(place, None)
        elif place in self._xcoms and kind == "GetXCom":
            return XComResult(key=msg.key, value=self._xcoms[place])
        elif place in self._xcoms and kind == "GetXComSequenceSlice":
            return XComSequenceSliceResult(root=[self._xcoms[place]])
        return None

    def _variable(self, key):
        from airflow.sdk.exceptions import ErrorType
        from airflow.sdk.execution_time.comms import ErrorResponse, VariableResult

        if isinstance(text := self._store.texts.get(key), Exception):
            return ErrorResponse(error=ErrorType.GENERIC_ERROR, detail={"status_code": 500})
        if text is None:
            return ErrorResponse(error=ErrorType.VARIABLE_NOT_FOUND, detail={"key": key})
        return VariableResult(key=key, value=text)

    def _names(self, beginning):
        from airflow.sdk.execution_time.comms import VariableKeysResult

        names = sorted(name for name in self._store.texts if name.startswith(beginning))
        return VariableKeysResult(keys=names, total_entries=len(names))

    def _task_state(self, msg):
        from airflow.sdk.exceptions import ErrorType
        from airflow.sdk.execution_time.comms import ErrorResponse, TaskStateStoreResult

        if type(msg).__name__ == "SetTaskStateStore":
            self._state[msg.key] = json.loads(json.dumps(msg.value))
            return None
        if type(msg).__name__ == "DeleteTaskStateStore":
            self._state.pop(msg.key, None)
            return None
        if msg.key not in self._state:
            return ErrorResponse(error=ErrorType.TASK_STORE_NOT_FOUND, detail={"key": msg.key})
        return TaskStateStoreResult(value=self._state[msg.key])

    async def asend(self, msg):
        return self.send(msg)

    def sent(self, kind: str) -> list[object]:
        """Return the messages of a kind, without those that store the record of the try; ``messages`` has all."""
        found = (message for message in self.messages if type(message).__name__ == kind)
        return [message for message in found if not str(getattr(message, "key", "")).startswith(PREFIX)]


@pytest.fixture
def store():
    """The dynamic configuration of the deployment that tasks run in."""
    return InMemoryConfigStore()


@cache
def adapter_of(kind):
    """Return pydantic's adapter of a type: Airflow makes one for each rendered field, which takes a tenth of a run."""
    return TypeAdapter(kind)


@pytest.fixture
def run_task(monkeypatch, store):
    """Run an operator as a worker does: ``run_task(operator, conf=...)`` gives state, error and what was sent.

    ``results`` are what other tasks returned, by their ids.
    ``retries`` are those that are left; ``state`` is what the task's state store has, and gets.
    ``resumed_with=(method, kwargs)`` goes on with a task that was deferred.
    ``reschedules`` is how often this try was rescheduled before.
    """
    from airflow.sdk._shared.secrets_masker import reset_secrets_masker

    reset_secrets_masker()  # as in a worker's new process; each secret makes masking slower
    ran = []

    def run(operator, *, conf=None, map_index=-1, finalize=True, resumed_with=None, **airflow):
        import structlog
        from airflow.sdk.api.datamodels._generated import DagRun, TIRunContext
        from airflow.sdk.execution_time import task_runner

        supervisor = Supervisor(store, airflow.get("results", {}), airflow.get("state"))
        retries = airflow.get("retries", 0)
        monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
        monkeypatch.setattr(task_runner, "TypeAdapter", adapter_of)
        now = datetime.datetime.now(datetime.UTC)
        next_method, next_kwargs = resumed_with or (None, None)
        dag_run = DagRun.model_construct(
            dag_id=operator.dag_id,
            run_id="run-1",
            logical_date=now,
            data_interval_start=now,
            data_interval_end=now,
            run_after=now,
            start_date=now,
            end_date=None,
            run_type="manual",
            state="running",
            conf=conf or {},
            consumed_asset_events=[],
            partition_key=None,
        )
        ti = task_runner.RuntimeTaskInstance.model_construct(
            id=uuid.uuid4(),
            task_id=operator.task_id,
            dag_id=operator.dag_id,
            run_id="run-1",
            try_number=airflow.get("try_number", 1),
            map_index=map_index,
            dag_version_id=uuid.uuid4(),
            start_date=now,
            task=operator,
            _ti_context_from_server=TIRunContext.model_construct(
                dag_run=dag_run,
                task_reschedule_count=airflow.get("reschedules", 0),
                max_tries=retries,
                should_retry=retries > 0,
                upstream_map_indexes={},
                next_method=next_method,
                next_kwargs=next_kwargs,
            ),
        )
        log = structlog.get_logger("task")
        context = ti.get_template_context()
        state, message, error = task_runner.run(ti, context, log)
        if finalize:
            task_runner.finalize(ti, state, context, log, error)
        rendered = [m.rendered_fields for m in supervisor.sent("SetRenderedFields")]
        ran.append(ti)
        return SimpleNamespace(
            state=str(getattr(state, "value", state)),
            error=error,
            supervisor=supervisor,
            rendered=rendered[0] if rendered else None,
            rendered_last=rendered[-1] if rendered else None,
            task=ti.task,
            ti=ti,
            message=message,
        )

    with reversing_nothing(), storing_as_it_is():  # the canary can have another reference there
        yield run
        for ti in ran:
            if isinstance(state := getattr(ti.task, "_try_state", None), TryState):
                state.run.close()


@pytest.fixture
def dag():
    from airflow.sdk import DAG

    with DAG("flights", schedule=None) as dag:
        yield dag


@pytest.fixture
def password(secrets_dir):
    """A reference to the canary."""
    (secrets_dir / "db-password").write_text(CANARY)
    return f"${{dir:{secrets_dir}:db-password}}"


@pytest.fixture
def run_on(monkeypatch):
    """Let jobs run on a master: ``run_on("yarn", "cluster")``; skip if its hook needs a package that is missing."""

    def connect(master, mode=None):
        if master.startswith("k8s"):
            pytest.importorskip("kubernetes", reason="pip install apache-airflow-providers-cncf-kubernetes")
        extra = {"deploy-mode": mode} if mode else {}
        fields = {"conn_type": "spark", "host": master, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(fields))

    return connect


@pytest.fixture
def state():
    """What the task's state store has."""
    return {}


@pytest.fixture
def sealing(monkeypatch):
    """Set the deployment's secret: ``sealing("another one")``; the first is set already."""

    def set_secret(text):
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", text)

    set_secret("a secret of thirty-two bytes ....")
    return set_secret


@pytest.fixture(name="own_jvm")
def jvm_of_a_test():
    """A JVM of PySpark for this test."""
    with own_jvm():
        yield


@contextmanager
def structlog_to(file):
    """Write what new loggers of structlog log to ``file``, as in a task log."""
    import structlog

    before = structlog.get_config()
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(
        processors=[*before["processors"][:-1], plain],  # where Rich is installed, the usual one shows variables
        logger_factory=structlog.WriteLoggerFactory(file),
        cache_logger_on_first_use=False,
    )
    try:
        yield file
    finally:
        structlog.configure(**before)


@pytest.fixture
def no_leak(dag, run_task, capfd, caplog):
    """Run a task, and give what can be seen too, as ``shown``; the canary is nowhere there."""
    from airflow.serialization.serialized_objects import DagSerialization

    def run(operator, **kwargs):
        stored = json.dumps(DagSerialization.to_dict(dag))
        with caplog.at_level(logging.DEBUG), structlog_to(io.StringIO()) as logged:
            run = run_task(operator, **kwargs)
        told = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
        failed = "".join(traceback.format_exception(run.error)) if run.error else ""
        shown = (
            told
            + "".join(capfd.readouterr())
            + caplog.text
            + logged.getvalue()
            + failed
            + repr(vars(run.task))
            + repr(run.error)
            + stored
        )
        assert CANARY not in shown
        assert CANARY.encode().hex() not in shown
        run.shown = shown
        return run

    return run


@pytest.fixture
def master(diary, monkeypatch):
    """A cluster that the default connection leads to."""
    master = Master(monkeypatch)
    with WebServer(master) as server:
        extra = {"deploy-mode": "cluster", "rest-port": server.address.rpartition(":")[2]}
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1:7077", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        yield master


def wrapping(vault, role, **more):
    """Return a connection whose worker may make secret IDs of the driver's role, and nothing else."""
    params = {f"driver.config.providers.vault.param.wrapping.{name}": text for name, text in more.items()}
    return {
        "config.providers": "vault",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.url": vault.address,
        "config.providers.vault.param.token": vault.token({f"auth/approle/role/{role.name}/secret-id": ["update"]}),
        "driver.config.providers": "vault",
        "driver.config.providers.vault.class": "vault",
        "driver.config.providers.vault.param.url": vault.address,
        "driver.config.providers.vault.param.auth_type": "approle",
        "driver.config.providers.vault.param.role_id": role.role_id,
        "driver.config.providers.vault.param.wrapping.role": role.name,
        **params,
    }
