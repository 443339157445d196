from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers import quick_python

SCRIPT = Path(__file__).with_name("airflow_channels.py")
MARKS = ("s3cr3t", "t0k3n", "eyJ")
PASSWORD, TOKEN = "${v:password}", "${v:token}"

LOGGED = [
    f"args {PASSWORD}",
    f"f-string {PASSWORD}",
    f"token {TOKEN}",
    f"stdlib-args {PASSWORD}",
    f"stdlib-f-string {PASSWORD}",
    f"stdlib-mapping {PASSWORD}",
    f"stdlib-token {TOKEN}",
    f"warning {PASSWORD}",
    f"structlog-exception {PASSWORD}",
    f"structlog-error {PASSWORD}",
    f"structlog-cause {PASSWORD}",
    f"structlog-note {PASSWORD}",
    f"stdlib-exception {PASSWORD}",
    f"stdlib-error {PASSWORD}",
    f"stdlib-cause {PASSWORD}",
    f"stdlib-note {PASSWORD}",
    f"afterwards-error {PASSWORD}",
    f"afterwards-cause {PASSWORD}",
    f"afterwards-note {PASSWORD}",
    f"Custom({PASSWORD})",
]


TASK, POD, CONSOLE = (True, True), (True, False), (False, False)
"""How a task, the pod of a task, and ``airflow dags test`` log: as JSON, and leaving masking to the supervisor."""

every_mode = pytest.mark.parametrize("mode", [TASK, POD, CONSOLE], ids=["task", "pod", "console"])
every_json_mode = pytest.mark.parametrize("mode", [TASK, POD], ids=["task", "pod"])


@dataclass(frozen=True)
class Said:
    log: str
    out: str
    err: str

    @property
    def events(self):
        return [json.loads(line) for line in self.log.splitlines()]


@pytest.fixture(scope="module")
def say(tmp_path_factory):
    """What a process of a mode said; each mode runs once."""
    return functools.cache(lambda mode: _run(mode, tmp_path_factory.mktemp("airflow")))


def _run(mode, home):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_", "PYTEST_"))}
    words = (str(SCRIPT), str(home / "log"), *map(str, mode))
    done = quick_python.run(*words, env={**environ, "AIRFLOW_HOME": str(home)})
    assert done.returncode == 0, done.stderr
    return Said((home / "log").read_text(), done.stdout, done.stderr)


@every_mode
@pytest.mark.parametrize("mark", MARKS)
def test_no_channel_of_airflow_shows_a_value(say, mode, mark):
    said = say(mode)

    assert mark not in said.log + said.out + said.err


@every_mode
@pytest.mark.parametrize("text", LOGGED)
def test_each_channel_of_airflow_shows_the_reference(say, mode, text):
    assert text in say(mode).log


@every_mode
@pytest.mark.parametrize("event", ["kwargs", "nested", "mapping-key", "octets", "object", "bound"])
def test_each_structured_channel_of_airflow_shows_the_reference(say, mode, event):
    lines = [line for line in say(mode).log.splitlines() if event in line]

    assert lines
    assert all(PASSWORD in line for line in lines)


@every_mode
def test_what_is_printed_shows_the_reference(say, mode):
    assert f"printed {PASSWORD}" in say(mode).out
    assert f"printed-to-stderr {PASSWORD}" in say(mode).err


@every_mode
def test_the_chain_is_as_before_afterwards(say, mode):
    assert "not as before" not in say(mode).log
    assert "as before" in say(mode).log


@every_json_mode
def test_each_line_for_the_supervisor_is_json_with_its_keys(say, mode):
    assert all(event.keys() >= {"timestamp", "level", "event"} for event in say(mode).events)


@every_json_mode
def test_tracebacks_for_the_supervisor_stay_structured(say, mode):
    exceptions = [event["exception"] for event in say(mode).events if "exception" in event]

    assert exceptions
    assert all(exception[0]["exc_type"] == "FileNotFoundError" for exception in exceptions)
