"""The time between the start of a task and the start of spark-submit."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Aim, Effort, Report, number

STOCK = "SparkSubmitOperator, values in `conf`"
PLAIN = "ours, no references"
OURS = "**ours, 20 references to 5 files**"
OPERATORS = {
    STOCK: "airflow.providers.apache.spark.operators.spark_submit:SparkSubmitOperator",
    PLAIN: "airflow_config_providers.operators.spark_submit:ConfiguredSparkSubmitOperator",
    OURS: "airflow_config_providers.operators.spark_submit:ConfiguredSparkSubmitOperator",
}


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with connections, and with a spark-submit that writes down when it starts."""
    script = folder / "bin" / "spark-submit"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\ndate +%s%N > {folder}/started\n")
    script.chmod(0o755)
    providers = {
        "config.providers": "file",
        "config.providers.file.class": "file",
        "config.providers.file.param.allowed.paths": str(folder),
    }
    return {
        **os.environ,
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": providers}),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local"}),
        "PATH": f"{script.parent}:{os.environ['PATH']}",
    }


def references(folder: Path) -> dict[str, str]:
    """Write 5 files of 4 values, and return 20 keys that refer to them."""
    for n in range(5):
        (folder / f"{n}.properties").write_text("".join(f"k{k}=value {n} {k}\n" for k in range(4)))
    return {f"spark.app.key{n}{k}": f"${{file:{folder}/{n}.properties:k{k}}}" for n in range(5) for k in range(4)}


def one_process(operator: str, conf: dict[str, str], environ: dict[str, str]) -> tuple[float, float]:
    """Return the milliseconds of the first task in a process, and the median of the next tasks."""
    command = [sys.executable, "-m", "benchmarks.submit_tasks", operator, json.dumps(conf)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    first, *others = map(float, done.stdout.splitlines()[-1].split())
    return first, statistics.median(others)


def run(effort: Effort) -> list[Report]:
    cold, warm = {}, {}
    with tempfile.TemporaryDirectory() as name:
        environ, conf = environment(Path(name)), references(Path(name))
        plain = {key: f"value {key}" for key in conf}
        for what, operator in OPERATORS.items():
            runs = [one_process(operator, conf if what == OURS else plain, environ) for _ in range(effort.fewest)]
            cold[what], warm[what] = (statistics.median(times) for times in zip(*runs, strict=True))
    return [
        Report(
            "Before spark-submit starts",
            "From rendering to the first line of a script named spark-submit, with 20 keys. A task has a process of "
            "its own, so the first column counts; the second is another task in the same process. Spark's own start "
            "takes 5 to 8 seconds after that.",
            ("", "first, ms", "next, ms"),
            [[what, number(cold[what]), number(warm[what])] for what in OPERATORS],
            [Aim("added before spark-submit starts, 20 references to 5 files", 50, cold[OURS] - cold[STOCK])],
        )
    ]
