"""Objects of a process of Airflow that follow the deployment's configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Deployment
from tests.limits import LONGEST

ROOT = Path(__file__).parents[2]
FOLLOWING = """
import sys
from airflow_config_providers.core import ConfigResource, Reconfigurable, Reconfigurables
from airflow_config_providers.deployment.following import follow

class Printing(Reconfigurable):
    def reconfigurable_configs(self):
        return ["spark.app.a", "spark.driver.memory"]

    def validate_reconfiguration(self, configs):
        pass

    def reconfigure(self, configs):
        print("told", configs.get("spark.app.a"), configs.get("spark.driver.memory"), flush=True)

members = Reconfigurables({})
members.add(Printing())
with follow({ConfigResource.of_task("flights", "nightly.ingest"): members}):
    sys.stdin.read()
"""


@pytest.fixture
def told(deployment: Deployment, tmp_path: Path) -> Iterator[Iterator[str]]:
    """The lines that a process prints that follows a task: one for each configuration that it gets."""
    extra = {"config.providers": "file", "config.providers.file.class": "file"}
    more = {
        "AIRFLOW__CONFIG_PROVIDERS__FOLLOW_INTERVAL": "1",
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps(
            {
                "conn_type": "config_providers",
                "extra": {**extra, "config.providers.file.param.allowed.paths": str(tmp_path)},
            }
        ),
    }
    with subprocess.Popen(
        [sys.executable, "-c", FOLLOWING],
        env={**deployment.environ, **more, "PYTHONPATH": str(ROOT)},
        cwd=deployment.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield (line.removeprefix("told ").strip() for line in process.stdout if line.startswith("told "))
        process.stdin.close()
        assert process.wait(LONGEST) == 0


@pytest.mark.slow
def test_they_are_told_what_a_command_changes_and_that_a_secret_was_rotated(cli: Cli, tmp_path: Path, told):
    secret = tmp_path / "secret.properties"
    reference = f"${{file:{secret}:password}}"
    assert next(told) == "None 2g"

    secret.write_text("password=old")
    cli("alter --dag flights --add-config", f"spark.app.a={reference}")
    assert next(told) == f"{reference} 2g"

    cli("refresh --dag flights")
    secret.write_text("password=new")
    cli("refresh --dag flights")
    assert next(told) == f"{reference} 2g"

    cli("alter --default --add-config spark.app.a=elsewhere,spark.driver.memory=4g")
    cli("alter --dag flights --delete-config spark.app.a")
    lines = [next(told)]
    if lines[0] != "elsewhere 4g":  # told of the first change alone
        lines.append(next(told))
    assert lines[-1] == "elsewhere 4g"
