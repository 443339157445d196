"""The parts of the demo that need neither Airflow nor Spark."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dags_examples.demo import __main__ as command
from dags_examples.demo import metadata
from dags_examples.demo.airflow_cli import Airflow
from dags_examples.demo.audit import Audit, Audited
from dags_examples.demo.java import NoJavaError, java_version, require_java
from dags_examples.demo.metadata import Setting, read_setting
from dags_examples.demo.pipeline import PROGRESS, Found, Outcome
from dags_examples.demo.search import Finding
from dags_examples.demo.show import Screen, as_json
from dags_examples.demo.workspace import (
    CONF,
    PASSWORD,
    Workspace,
    WorkspaceError,
    make_secret,
    number_of_flights,
    unpack_flights,
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="17"),
        pytest.param('java version "21"', 21, id="21"),
        pytest.param('java version "1.8.0_402"', 8, id="8"),
        pytest.param("command failed", None, id="no-version"),
    ],
)
def test_the_version_of_java_is_read(text: str, version: int | None) -> None:
    assert java_version(text) == version


def test_a_missing_java_is_said_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(NoJavaError, match=r"Java 17 or newer, and there is no java on the PATH\. Install"):
        require_java()


def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin/java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'java version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(NoJavaError, match="is 11"):
        require_java()


def test_the_demo_does_not_start_without_java(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert command.main(["--dir", str(tmp_path / "demo")]) == 2
    assert "Spark needs Java 17" in capsys.readouterr().out
    assert not (tmp_path / "demo").exists()


def test_a_directory_that_no_demo_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(WorkspaceError, match="Name another directory"):
        Workspace(tmp_path).create()

    assert (tmp_path / "thesis.tex").exists()


def test_the_directory_of_an_earlier_demo_is_made_anew(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "demo")
    workspace.create()
    workspace.log.touch()

    workspace.create()

    assert not workspace.log.exists()


class Interrupted(Workspace):
    """A directory whose creation is interrupted."""

    @property
    def derby(self) -> Path:
        """Raise what Ctrl-C raises."""
        raise KeyboardInterrupt


def test_what_an_interrupted_demo_leaves_is_made_anew(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Interrupted(tmp_path / "demo").create()

    Workspace(tmp_path / "demo").create()

    assert (tmp_path / "demo/derby").is_dir()


def test_nobody_else_can_read_a_secret(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "demo")
    workspace.create()
    make_secret(workspace.secrets, PASSWORD)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (workspace.secrets, workspace.secrets / PASSWORD)]
    assert modes == [0o700, 0o600]


def test_every_secret_is_another(tmp_path: Path) -> None:
    assert make_secret(tmp_path, "one") != make_secret(tmp_path, "two")


def test_the_environment_of_the_caller_does_not_reach_airflow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "theirs")
    monkeypatch.setenv("SPARK_HOME", "/theirs")
    monkeypatch.setenv("JAVA_HOME", "/theirs")

    environment = Workspace(tmp_path).environment(secrets_dir=tmp_path)

    assert {"AIRFLOW__CORE__FERNET_KEY", "SPARK_HOME"}.isdisjoint(environment)
    assert environment["JAVA_HOME"] == "/theirs"


@pytest.mark.parametrize(("every", "flights"), [pytest.param(1, 336_776, id="all"), (10, 33_678), (10**9, 1)])
def test_the_flights_are_all_there_or_one_of_so_many(tmp_path: Path, every: int, flights: int) -> None:
    pytest.importorskip("pyspark")
    unpack_flights(tmp_path, every=every)

    assert number_of_flights(tmp_path) == flights


@pytest.mark.parametrize("every", ["0", "-1", "many"])
def test_the_demo_has_at_least_every_flight_once(every: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--every", every])

    assert "--every" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        pytest.param(
            "spark.a = 4   # DAG_CONFIG, conf",
            Setting("spark.a", "4", "DAG_CONFIG", "conf", ()),
            id="alone",
        ),
        pytest.param(
            "spark.a = 4   # RUN_CONFIG, dag_run.conf['spark_conf']; beats DAG_CONFIG conf = 8; "
            "beats STATIC_FILE_CONFIG base.properties:3 = 200",
            Setting(
                "spark.a",
                "4",
                "RUN_CONFIG",
                "dag_run.conf['spark_conf']",
                ("DAG_CONFIG conf = 8", "STATIC_FILE_CONFIG base.properties:3 = 200"),
            ),
            id="two-beaten",
        ),
        pytest.param(
            "spark.a = ${mounted:/run:x}   # y = z   # DAG_CONFIG, conf",
            Setting("spark.a", "${mounted:/run:x}   # y = z", "DAG_CONFIG", "conf", ()),
            id="value-that-looks-like-the-rest",
        ),
    ],
)
def test_a_line_of_the_effective_configuration_is_read(line: str, setting: Setting) -> None:
    assert read_setting(line) == setting


def test_the_effective_configuration_of_the_latest_run_is_read(tmp_path: Path) -> None:
    database = tmp_path / "airflow.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE dag_run (dag_id, run_id, logical_date)")
        connection.execute("CREATE TABLE rendered_task_instance_fields (dag_id, run_id, task_id, rendered_fields)")
        for run, value in (("2013-01-01", "old"), ("2013-01-02", "new")):
            fields = json.dumps({"effective_config": [f"spark.a = {value}   # DAG_CONFIG, conf"]})
            connection.execute("INSERT INTO dag_run VALUES ('flights', ?, ?)", (run, run))
            row = ("flights", run, "report", fields)
            connection.execute("INSERT INTO rendered_task_instance_fields VALUES (?, ?, ?, ?)", row)
        connection.commit()

    found = metadata.effective_configs(database, dag_id="flights", tasks=["report", "join"])

    assert {task: [setting.value for setting in settings] for task, settings in found.items()} == {
        "report": ["new"],
        "join": [],
    }


CLEAN = Found(searched={}, forms=(), findings=(), unread=())


class KeepsWords(Airflow):
    """Keeps the words of a command, and says that it failed."""

    def run(self, arguments: Sequence[str]) -> int:
        for word in arguments:
            self.on_line(word)
        return 1


def test_the_audit_leaves_out_nothing_but_the_secrets(tmp_path: Path) -> None:
    workspace, words = Workspace(tmp_path / "work"), list[str]()
    for folder in (workspace.lake, workspace.events, workspace.secrets, workspace.wrong_secrets):
        folder.mkdir(parents=True)

    Audit(workspace, KeepsWords({}, tmp_path, tmp_path / "log", words.append), []).clean()

    assert {str(workspace.lake), str(workspace.events)} <= set(words)
    assert not {str(workspace.secrets), str(workspace.wrong_secrets)} & set(words)


AUDITED = Audited("demo-audit.html", "Nothing found.", "planted/task.log:2", ["planted/task.log:2"])


def outcome_of(**fields: Any) -> Outcome:
    return Outcome(**{"wrong_password_refused": True, "found": CLEAN, "audited": AUDITED, **fields})


@pytest.mark.parametrize(
    ("outcome", "is_good"),
    [
        pytest.param(outcome_of(), True, id="all-well"),
        pytest.param(outcome_of(wrong_password_refused=False), False, id="wrong-password-taken"),
        pytest.param(outcome_of(found=None), False, id="not-searched"),
        pytest.param(outcome_of(found=Found({}, (), (Finding("a", "b", "c"),), ())), False, id="leak"),
        pytest.param(outcome_of(found=Found({}, (), (), ("sealed",))), False, id="left-unread"),
        pytest.param(outcome_of(audited=None), False, id="not-audited"),
        pytest.param(outcome_of(audited=replace(AUDITED, verdict="")), False, id="audit-found-something"),
        pytest.param(outcome_of(audited=replace(AUDITED, found=[])), False, id="planted-password-overlooked"),
        pytest.param(outcome_of(audited=replace(AUDITED, found=["a:1"])), False, id="another-place"),
    ],
)
def test_the_verdict_is_good_only_when_all_is_proved(outcome: Outcome, is_good: bool) -> None:
    assert outcome.is_good is is_good


def shown(outcome: Outcome, capsys: pytest.CaptureFixture[str]) -> str:
    Screen(Path("/home/me/project")).outcome(outcome)
    return capsys.readouterr().out


def test_the_screen_says_when_nothing_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(Outcome(wrong_password_refused=True, found=CLEAN), capsys)

    assert "Places where a password was found: none" in text
    assert "Wrong password: the job failed, as it should" in text


def test_the_screen_says_where_a_password_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    leak = Finding("/home/me/project/build/demo/demo.log", "the password", "raw")

    text = shown(Outcome(wrong_password_refused=True, found=Found({}, (), (leak,), ())), capsys)

    assert "FOUND the password (raw) in build/demo/demo.log" in text
    assert "none" not in text


def test_the_screen_shows_each_setting_with_what_it_beat(capsys: pytest.CaptureFixture[str]) -> None:
    beaten = (f"STATIC_FILE_CONFIG {CONF}/base.properties:3 = 8",)
    setting = Setting("spark.a", "${vault:x:y}", "DAG_CONFIG", "conf", beaten)

    text = shown(Outcome(configs={"report": [setting]}), capsys)

    row = next(line for line in text.splitlines() if "spark.a" in line)
    assert " ".join(row.split()) == "spark.a ${vault:x:y} DAG_CONFIG conf STATIC_FILE_CONFIG base.properties:3 = 8"


def test_the_outcome_as_json_says_whether_all_is_well() -> None:
    assert json.loads(as_json(outcome_of()))["ok"] is True


def test_the_screen_shows_the_audit(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(outcome_of(), capsys)

    assert "Audit of what was left behind: Nothing found.\nIts page: demo-audit.html\n" in text
    assert "Password planted in planted/task.log:2\nAudit found planted/task.log:2\n" in text


def test_the_screen_says_if_the_audit_overlooks_the_planted_password(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(outcome_of(audited=replace(AUDITED, verdict="", found=[])), capsys)

    assert "it found something, or could not read everything" in text
    assert "The audit did not find the planted password, and only that" in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("[info] [flights] 3 rows [airflow.task.hooks.x] loc=y.py:9", "3 rows", id="airflow"),
        pytest.param("[flights] by rule {'a': [1]}", "by rule {'a': [1]}", id="alone"),
        pytest.param("26/11/20 WARN something", None, id="spark"),
    ],
)
def test_what_a_job_says_is_found_in_the_log(line: str, said: str | None) -> None:
    found = PROGRESS.search(line)

    assert (found and found["line"]) == said
