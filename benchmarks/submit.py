"""The time between the start of a task and the start of spark-submit."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from string import ascii_letters, digits

from benchmarks.measure import Aim, Effort, Report, number
from benchmarks.ratios import Cost, Watched

ANSWER = "CPU: "
STOCK = "SparkSubmitOperator, values in `conf`"
PLAIN = "ours, no references"
OURS = "**ours, 20 references to 5 files**"
OPERATORS = {
    STOCK: "airflow.providers.apache.spark.operators.spark_submit:SparkSubmitOperator",
    PLAIN: "airflow_config_providers.operators.spark_submit:ConfiguredSparkSubmitOperator",
    OURS: "airflow_config_providers.operators.spark_submit:ConfiguredSparkSubmitOperator",
}


def environment(folder: Path) -> dict[str, str]:
    """
    Return an environment with connections, and with a spark-submit that writes down when it starts.

    Bytecode is kept, as that of an installed package is; otherwise a task would compile what it imports.
    """
    script = folder / "bin" / "spark-submit"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\ndate +%s%N > {folder}/started\n")
    script.chmod(0o755)
    providers = {
        "config.providers": "file",
        "config.providers.file.class": "file",
        "config.providers.file.param.allowed.paths": str(folder),
    }
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {
        **environ,
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": providers}),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local"}),
        "PATH": f"{script.parent}:{os.environ['PATH']}",
    }


def references(folder: Path) -> dict[str, str]:
    """Write 5 files of 4 values, and return 20 keys that refer to them. The values look like passwords."""
    random = Random(7)
    for n in range(5):
        values = ["".join(random.choices(ascii_letters + digits, k=24)) for _ in range(4)]
        (folder / f"{n}.properties").write_text("".join(f"k{k}={value}\n" for k, value in enumerate(values)))
    return {f"spark.app.key{n}{k}": f"${{file:{folder}/{n}.properties:k{k}}}" for n in range(5) for k in range(4)}


def configurations(folder: Path) -> dict[str, dict[str, str]]:
    """Return what each operator gets as ``conf``."""
    conf = references(folder)
    plain = {key: f"value {key}" for key in conf}
    return {STOCK: plain, PLAIN: plain, OURS: conf}


def command(what: str, conf: dict[str, str], *how: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.submit_tasks", OPERATORS[what], json.dumps(conf), *how]


def one_process(what: str, conf: dict[str, str], environ: dict[str, str]) -> tuple[float, float]:
    """Return the milliseconds of the first task in a process, and the median of the next tasks."""
    done = subprocess.run(command(what, conf), env=environ, capture_output=True, text=True, check=True)
    first, *others = map(float, done.stdout.splitlines()[-1].split())
    return first, statistics.median(others)


@contextmanager
def first_task(what: str, conf: dict[str, str], environ: dict[str, str]) -> Iterator[Cost]:
    """Yield the CPU time of a task that is the first in its process, and whose spark-submit does nothing."""
    piped = subprocess.Popen(
        command(what, conf, "forks"), env=environ, text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with piped as process:
        asked, answers = process.stdin, process.stdout
        assert asked
        assert answers

        def cost() -> float:
            asked.write("\n")
            return next(float(line.removeprefix(ANSWER)) for line in answers if line.startswith(ANSWER))

        yield cost
        asked.close()


def watched() -> Iterator[Watched]:
    with tempfile.TemporaryDirectory() as name:
        environ, confs = environment(Path(name)), configurations(Path(name))
        with first_task(OURS, confs[OURS], environ) as ours, first_task(STOCK, confs[STOCK], environ) as stock:
            yield Watched("the first task of a process, 20 references, against SparkSubmitOperator", ours, stock, aim=2)


def run(effort: Effort) -> list[Report]:
    cold, warm = {}, {}
    with tempfile.TemporaryDirectory() as name:
        environ, confs = environment(Path(name)), configurations(Path(name))
        for what in OPERATORS:
            runs = [one_process(what, confs[what], environ) for _ in range(effort.fewest)]
            cold[what], warm[what] = (statistics.median(times) for times in zip(*runs, strict=True))
    return [
        Report(
            "Before spark-submit starts",
            "From rendering to the first line of a script named spark-submit, with 20 keys, whose values look like "
            "passwords: 24 random letters and digits. Airflow runs each task in its own process, so a task takes the "
            "time in the first column; the second column is for another task in the same process. Imports are not "
            "measured: they are a table by themselves. After that, Spark itself takes 5 to 8 seconds to start.",
            ("", "first, ms", "next, ms"),
            [[what, number(cold[what]), number(warm[what])] for what in OPERATORS],
            [Aim("added before spark-submit starts, 20 references to 5 files", 50, cold[OURS] - cold[STOCK])],
        )
    ]
