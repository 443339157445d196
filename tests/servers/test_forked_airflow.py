"""The command ``airflow`` of a shell is a forked process, and a script cannot tell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.servers.forked_airflow import forked_airflow

airflow = pytest.importorskip("airflow")
pytestmark = pytest.mark.integration

SCRIPT = """
export AIRFLOW_HOME=$PWD/home
airflow version | tr . _
airflow no-such-command 2>told
echo "ended with $?"
cat told
"""


def test_what_it_prints_and_ends_with_is_what_the_script_gets(tmp_path: Path) -> None:
    with forked_airflow(tmp_path / "bin") as path:
        environ = {**os.environ, "PATH": path}
        done = subprocess.run(
            ["bash", "-c", SCRIPT], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
        )

    assert airflow.__version__.replace(".", "_") in done.stdout.splitlines()
    assert "ended with 2" in done.stdout
    assert "invalid choice: 'no-such-command'" in done.stdout
    assert (tmp_path / "home").is_dir()
