"""How long a test waits for what must come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LONGEST: Final = 600.0
"""Seconds after which something hangs. A machine that is merely busy never needs as many."""


def eventually(is_so: Callable[[], object], *, every: float = 0.02) -> bool:
    """Wait until ``is_so``, and return whether that happened."""
    end = time.monotonic() + LONGEST
    while not (found := is_so()) and time.monotonic() < end:
        time.sleep(every)
    return bool(found)


PATIENT_AIRFLOW: Final = {
    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": f"{LONGEST:g}",
    "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": f"{LONGEST:g}",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "3600",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "3600",
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": f"{LONGEST:g}",
}
"""Variables that keep Airflow from giving up what a busy machine has not come to yet."""
