"""The time of imports, each in its own process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.measure import Aim, Effort, Report, compared

SCRIPT = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
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


def milliseconds(statement: str, rounds: int, environ: dict[str, str]) -> float:
    """Return the median time of ``statement`` with compiled bytecode."""
    command = [sys.executable, "-c", SCRIPT.format(statement)]
    runs = [subprocess.run(command, env=environ, capture_output=True, text=True, check=True) for _ in range(rounds + 1)]
    return statistics.median(float(run.stdout.split()[-1]) for run in runs[1:]) * 1000


def run(effort: Effort) -> list[Report]:
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        environ |= {"PYTHONPYCACHEPREFIX": folder, "AIRFLOW_HOME": folder}
        times = {what: milliseconds(text, effort.fewest, environ) for what, text in STATEMENTS.items()}
    return [
        Report(
            "Import",
            "A process each, with compiled bytecode. Names of ours are imported at their first use, so the second "
            "row is what a process pays that settles, resolves and reverses. None of it imports Airflow.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [
                Aim("import of the package, without Airflow", 30, times[PACKAGE]),
                Aim("import of all that resolves and reverses, without Airflow", 30, times[OURS]),
            ],
        )
    ]
