"""The Spark session of the audit."""

from __future__ import annotations

import logging
import os
import pwd
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("pyspark.sql.session")

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.session import audit_session
from tests.limits import LONGEST, eventually

SESSION = """
from airflow_config_providers.spark.audit.session import audit_session

with audit_session("local[1]"):
    pass
"""

UNFIT = {"spark.sql.extensions": "java.lang.Math"}
"""A class that Spark loads when the context has started, and that has no public constructor."""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jvm")]


@pytest.fixture
def started_jvm() -> None:
    """The JVM, started without ``UNFIT``: what it is started with is in the configuration of each later session."""
    with audit_session("local[1]"):
        pass


def test_messages_of_py4j_are_not_logged_until_the_session_ends(caplog: pytest.LogCaptureFixture):
    def said_by(module: str) -> list[str]:
        caplog.clear()
        logging.getLogger().handle(logging.LogRecord("root", logging.ERROR, f"{module}.py", 1, module, None, None))
        return [record.message for record in caplog.records]

    with audit_session("local[1]"):
        assert (said_by("java_gateway"), said_by("another")) == ([], ["another"])

    assert said_by("java_gateway") == ["java_gateway"]


def test_the_level_of_py4j_is_as_before_when_the_session_ends() -> None:
    logging.getLogger("py4j").setLevel(logging.INFO)
    try:
        with audit_session("local[1]"):
            pass

        assert logging.getLogger("py4j").level == logging.INFO
    finally:
        logging.getLogger("py4j").setLevel(logging.NOTSET)


def test_a_session_that_another_thread_has_made_goes_on() -> None:
    with ThreadPoolExecutor(1) as thread, audit_session("local[1]") as session:
        thread.submit(_in_a_session).result()

        assert session.range(3).count() == 3


def _in_a_session() -> None:
    with audit_session("local[1]"):
        pass


def test_a_session_of_others_keeps_its_settings() -> None:
    key, own = "spark.sql.session.timeZone", "Europe/Berlin"
    with audit_session("local[1]", {key: own}) as of_others:
        with audit_session(configs={"spark.sql.shuffle.partitions": "3"}) as session:
            assert session.conf.get(key) == "UTC"
            assert session.conf.get("spark.sql.shuffle.partitions") == "3"

        assert of_others.conf.get(key) == own
        assert of_others.conf.get("spark.sql.shuffle.partitions") == "8"
        assert of_others.range(3).count() == 3


@pytest.mark.usefixtures("started_jvm")
def test_a_session_that_cannot_be_made_leaves_no_context_that_a_later_audit_takes_for_one_of_others() -> None:
    with pytest.raises(ConfigException, match="Spark did not start"), audit_session("local[1]", UNFIT):
        pass

    with audit_session("local[1]", {"spark.app.name": "a later one"}) as session:
        assert session.sparkContext.appName == "a later one"


def unknown(uid: int) -> None:
    raise KeyError(uid)


@pytest.mark.usefixtures("started_jvm")
def test_a_failure_of_a_java_that_has_started_is_not_taken_for_an_unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwuid", unknown)

    with pytest.raises(ConfigException, match="Spark did not start"), audit_session("local[1]", UNFIT):
        pass


def failure_of_unknown_user(java_home: Path) -> str:
    script = f"import pwd\ndef unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown\n{SESSION}"
    environ = {**os.environ, "JAVA_HOME": str(java_home)}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=False)
    return done.stderr.splitlines()[-1]


def test_a_user_whom_java_does_not_know_is_told_so(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)

    assert f"user {os.getuid()}, who has no entry" in failure_of_unknown_user(tmp_path)


def test_an_unknown_user_without_java_is_told_of_java(tmp_path: Path) -> None:
    assert f"JAVA_HOME is {tmp_path}, but" in failure_of_unknown_user(tmp_path)


def test_a_directory_of_temporary_files_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environ = {**os.environ, "SPARK_SUBMIT_OPTS": f"-Djava.io.tmpdir={tmp_path}/file"}

    done = subprocess.run([sys.executable, "-c", SESSION], env=environ, capture_output=True, text=True, check=False)

    last = done.stderr.splitlines()[-1]
    assert f"Spark cannot write temporary files to {tmp_path}/file: Not a directory. Make room there" in last


def test_an_interrupt_while_the_jvm_starts_leaves_no_jvm() -> None:
    script = (
        "from airflow_config_providers.spark.audit.session import audit_session\nwith audit_session('local[1]'): pass"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert eventually(lambda: len(_of_session(process.pid)) > 1)
        os.kill(process.pid, signal.SIGINT)
        process.wait(LONGEST)

        assert eventually(lambda: not _of_session(process.pid))
    finally:
        for one in _of_session(process.pid):
            os.kill(one, signal.SIGKILL)
        process.wait(LONGEST)


def _of_session(leader: int) -> list[int]:
    """Return the processes of a session that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(session) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found


EMPTY = """
import sys
from airflow_config_providers.deployment.audits import record_reader
from airflow_config_providers.spark.audit.records.past_records import RecordFilter
from airflow_config_providers.spark.audit.records.reference_audit import reference_uses

with record_reader("", "local[2]", {}) as reader:
    records = reader.of_files(sys.argv[1], RecordFilter())
    print(reference_uses(reader.session, records.frame))
"""


def test_a_result_of_nothing_leaves_no_stage_that_prints_errors_when_the_session_stops(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", EMPTY, str(tmp_path)], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
    assert "ERROR" not in done.stderr
    assert "Exception" not in done.stderr


WITH_JVM = """
import os
import threading
from airflow_config_providers.spark.audit.session import audit_session

seen, has_ended = set(), threading.Event()

def look():
    while not has_ended.wait(0.01):
        seen.add("AIRFLOW_CONN_DB" in os.environ)

threading.Thread(target=look, daemon=True).start()
with audit_session("local[1]") as session:
    has_ended.set()
    inherited = session._jvm.java.lang.System.getenv()
    of_worker = dict(session.sparkContext.parallelize([0], 1).flatMap(lambda _: os.environ.items()).collect())
    for name in ("AIRFLOW_CONN_DB", "VAULT_TOKEN", "AWS_REGION"):
        print(name, *(name in environ for environ in (os.environ, inherited, of_worker)))
    print("seen by another thread while it starts:", seen)
"""


def test_the_jvm_and_its_workers_have_no_credentials_of_airflow_and_vault() -> None:
    environ = {**os.environ, "AIRFLOW_CONN_DB": "x://", "VAULT_TOKEN": "x", "AWS_REGION": "x"}

    done = subprocess.run([sys.executable, "-c", WITH_JVM], env=environ, stdout=subprocess.PIPE, text=True, check=True)

    assert done.stdout.splitlines() == [
        "AIRFLOW_CONN_DB True False False",
        "VAULT_TOKEN True False False",
        "AWS_REGION True True True",
        "seen by another thread while it starts: {True}",
    ]


AT_THE_END = f"""
import logging
logging.basicConfig(level=logging.INFO)
{SESSION}"""


def test_py4j_reports_nothing_when_the_process_ends() -> None:
    done = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=True)

    assert "py4j" not in done.stderr


def test_a_start_prints_no_more_than_what_java_says_of_its_modules() -> None:
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=True)

    assert [line for line in done.stderr.splitlines() if "incubator modules" not in line] == []
