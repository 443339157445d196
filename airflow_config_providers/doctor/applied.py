"""Checks whether processes that read DAGs know the current ``apply_to``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.diagnosis import Diagnosis, doubt, fine
from airflow_config_providers.doctor.check import Site
from airflow_config_providers.job.families import require_known

_PROCESSES: Final = {"DagProcessorJob": "DAG processor", "SchedulerJob": "scheduler", "TriggererJob": "triggerer"}
_ALIVE: Final = timedelta(minutes=5)


def check(site: Site) -> Iterator[Diagnosis]:
    """
    Yield the processes that started before airflow.cfg was changed, which use the settings from before.

    :raises ConfigException: ``apply_to`` is wrong
    """
    families = settings.apply_to()
    require_known(families)
    changed = _changed(site)
    waiting = [job for job in _jobs() if changed and job.start_date < changed]
    for kind in sorted({str(job.job_type) for job in waiting}):
        yield doubt(
            f"A {_PROCESSES[kind]} has run since before airflow.cfg was changed, so it uses the settings from before.",
            f"Restart the {_PROCESSES[kind]}.",
        )
    if not waiting:
        yield fine(f"apply_to is {', '.join(families) or 'empty'}; no process waits for a restart.")


def _changed(site: Site) -> datetime | None:
    """Return when airflow.cfg was last changed; None if there is none."""
    from airflow.configuration import AIRFLOW_CONFIG  # noqa: PLC0415 - slow to import

    try:
        return datetime.fromtimestamp(Path(AIRFLOW_CONFIG).stat().st_mtime, UTC)
    except OSError:
        return None


def _jobs() -> list[Any]:
    """Return the processes of Airflow that are alive and read DAGs or settings."""
    from airflow.jobs.job import Job  # noqa: PLC0415 - heavy
    from airflow.utils.session import create_session  # noqa: PLC0415 - heavy
    from sqlalchemy import select  # noqa: PLC0415 - slow to import

    since = datetime.now(UTC) - _ALIVE
    query = select(Job.job_type, Job.start_date).where(
        Job.job_type.in_(_PROCESSES), Job.state == "running", Job.latest_heartbeat >= since
    )
    with create_session() as session:
        return list(session.execute(query))
