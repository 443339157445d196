"""
Run tasks in this process, and print the milliseconds until each spark-submit started.

With ``forks``, run one in a new process for each line that is read, as a worker does; print the CPU time of each.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.sdk.execution_time import supervisor  # noqa: F401 - a worker has it loaded before it forks

from benchmarks.imports import OF_A_RUN
from benchmarks.submit import ANSWER

TASKS = 11


def run(task: Any) -> None:
    """Render and run ``task`` as a worker does."""
    copy = task.prepare_for_execution()
    copy.render_template_fields({})
    ExecutorSafeguard.tracker.set(copy)
    copy.execute({})


def milliseconds_to_start(task: Any, note: Path) -> float:
    start = time.time_ns()
    run(task)
    return (int(note.read_text()) - start) / 1e6


def cpu_milliseconds(task: Any) -> float:
    """Return the CPU time of ``task``, with that of the processes that it waited for."""
    before = cpu_seconds()
    run(task)
    return (cpu_seconds() - before) * 1000


def cpu_seconds() -> float:
    spent = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def fork(task: Any) -> None:
    """Run ``task`` in a new process, which prints its CPU time."""
    if pid := os.fork():
        os.waitpid(pid, 0)
        return
    print(f"{ANSWER}{cpu_milliseconds(task)}", flush=True)
    os._exit(0)


def main() -> None:
    operator, conf, *how = sys.argv[1:]
    make = import_string(operator.replace(":", "."))
    task = make(task_id="task", application="/opt/jobs/report.py", conf=json.loads(conf))
    if operator.startswith("airflow_config_providers."):
        for name in OF_A_RUN:  # whose time is on the page by itself
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # as LocalExecutor does before it forks a task
    if how == ["forks"]:
        for _ in sys.stdin:
            fork(task)
    else:
        note = Path(os.environ["AIRFLOW_HOME"]) / "started"
        print(*[milliseconds_to_start(task, note) for _ in range(TASKS)])


if __name__ == "__main__":
    main()
