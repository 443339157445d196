"""A process that goes on is as one that the system starts: its session, its environment, its end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.limits import LONGEST, eventually
from tests.servers import quick_python

SHOWS = """
import os, pathlib, sys, tempfile, time
import only_here
print(os.getsid(0) == os.getpid(), os.environ["OWN"], tempfile.gettempdir(), pathlib.Path.cwd(), flush=True)
print("an error", file=sys.stderr, flush=True)
while only_here.GOES_ON:
    time.sleep(0.05)
"""


def started(folder: Path, *, goes_on: bool) -> quick_python.Process:
    (folder / "only_here.py").write_text(f"GOES_ON = {goes_on}")
    environ = {"PATH": os.environ["PATH"], "OWN": "of this one", "PYTHONPATH": str(folder), "TMPDIR": str(folder)}
    return quick_python.start("-c", SHOWS, env=environ, cwd=folder, output=folder / "out")


def test_a_process_has_what_it_was_given_and_a_session_of_its_own(tmp_path: Path) -> None:
    process = started(tmp_path, goes_on=False)

    assert process.wait(LONGEST) == 0
    assert (tmp_path / "out").read_text() == f"True of this one {tmp_path} {tmp_path}\nan error\n"


def test_a_process_goes_on_beside_others_until_it_gets_a_signal(tmp_path: Path) -> None:
    process = started(tmp_path, goes_on=True)
    assert eventually(lambda: "an error" in (tmp_path / "out").read_text())
    beside = quick_python.run("-c", "print('beside')", env=os.environ)

    assert beside.stdout == "beside\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(LONGEST) == -signal.SIGTERM
    assert process.poll() == -signal.SIGTERM
