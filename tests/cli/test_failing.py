"""What commands tell beside their results."""

from __future__ import annotations

import inspect
import io
import logging
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest

pytest.importorskip("airflow")

from airflow_config_providers import settings
from airflow_config_providers.cli.audit_common import writing_found
from airflow_config_providers.cli.command_table import commands
from airflow_config_providers.cli.failing import (
    INTERRUPTED,
    REFUSED,
    UNAVAILABLE,
    UNREAD,
    Finished,
    Notes,
    reporting_errors,
)
from airflow_config_providers.cli.lint import lint
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.report_file import LEAK


def functions(command: Any) -> Iterator[Callable[[Any], None]]:
    """Yield what a command runs, or the commands of a group."""
    if hasattr(command, "subcommands"):
        for one in command.subcommands:
            yield from functions(one)
    else:
        path = inspect.getclosurevars(command.func).nonlocals["import_path"]
        yield pkgutil.resolve_name(path)


COMMANDS = [function for group in commands() for function in functions(group)]


@pytest.fixture
def handler() -> Iterator[logging.StreamHandler[TextIO]]:
    """Log to standard output, as Airflow 3.2 does."""
    handler = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("function", COMMANDS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_each_command_reports_its_errors(function: Callable[[Any], None]):
    """Otherwise an error is a traceback, which can show a value."""
    called = inspect.getclosurevars(
        function
    ).globals.values()  # ``plan`` has exit codes of its own around one that does

    assert any(getattr(one, "__code__", None) is reporting_errors(print).__code__ for one in (function, *called))


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_what_the_output_cannot_encode_is_escaped(errors: str):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=errors)
    with redirect_stdout(stream):
        reporting_errors(lambda _: print("zähler"))(SimpleNamespace())

    stream.seek(0)
    assert stream.read() == "z\\xe4hler\n"


def test_what_is_logged_stands_beside_the_results(handler: logging.StreamHandler[TextIO]):
    reporting_errors(lambda _: None)(SimpleNamespace())

    assert handler.stream is sys.stderr


def test_what_libraries_warn_of_is_not_told():
    @reporting_errors
    def command(args: object) -> None:
        warnings.warn("an odd loader", DeprecationWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        command(SimpleNamespace())

    assert caught == []


@pytest.mark.parametrize(
    ("option", "value", "read"),
    [
        pytest.param("ENVIRONMENT_ENABLED", "maybe", settings.environment_enabled, id="not a boolean"),
        pytest.param("PASSWORD_ENCODER_SECRET_CMD", "false", settings.password_encoder_secret, id="command fails"),
    ],
)
def test_a_setting_that_airflow_cannot_read_is_an_error_of_the_command(
    option: str,
    value: str,
    read: Callable[[], object],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv(f"AIRFLOW__CONFIG_PROVIDERS__{option}", value)
    with pytest.raises(SystemExit) as ended:
        reporting_errors(lambda _: read())(SimpleNamespace())  # type: ignore[arg-type, return-value]

    assert ended.value.code == REFUSED
    assert capsys.readouterr().err.startswith("error: ")


def test_what_a_failing_command_has_printed_is_not_shown(capsys: pytest.CaptureFixture[str]):
    from airflow.sdk.exceptions import AirflowConfigException

    ended_by(AirflowConfigException("Cannot execute get-it. Error code is: 1. Output: c4nary\n, Stderr: c4nary"))

    assert capsys.readouterr().err == "error: Cannot execute get-it. Error code is: 1.\n"


def ended_by(end: BaseException, *, after_writing: int = 0) -> object:
    """Return the code of a command that writes so many characters, and raises ``end``."""

    @reporting_errors
    def command(args: object) -> None:
        sys.stdout.write("x" * after_writing)
        raise end

    with pytest.raises(SystemExit) as ended:
        command(SimpleNamespace())
    return ended.value.code


@pytest.mark.parametrize("code", [None, 0, "c4nary"])
def test_code_of_others_that_ends_the_process_does_not_pass_for_success(
    code: object, capsys: pytest.CaptureFixture[str]
):
    assert ended_by(SystemExit(code)) == REFUSED
    assert capsys.readouterr().err == "error: The command was ended by code that it ran, which raised SystemExit.\n"


def test_a_command_ends_with_the_code_of_what_it_found():
    assert ended_by(Finished(1)) == 1


def test_ctrl_c_ends_a_command_without_a_stack_trace(capsys: pytest.CaptureFixture[str]):
    @reporting_errors
    def command(args: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        command(SimpleNamespace())

    assert end.value.code == INTERRUPTED
    assert end.value.__context__ is None
    assert capsys.readouterr().err == "error: Interrupted.\n"


@contextmanager
def without_a_reader(redirect: type[redirect_stdout[TextIO] | redirect_stderr[TextIO]]) -> Iterator[None]:
    """Write output or errors into a pipe that its reader has closed, as ``head`` does."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream, redirect(stream):
        yield


def ended_while_writing(size: int, end: BaseException) -> object:
    with without_a_reader(redirect_stdout):
        return ended_by(end, after_writing=size)


def test_output_that_is_not_read_to_the_end_does_not_pass_for_success():
    assert ended_while_writing(1 << 20, Finished(1)) == UNREAD


def test_a_short_output_that_is_not_read_keeps_the_code_of_what_was_found():
    assert ended_while_writing(1, Finished(1)) == 1


def test_a_short_output_that_is_not_read_keeps_the_code_of_an_error():
    assert ended_while_writing(1, KeyboardInterrupt()) == INTERRUPTED


def test_a_connection_that_breaks_is_a_failure(capsys: pytest.CaptureFixture[str]):
    assert ended_by(BrokenPipeError()) == UNAVAILABLE
    assert capsys.readouterr().err.startswith("error: A server or another process closed its connection")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        pytest.param(Finished(0), 0, id="nothing-found"),
        pytest.param(ConfigException("wrong"), REFUSED, id="refused"),
        pytest.param(BrokenPipeError(), UNAVAILABLE, id="a-connection-that-breaks"),
        pytest.param(KeyboardInterrupt(), INTERRUPTED, id="interrupted"),
    ],
)
def test_notes_and_errors_that_nobody_reads_keep_the_code(end: BaseException, code: int):
    @reporting_errors
    def command(args: object) -> None:
        Notes()("a note")
        raise end

    with without_a_reader(redirect_stderr), pytest.raises(SystemExit) as ended:
        command(SimpleNamespace())

    assert ended.value.code == code


def test_a_summary_that_nobody_reads_does_not_end_a_command(tmp_path: Path):
    """Otherwise the code says that a server did not answer, and not that there are findings."""
    with without_a_reader(redirect_stderr), pytest.raises(Finished) as ended:
        lint_text(tmp_path, "spark.a=${vault:a\n")

    assert ended.value.code == 1


def lint_text(folder: Path, text: str) -> None:
    (folder / "layer.properties").write_text(text)
    wanted = ["paths", "skip_other_yaml", "providers", "conn_extra", "timeout", "select", "ignore", "output"]
    lint(SimpleNamespace(**dict.fromkeys(wanted) | {"paths": [str(folder)], "output": "plain", "timeout": 9.0}))


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    ("size", "code"), [pytest.param(1, 1, id="buffered"), pytest.param(1 << 20, UNREAD, id="written-at-once")]
)
def test_output_on_a_full_disk_does_not_end_in_a_stack_trace(size: int, code: int):
    with FULL.open("w", encoding="utf-8") as stream, redirect_stdout(stream):
        assert ended_by(Finished(1), after_writing=size) == code


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_a_short_report_of_lint_on_a_full_disk_keeps_the_code_of_its_findings(tmp_path: Path):
    with FULL.open("w", encoding="utf-8") as stream, redirect_stdout(stream):
        with pytest.raises(SystemExit) as ended:
            lint_text(tmp_path, "spark.a=${vault:a\n")

        assert ended.value.code == 1


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_a_result_that_does_not_fit_on_the_disk_is_reported_once(capsys: pytest.CaptureFixture[str]):
    with FULL.open("w", encoding="utf-8") as stream, redirect_stdout(stream), pytest.raises(SystemExit):
        reporting_errors(lambda _: print("x"))(SimpleNamespace())

    assert capsys.readouterr().err.count("error: There is no space left") == 1


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("size", [pytest.param(1, id="buffered"), pytest.param(1 << 20, id="written-at-once")])
def test_output_on_a_full_disk_is_reported_once(size: int, capsys: pytest.CaptureFixture[str]):
    with FULL.open("w", encoding="utf-8") as stream, redirect_stdout(stream):
        ended_by(Finished(1), after_writing=size)

    assert capsys.readouterr().err.count("error: There is no space left") == 1


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_command_whose_output_is_closed_does_its_work(closed: str, monkeypatch: pytest.MonkeyPatch):
    """As after ``>&-``, where Python has no stream."""
    monkeypatch.setattr(sys, closed, None)

    reporting_errors(lambda _: getattr(sys, closed).write("x"))(SimpleNamespace())

    getattr(sys, closed).close()


def test_a_command_without_standard_output_can_tell_that_a_connection_broke():
    with redirect_stdout(None):
        assert ended_by(BrokenPipeError()) == UNAVAILABLE
        sys.stdout.close()


def test_an_audit_whose_output_is_not_read_to_the_end_writes_its_report(tmp_path: Path):
    args = SimpleNamespace(output_parquet="", report=str(tmp_path / "report.html"))

    @reporting_errors
    def command(_: object) -> None:
        with writing_found(args, [], LEAK, lambda: "<!doctype html>"):
            sys.stdout.write("x" * (1 << 20))

    with without_a_reader(redirect_stdout), pytest.raises(SystemExit) as ended:
        command(args)

    assert ended.value.code == UNREAD
    assert (tmp_path / "report.html").exists()
