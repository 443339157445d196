"""Run a few tasks in this process, and print the milliseconds until the spark-submit of each started."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.sdk.execution_time import supervisor  # noqa: F401 - a worker has it loaded before it forks

TASKS = 11


def milliseconds_to_start(task: Any, note: Path) -> float:
    """Render and run ``task`` as a worker does, and return the milliseconds until its spark-submit started."""
    start = time.time_ns()
    copy = task.prepare_for_execution()
    copy.render_template_fields({})
    ExecutorSafeguard.tracker.set(copy)
    copy.execute({})
    return (int(note.read_text()) - start) / 1e6


def main() -> None:
    operator, conf = sys.argv[1:]
    make = import_string(operator.replace(":", "."))
    task = make(task_id="task", application="/opt/jobs/report.py", conf=json.loads(conf))
    note = Path(os.environ["AIRFLOW_HOME"]) / "started"
    gc.collect()
    gc.freeze()  # as LocalExecutor does before it forks a task
    print(*[milliseconds_to_start(task, note) for _ in range(TASKS)])


if __name__ == "__main__":
    main()
