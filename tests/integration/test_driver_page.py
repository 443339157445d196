"""The page 'Resolve in the driver', followed to the letter on a real standalone cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_snippets import write_files
from tests.limits import LONGEST
from tests.servers.spark_cluster import SparkCluster, SparkEnvironment, spark_cluster

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGE = ROOT / "docs" / "how-to" / "resolve-in-the-driver.md"
CANARY = "canary-page-7f3a"
SAID = f"The password has {len(CANARY)} characters."
WITHOUT_THIS_PACKAGE = '#!/bin/sh\nexec {} -s -S "$@"\n'


@dataclass(frozen=True)
class Site:
    """A cluster that follows the page in a directory."""

    cluster: SparkCluster
    folder: Path
    python: Path

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        spark = SparkEnvironment.of("", MASTER=self.cluster.master_url, PYSPARK_PYTHON=str(self.python))
        words = ["bash", "-e", script]
        return subprocess.run(
            words, cwd=self.folder, env=spark.variables, capture_output=True, text=True, check=False, timeout=LONGEST
        )

    def drivers_say(self) -> str:
        files = self.cluster.files().items()
        return "".join(text for path, text in files if path.name in {"stdout", "stderr"} and "driver-" in str(path))

    def leave_out(self, words: str, by: str = "") -> None:
        """Make ``broken.sh`` from the command for this cluster, with ``by`` in place of ``words``."""
        command = (self.folder / "standalone.sh").read_text()
        assert words in command
        (self.folder / "broken.sh").write_text(command.replace(words, by))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    pytest.importorskip("hvac")
    folder = tmp_path_factory.mktemp("page")
    write_files(PAGE, folder)
    (folder / "db").mkdir()
    (folder / "db" / "password").write_text(CANARY)
    for script in folder.glob("*.sh"):
        script.write_text(script.read_text().replace("/run/secrets/db", str(folder / "db")))
    python = folder / "python-of-the-cluster"
    python.write_text(WITHOUT_THIS_PACKAGE.format(sys._base_executable))  # type: ignore[attr-defined]
    python.chmod(0o755)
    variables = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    with spark_cluster(folder / "cluster", variables=variables) as cluster:
        made = subprocess.run(
            ["bash", "-e", "bundle.sh"],
            cwd=folder,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            check=False,
        )
        assert made.returncode == 0
        yield Site(cluster, folder, python)


def test_the_command_for_client_mode_works(site: Site) -> None:
    run = site.run("client.sh")

    assert run.returncode == 0, run.stderr[-3000:]
    assert SAID in run.stdout


def test_the_command_for_a_standalone_cluster_works(site: Site) -> None:
    run = site.run("standalone.sh")

    assert run.returncode == 0, run.stderr[-3000:]
    assert SAID in site.drivers_say(), site.drivers_say()[-3000:]
    assert CANARY not in site.cluster.seen() + run.stdout + run.stderr + site.drivers_say()


def test_a_driver_without_the_bundle_fails_and_spark_submit_does_not(site: Site) -> None:
    site.leave_out("driver.zip", by="forgotten.zip")

    run = site.run("broken.sh")

    assert run.returncode == 0
    assert "No module named 'airflow_config_providers'" in site.drivers_say()
    assert "No module named 'airflow_config_providers'" in PAGE.read_text()


def test_a_python_program_itself_is_refused_as_the_page_says(site: Site) -> None:
    (site.folder / "broken.sh").write_text('spark-submit --master "$MASTER" --deploy-mode cluster job.py')

    run = site.run("broken.sh")

    refused = "Cluster deploy mode is currently not supported for python applications on standalone clusters"
    assert run.returncode != 0
    assert refused in run.stderr
    assert refused in PAGE.read_text()
