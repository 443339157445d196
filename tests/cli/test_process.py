"""The command line as people call it: a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from secrets import token_hex

import pytest

from tests.cli.conftest import Deployment, Driver

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RUN = ("config-providers",)
CANARY = f"c4nary-{token_hex(8)}"


def test_a_secret_that_is_written_out_is_nowhere_to_be_seen(deployment: Deployment, tmp_path: Path):
    """Given by file, kept encrypted, hidden in every answer, and in no log; one process runs all of the commands."""
    file = deployment.home / "secret.properties"
    file.write_text(f"spark.app.token={CANARY}\nspark.app.plain=seen\n")
    task = ("--dag", "flights", "--task", "nightly.ingest")
    wrong = f"config.providers=x\nspark.app.token={CANARY}2\n"
    with (tmp_path / "log").open("w") as log:
        driver = Driver(deployment, log)
        try:
            done = [
                driver.airflow(*RUN, "alter", *task, "--add-config-file", str(file)),
                driver.airflow(*RUN, "describe", *task, "--synonyms"),
                driver.airflow(*RUN, "history", *task, "--output", "json"),
                driver.airflow(*RUN, "alter", *task, "--add-config-file", "-", input=wrong),
            ]
        finally:
            driver.end()
            file.unlink()

    assert [one.code for one in done] == [0, 0, 0, 3]
    assert "[hidden]" in done[1].out
    assert "seen" in done[1].out
    assert deployment.query("select count(*) from variable where key like 'config_providers.dynamic.%flights'") == [
        (2,)
    ]
    assert CANARY not in "".join(one.out + one.err for one in done) + (tmp_path / "log").read_text()
    found = subprocess.run(
        ["grep", "-r", "--binary-files=text", "-l", CANARY, str(deployment.home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""
    assert json.loads(done[2].out)[1]["is"] == "[hidden]"


def test_the_command_line_is_not_logged(deployment: Deployment):
    """As ``action_cli`` would have it, with the secret that somebody has written there all the same."""
    secret = f"{CANARY}-argument"

    done = deployment.airflow("config-providers", "alter", "--default", "--add-config", f"spark.app.token={secret}")

    assert done.code == 0
    assert secret not in done.out + done.err
    assert not any(secret in str(row) for row in deployment.query("select * from log"))


def test_a_reader_that_has_seen_enough_is_no_error(deployment: Deployment):
    command = f"{sys.executable} -m airflow config-providers describe --default --all -o plain | head -1"

    done = subprocess.run(command, shell=True, env=deployment.environ, capture_output=True, text=True, check=False)

    assert done.stdout.startswith("key ")
    assert "Traceback" not in done.stderr
    assert "error" not in done.stderr


LOADED = """
import sys
import airflow.cli.cli_config
before = set(sys.modules)
import airflow_config_providers.cli.command_table as definition
definition.commands()
print(sorted(set(sys.modules) - before))
"""


def test_every_call_of_airflow_pays_only_for_the_definition_of_the_commands():
    done = subprocess.run([sys.executable, "-c", LOADED], env=os.environ, capture_output=True, text=True, check=True)

    modules = ("cli", "cli.command_table", "cli.options")
    assert done.stdout.splitlines()[-1] == str([f"airflow_config_providers.{module}" for module in modules])
