"""The job of an earlier try, which a later one follows instead of submitting another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.text import one_line, printable

if TYPE_CHECKING:
    from airflow_config_providers.job.records.record import TryRecord
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.record_keeper import SubmittedConfig


@dataclass(frozen=True, slots=True)
class FollowedJob:
    """
    The job that a try follows.

    :param job: its external id
    :param submitted: the configuration with which it was submitted; None if that is not known
    :param is_own: whether this very try submitted it, and was rescheduled
    :param next_run: what it would be submitted with now, if that is watched
    :param is_outdated: whether it has other values than ``next_run``
    """

    job: Any
    submitted: SubmittedConfig | None
    is_own: bool
    next_run: JobRun | None
    is_outdated: bool

    def note(self, status: object, *, key: str) -> str:
        """
        Return what people should know of a try that follows this job.

        :param status: of the job
        :param key: of the job's id in the state of the task
        """
        since, whose = (" since it was rescheduled", ", its own") if self.is_own else ("", " of an earlier try")
        known = "shown below" if self.submitted else "unknown"
        is_watched = self.next_run and self.next_run.reloads
        changes = "apply when it is restarted, because its secrets changed" if is_watched else "do not apply to it"
        return (
            f"This try has submitted nothing{since}: it follows job {printable(str(self.job))}{whose}, which is "
            f"{printable(str(status))}. The configuration of that job is {known}; later changes {changes}. To "
            f"submit a new job, delete the key {key} of the task's state, or set durable=False."
        )

    def lines(self, note: str) -> Sequence[str]:
        """Return the lines of ``effective_config``, with a note before those of the job."""
        return [f"! {one_line(note)}", *(self.submitted.lines if self.submitted else ())]

    def recorded(self, record: TryRecord) -> TryRecord:
        """Return the record of the try that follows this job, with what is known of the job."""
        from airflow_config_providers.job.records.record import recorded

        submitted = self.submitted
        shown = recorded(submitted.layered) if submitted else {}
        return replace(record, configs=shown, job=str(self.job), follows=submitted.try_number if submitted else None)
