"""The time of imports, each in its own process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.measure import Aim, Effort, Report, compared
from benchmarks.ratios import Watched

SCRIPT = "from time import {0}; start = {0}(); {1}; print(({0}() - start) * 1000)"
PACKAGE = "ours: the package"
OURS = "ours: ConfigResolver, ReverseTransformer"
STATEMENTS = {
    PACKAGE: "import airflow_config_providers",
    OURS: "from airflow_config_providers.core import ConfigResolver, ReverseTransformer",
    "omegaconf": "import omegaconf",
    "dynaconf": "import dynaconf",
    "pydantic_settings": "import pydantic_settings",
    "airflow.sdk.DAG": "from airflow.sdk import DAG",
}


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """Yield an environment that keeps compiled bytecode, in a folder of its own."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        yield environ | {"PYTHONPYCACHEPREFIX": folder, "AIRFLOW_HOME": folder}


def milliseconds(statement: str, environ: dict[str, str], *, clock: str = "perf_counter") -> float:
    """Return the time that ``statement`` takes in a process of its own."""
    command = [sys.executable, "-c", SCRIPT.format(clock, statement)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def median(statement: str, rounds: int, environ: dict[str, str]) -> float:
    """Return the median time of ``statement``, after one run that compiles."""
    return statistics.median([milliseconds(statement, environ) for _ in range(rounds + 1)][1:])


def watched() -> Iterator[Watched]:
    with environment() as environ:
        ours, peer = (
            partial(milliseconds, STATEMENTS[name], environ, clock="process_time") for name in (OURS, "omegaconf")
        )
        yield Watched("import of all that resolves and reverses, against OmegaConf's", ours, peer)


def run(effort: Effort) -> list[Report]:
    with environment() as environ:
        times = {what: median(text, effort.fewest, environ) for what, text in STATEMENTS.items()}
    return [
        Report(
            "Import",
            "Each import has its own process, with compiled bytecode. Our names are imported on first use, so the "
            "second row is the cost for a process that settles, resolves and reverses. Neither imports Airflow.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [
                Aim("import of the package, without Airflow", 30, times[PACKAGE]),
                Aim("import of all that resolves and reverses, without Airflow", 30, times[OURS]),
            ],
        )
    ]
