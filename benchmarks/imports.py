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

SCRIPT = "{2}; from time import {0}; start = {0}(); {1}; print(({0}() - start) * 1000)"
PACKAGE = "ours: the package"
OURS = "ours: ConfigResolver, ReverseTransformer"
OPERATOR = "ours: the operator, after Airflow and its Spark provider"
RUN = "ours: what a run needs, after the operator"
OF_A_RUN = (
    "airflow_config_providers.core.concurrency.shared_calls",
    "airflow_config_providers.hooks.spark_submit",
    "airflow_config_providers.job.authorship",
    "airflow_config_providers.job.configuration",
    "airflow_config_providers.job.handover",
    "airflow_config_providers.job.sealed_values",
    "airflow_config_providers.operators.reloading",
    "airflow_config_providers.operators.rendering",
)
"""The modules with which an operator, and what opens its providers, import what only a run needs."""
STATEMENTS = {
    PACKAGE: "import airflow_config_providers",
    OURS: "from airflow_config_providers.core import ConfigResolver, ReverseTransformer",
    OPERATOR: "import airflow_config_providers.operators.spark_submit",
    RUN: f"import {', '.join(OF_A_RUN)}",
    "omegaconf": "import omegaconf",
    "dynaconf": "import dynaconf",
    "pydantic_settings": "import pydantic_settings",
    "airflow.sdk.DAG": "from airflow.sdk import DAG",
}
AIRFLOW = "import gc, airflow.sdk.bases.operator, airflow.providers.apache.spark.operators.spark_submit; gc.freeze()"
BEFORE = {OPERATOR: AIRFLOW, RUN: f"{AIRFLOW}; {STATEMENTS[OPERATOR]}"}
"""What a process has imported before, which is not measured. Otherwise collecting its garbage would be."""


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """Yield an environment that keeps compiled bytecode, in a folder of its own."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        yield environ | {"PYTHONPYCACHEPREFIX": folder, "AIRFLOW_HOME": folder}


def milliseconds(what: str, environ: dict[str, str], *, clock: str = "perf_counter") -> float:
    """Return the time that a statement takes in a process of its own."""
    command = [sys.executable, "-c", SCRIPT.format(clock, STATEMENTS[what], BEFORE.get(what, "pass"))]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def median(what: str, effort: Effort, environ: dict[str, str]) -> float:
    """Return the median time of a statement, after one run that compiles unless it must be quick."""
    if effort.warms_up:
        milliseconds(what, environ)
    return statistics.median(milliseconds(what, environ) for _ in range(effort.fewest))


def watched() -> Iterator[Watched]:
    with environment() as environ:
        costs = {
            name: partial(milliseconds, name, environ, clock="process_time")
            for name in (OURS, OPERATOR, RUN, "omegaconf")
        }
        peer = costs["omegaconf"]
        yield Watched("import of all that resolves and reverses, against OmegaConf's", costs[OURS], peer, aim=0.5)
        yield Watched("import of the operator, after Airflow, against OmegaConf's", costs[OPERATOR], peer)
        yield Watched("import of what a run needs, after the operator, against OmegaConf's", costs[RUN], peer)


def run(effort: Effort) -> list[Report]:
    with environment() as environ:
        times = {what: median(what, effort, environ) for what in STATEMENTS}
    return [
        Report(
            "Import",
            "Each import has its own process, with compiled bytecode. Our names are imported on first use, so the "
            "second row is the cost for a process that settles, resolves and reverses, except for threads, which come "
            "with the first request that needs one. Neither imports Airflow. A process that reads a DAG file pays the "
            "third row; one that runs a task, the fourth as well.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [
                Aim("import of the package, without Airflow", 30, times[PACKAGE]),
                Aim("import of all that resolves and reverses, without Airflow", 30, times[OURS]),
            ],
        )
    ]
