"""The line groups in a task's log, which the UI shows folded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from airflow_config_providers.task_process import has_supervisor

END: Final = "::endgroup::"


@contextmanager
def ended_by_failure(log: Any) -> Iterator[None]:
    """
    Show errors outside the group ``Pre Execute``, which Airflow ends only after it has rendered a task.

    :param log: the log of the task
    """
    try:
        yield
    except Exception:
        if has_supervisor():
            log.info(END)
        raise
