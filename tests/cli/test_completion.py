"""What a shell proposes when people press the tab key."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from threading import Event

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.cli import completion
from airflow_config_providers.cli.completion import bounded
from tests.cli.conftest import Deployment
from tests.cli.recorded import records_in
from tests.limits import LONGEST

ODD = "x\n\x1b[31m"


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        pytest.param("describe --dag fl", ["flights"], id="dag"),
        pytest.param("describe --dag flights --task nightly.", ["nightly.ingest"], id="task"),
        pytest.param("bisect --dag flights --task repo", ["report"], id="task-of-another-command"),
        pytest.param("describe --dag flights --task report --run ni", ["night-2", "night-1"], id="run"),
        pytest.param("describe --dag flights --task report --diff n", ["now", "night-2", "night-1"], id="sides"),
        pytest.param("describe --server https://a --dag flights --diff n", ["now"], id="sides-of-a-server"),
        pytest.param("describe --default --key spark.executor.memoryO", ["spark.executor.memoryOverhead"], id="key"),
        pytest.param("describe --dag nowhere --task x", [], id="task-of-no-dag"),
        pytest.param("describe --server https://a --dag fl", [], id="dag-of-a-server"),
    ],
)
def test_a_shell_is_given_the_names(deployment: Deployment, tmp_path: Path, words: str, proposed: list[str]):
    line, file = f"airflow config-providers {words}", tmp_path / "proposals"
    with records_in(deployment) as records:
        for run in ("night-1", "night-2", ODD):
            records.run(run)
        done = deployment.airflow(
            _ARGCOMPLETE="1",
            _ARGCOMPLETE_STDOUT_FILENAME=str(file),
            COMP_LINE=line,
            COMP_POINT=str(len(line)),
            AIRFLOW_CONFIG_PROVIDERS_COMPLETION_SECONDS=f"{LONGEST:g}",
        )

    found = [name.strip() for name in file.read_text().split("\v") if name]
    assert [name for name in found if name in proposed] == proposed
    assert (done.code, bool(found)) == (0, bool(proposed))


def test_a_database_that_hangs_gives_no_names():
    is_over = Event()
    try:
        assert bounded(lambda: ["late"] if is_over.wait(LONGEST) else [], seconds=0.05) == []
    finally:
        is_over.set()


def test_an_error_gives_no_names_and_no_output(capfd: pytest.CaptureFixture[str]):
    def fail() -> list[str]:
        raise SystemExit("the database is away")

    assert bounded(fail) == []
    assert capfd.readouterr() == ("", "")


def test_a_name_that_a_terminal_cannot_show_is_not_proposed():
    assert bounded(lambda: ["a", ODD, "b"]) == ["a", "b"]


def test_the_environment_can_name_a_server_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_CONFIG_PROVIDERS_SERVER", "https://a")

    assert completion.dags("", Namespace()) == []


def test_without_a_dag_there_are_no_tasks():
    assert completion.tasks("", Namespace(dag=None)) == []
