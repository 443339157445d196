"""A real Airflow: scheduler, DAG processor, API server and LocalExecutor, over SQLite, on loopback."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import pytest

from tests.limits import LONGEST, PATIENT_AIRFLOW
from tests.servers import quick_python
from tests.servers.ports import free_port

CANARY = f"c4nary-{token_hex(8)}/val+1"
PARTS = ("scheduler", "dag-processor", "triggerer", "api-server")


class Process(Protocol):
    """A process that was started, the first of its session."""

    @property
    def pid(self) -> int: ...

    def wait(self, timeout: float) -> int: ...


class Airflow:
    """One deployment in a folder of its own; ``with`` starts its processes and ends them again."""

    parts: Sequence[str] = PARTS
    path: str = ""
    """The path of its address, as behind a proxy."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.dags = home / "dags"
        self.logs = home / "logs"
        self.events = home / "spark-events"
        self.secrets = home / "sealed"
        self.port = free_port()
        for folder in (self.dags, self.logs, self.events, self.secrets, home / "tmp"):
            folder.mkdir(parents=True)
        self.environ = {**os.environ, **self._environ(), **settings}
        self._running = ExitStack()

    def _environ(self) -> dict[str, str]:
        providers = {
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": str(self.secrets),
        }
        return {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.server}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__API__BASE_URL": self.server,
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API_AUTH__JWT_SECRET": "only-for-this-test-" * 4,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db?timeout={LONGEST:g}",
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.logs),
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",  # a file that changes is read at once
            "AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED": "True",
            **PATIENT_AIRFLOW,
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
            "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": providers}),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": str(self.home / "tmp"),
        }

    @property
    def server(self) -> str:
        """The address of its API server."""
        return f"http://127.0.0.1:{self.port}{self.path}"

    def seal(self, name: str, value: str) -> str:
        """Store a secret, and give the reference to it."""
        (self.secrets / name).write_text(value)
        return f"${{dir:{self.secrets}:{name}}}"

    def cli(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run an ``airflow`` command to its end."""
        result = quick_python.run("-m", "airflow", *words, env=self.environ, cwd=self.home)
        return _checked(result) if check else result

    def __enter__(self) -> Airflow:
        migrated = quick_python.run("-m", "airflow", "db", "migrate", env=self.environ, cwd=self.home)
        assert migrated.returncode == 0, migrated.stdout + migrated.stderr
        processes = [self._start(part) for part in self.parts]
        self._running.enter_context(stopped(processes))
        self.wait("the API server", lambda: self._get("/api/v2/version", token=None))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self, part: str) -> Process:
        output = self.home / f"{part}.out"
        return quick_python.start("-m", "airflow", part, env=self.environ, cwd=self.home, output=output)

    def wait(self, what: str, done: Any, seconds: float = LONGEST) -> Any:
        """Ask ``done`` until it says something true."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if result := _quietly(done):
                return result
            time.sleep(0.5)
        raise AssertionError(f"waited {seconds} s for {what}\n{self.outputs()}")

    def outputs(self) -> str:
        """The last that each process has printed."""
        return "\n".join(f"== {part}\n{self.output(part)[-3000:]}" for part in self.parts)

    def output(self, part: str) -> str:
        """What a process has printed."""
        return (self.home / f"{part}.out").read_text(errors="replace")

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Read the metadata database."""
        with closing(sqlite3.connect(f"file:{self.home}/airflow.db?mode=ro", uri=True, timeout=LONGEST)) as database:
            return database.execute(sql, values).fetchall()

    def rendered(self) -> list[tuple[Any, ...]]:
        """Read all rendered fields; Airflow 3.4 has two tables for them, and names neither as before."""
        tables = self.query(
            "select name from sqlite_master where type = 'table'"
            " and (name = 'rendered_task_instance_fields' or name like 'rtif%')"
        )
        return [row for (table,) in tables for row in self.query(f"select * from {table}")]

    def run(self, dag_id: str, conf: dict[str, Any] | None = None, *, seconds: float = LONGEST) -> str:
        """Trigger a DAG, wait for its end and give its state."""
        run = self.trigger(dag_id, conf)
        self.unpause(dag_id)
        return self.end(dag_id, run, seconds=seconds)

    def trigger(self, dag_id: str, conf: dict[str, Any] | None = None) -> str:
        """Trigger a run of a DAG, which starts as soon as the DAG is not paused."""
        self.wait(f"DAG {dag_id}", lambda: self.query("select 1 from serialized_dag where dag_id = ?", dag_id))
        return str(
            self.post(f"/api/v2/dags/{dag_id}/dagRuns", {"conf": conf or {}, "logical_date": None})["dag_run_id"]
        )

    def unpause(self, dag_id: str) -> None:
        """Let a DAG run; ask again where SQLite refuses a write because the scheduler writes."""
        self.wait(
            f"{dag_id} to be unpaused", lambda: self.post(f"/api/v2/dags/{dag_id}", {"is_paused": False}, "PATCH")
        )

    def end(self, dag_id: str, run: str, *, seconds: float = LONGEST) -> str:
        """Wait for the end of a run and give its state."""
        ended = "select state from dag_run where dag_id = ? and run_id = ? and state in ('success', 'failed')"
        return str(self.wait(f"the end of {dag_id}", lambda: self.query(ended, dag_id, run), seconds)[0][0])

    def post(self, path: str, body: dict[str, Any], method: str = "POST") -> Any:
        """Call the REST API."""
        return self._get(path, body=body, method=method)

    def get(self, path: str) -> Any:
        """Read from the REST API."""
        return self._get(path)

    def _get(self, path: str, *, body: Any = None, method: str = "GET", token: str | None = "") -> Any:
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {self._token()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=LONGEST) as response:
            return json.loads(response.read() or b"null")

    def _token(self) -> str:
        with urllib.request.urlopen(f"{self.server}/auth/token", timeout=LONGEST) as response:
            return str(json.loads(response.read())["access_token"])


class Unforked(Airflow):
    """A deployment each of whose processes is a new one, and so shows its own environment."""

    def cli(self, *words: str, check: bool = True, seconds: float = LONGEST) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "airflow", *words]
        result = subprocess.run(
            command, env=self.environ, cwd=self.home, capture_output=True, text=True, timeout=seconds, check=False
        )
        return _checked(result) if check else result

    def _start(self, part: str) -> Process:
        with (self.home / f"{part}.out").open("wb") as output:
            command = [sys.executable, "-m", "airflow", part]
            return subprocess.Popen(
                command, env=self.environ, cwd=self.home, stdout=output, stderr=output, start_new_session=True
            )


class WithoutTriggerer(Airflow):
    """A deployment in which no task is deferred: a process less to start."""

    parts = tuple(part for part in PARTS if part != "triggerer")


def _checked(result: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    if result.returncode:
        raise AssertionError(f"{' '.join(result.args)}: {result.stdout}{result.stderr}")
    return result


def _quietly(call: Any) -> Any:
    try:
        return call()
    except (OSError, sqlite3.Error):
        return None


@contextmanager
def stopped(processes: Sequence[Process]) -> Iterator[None]:
    """End processes, and what they have started, when the ``with`` block ends."""
    try:
        yield
    finally:
        for process in processes:
            _signal_group(process, signal.SIGTERM)
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                _signal_group(process, signal.SIGKILL)
                process.wait(LONGEST)


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1400",
    "--virtual-time-budget=30000",
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Open a page in a real browser, let its scripts run, and give what it shows: ``chromium(url)``."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")

    def show(url: str) -> str:
        profile = tmp_path_factory.mktemp("chromium")
        command = [program, *CHROMIUM_FLAGS, f"--user-data-dir={profile}", "--dump-dom", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
        return html.unescape(re.sub(r"<[^>]+>", "", done.stdout))

    return show


@pytest.fixture(scope="session")
def java() -> None:
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        pytest.skip("no Java: install Java 17")


@pytest.fixture
def sessions(url: str) -> Iterator[Any]:
    """Sessions of the database at ``url``, with the tables of dynamic configuration."""
    from sqlalchemy import create_engine
    from sqlalchemy.orm import sessionmaker

    from tests.dynamic.changing import create_tables

    engine = create_engine(url)
    create_tables(engine)
    yield sessionmaker(engine)
    engine.dispose()


@pytest.fixture(scope="module")
def mysql_address() -> Iterator[str]:
    """Where a MySQL is."""
    from tests.servers.mysql import mysql, mysql_server

    pytest.importorskip("pymysql", reason="PyMySQL is missing: pip install pymysql")
    program = mysql_server()
    if program is None:
        pytest.skip("MySQL is missing: apt-get install mariadb-server")
    with mysql(program) as url:
        yield url


@pytest.fixture
def mysql_url(mysql_address: str) -> str:
    """Where an empty database is, whose transactions are REPEATABLE READ; Airflow's own are READ COMMITTED."""
    from tests.servers.mysql import emptied

    return emptied(mysql_address)
