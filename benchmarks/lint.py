"""The time to find mistakes in 1,000 DAG files, imports included."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ruff  # noqa: F401 - the floor; it is skipped without the extra 'lint'

from benchmarks.measure import Aim, Effort, Report, compared

OURS = "airflow config-providers lint"
AIRFLOW = "DagBag, which only imports"
RUFF = "ruff check --no-cache, which imports nothing"
FILES = 1_000
DAG_FILE = """
from airflow.sdk import DAG
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

with DAG("benchmark_{number}", schedule=None):
    ConfiguredSparkSubmitOperator(
        task_id="report",
        application="/opt/jobs/report.py",
        conf={{
            "spark.app.db.password": "${{file:/etc/jobs/db.properties:password}}",
            "spark.app.db.user": "${{file:/etc/jobs/db.properties:user}}",
            "spark.dynamicAllocation.enabled": "true",
            "spark.executor.memoryOverhead": "1g",
            "spark.sql.shuffle.partitions": "64",
            "spark.sql.suffle.partitions": "64",
        }},
        executor_memory="4g",
    )
"""
BAG = "import sys; from airflow.dag_processing.dagbag import DagBag; print(len(DagBag(sys.argv[1]).dags))"


@contextmanager
def dag_files() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a folder of DAG files, and an environment for Airflow without a database."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "dags")
        folder.mkdir()
        for number in range(FILES):
            (folder / f"benchmark_{number}.py").write_text(DAG_FILE.format(number=number))
        database = f"sqlite:///{home}/no/airflow.db"
        places = {"AIRFLOW_HOME": home, "AIRFLOW__CORE__DAGS_FOLDER": str(folder)}
        yield str(folder), {**os.environ, **places, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database}


def command(environ: dict[str, str], *words: str, code: int = 0) -> None:
    """Run a command of Python, and make sure that it ends as it should."""
    done = subprocess.run([sys.executable, *words], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr


def run(effort: Effort) -> list[Report]:
    once = Effort(seconds=0.0, fewest=min(effort.fewest, 3))
    with dag_files() as (folder, environ):
        times = {
            OURS: once.milliseconds(
                lambda: command(environ, "-m", "airflow", "config-providers", "lint", folder, code=1)
            ),
            AIRFLOW: once.milliseconds(lambda: command(environ, "-c", BAG, folder)),
            RUFF: once.milliseconds(
                lambda: command(environ, "-m", "ruff", "check", "--exit-zero", "--no-cache", folder)
            ),
        }
    return [
        Report(
            "Find mistakes in 1,000 DAG files",
            "Each file has a task with six keys, of which one is misspelt. Ours and DagBag start Airflow and import "
            "the files, which ruff does not.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [Aim("lint, against importing the files alone", 2, times[OURS] / times[AIRFLOW], unit="times")],
        )
    ]
