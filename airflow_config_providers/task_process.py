"""Whether this process runs a task. Imports nothing of Airflow, so that it can be asked while Airflow starts."""

from __future__ import annotations

import sys

from airflow_config_providers.foreign import TASK_RUNNER


def has_supervisor() -> bool:
    """Return whether a supervisor listens: in a task, in a trigger and while a DAG is parsed, but not in a preview."""
    return getattr(sys.modules.get(TASK_RUNNER), "SUPERVISOR_COMMS", None) is not None
