"""What a process holds of one try of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.job.nested_texts import strings
from airflow_config_providers.lazy import cached_property

if TYPE_CHECKING:
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.job.job_reload import JobReload
    from airflow_config_providers.job.records.record import TryRecord
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.operators.record_keeper import RecordKeeper, SubmittedConfig
    from airflow_config_providers.operators.reversal.task_output import AddedContext


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldTexts:
    """
    What the fields of an operator have while ``execute`` runs; it keeps the strings alive, so that no other gets an id.

    :param fields: name -> content
    :param texts: all strings in it, which are rendered already
    :param values: those that have values in place of references
    """

    fields: Mapping[str, Any]
    texts: Sequence[str]
    values: Sequence[str]

    @classmethod
    def of(cls, shown: Mapping[str, Any], resolved: Mapping[str, Any]) -> HeldTexts:
        """Return what fields have that ``shown`` has with references, and ``resolved``, as far as it differs."""
        written = [*strings(shown)]  # lives as long as its ids are compared
        ids, fields = {*map(id, written)}, {**shown, **resolved}
        texts = [*strings(fields)]
        return cls(fields, texts, [text for text in texts if id(text) not in ids])

    def is_set_anew(self, name: str, content: object) -> bool:
        """Return whether code has set a field to another string than it had."""
        return isinstance(content, str) and content is not self.fields.get(name)


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


class TryState:
    """
    What a process holds of one try of a task, in the order in which it comes: by rendering, by ``execute``, by the job.

    A copy of the operator, pickled or not, begins with an empty one, but it is killed if this one is: Airflow listens
    for a kill before it makes the copy that it runs. A copy that is made while the fields have values knows that, or
    its ``execute`` would take the values for what an author has written; unless it is deep or pickled, it has the run.

    A kill, which comes in a signal handler, and a reload, in a thread of its own, use it meanwhile, so nothing here
    takes a lock.
    """

    def __init__(self) -> None:
        self.followed: FollowedJob | None = None
        """The job of an earlier try that this one follows."""
        self.referring_texts: Mapping[str, str] = {}
        """Label -> string in a field that has references, as rendered; none if a job is followed."""
        self.environment: Mapping[str, str] = {}
        """The environment variables for Spark, as rendered; none if a job is followed."""
        self.added_context: AddedContext | None = None
        """What is added to the task's context since then, if there are values."""
        self.before_submit: Callable[[], object] | None = None
        """What comes first if the task goes on after a deferral, and submits a job after all."""
        self.is_executing = False
        """Whether an ``execute`` of an author runs, which can call ours."""
        self.held_texts: HeldTexts | None = None
        """What is in the fields while they have values in place of references."""
        self.record_keeper: RecordKeeper | None = None
        """What keeps the record of the job, from its beginning to its end."""
        self.record: TryRecord | None = None
        """The record of a job that has ended."""
        self.reload: JobReload | None = None
        """What watches the values of the job while it runs."""
        self.has_submitted = False
        """Whether the operator's hook has begun to submit a job with all values, also those of other fields."""
        self.is_killed = False

    def __reduce__(self) -> tuple[type[TryState], tuple[()], dict[str, object]]:
        return TryState, (), {"is_killed": self.is_killed, "held_texts": self.held_texts}

    def __copy__(self) -> TryState:
        copied = TryState()
        vars(copied).update(vars(self) if self.held_texts is not None else {"is_killed": self.is_killed})
        return copied

    @cached_property
    def handover(self) -> Handover:
        """Return what hands the values of the job over to Spark; before rendering ends, those of an empty run."""
        from airflow_config_providers.job.handover import Handover
        from airflow_config_providers.job.run import JobRun

        return Handover(JobRun())

    @property
    def run(self) -> JobRun:
        """The values of the job."""
        return self.handover.run

    @property
    def has_run(self) -> bool:
        """Whether ``run`` can be asked for without importing modules, which can be imported by half at a kill."""
        return "handover" in vars(self)

    @property
    def watched_run(self) -> JobRun:
        """The run whose references are watched while the job runs."""
        return (self.followed and self.followed.next_run) or self.run

    @property
    def is_outdated(self) -> bool:
        """Whether the job has other values than ``watched_run``."""
        return self.followed is not None and self.followed.is_outdated

    def kill(self) -> None:
        """Have no job begin, or begin anew."""
        self.is_killed = True
        if (reload := self.reload) is not None:
            reload.give_up()

    def refuse_after_kill(self) -> None:
        """
        Make sure that the task was not killed.

        :raises SubmitError: it was
        """
        if self.is_killed:
            raise SubmitError("The task was killed before its job began. No job is left.")

    def begin_submission(self) -> None:
        """
        Begin what the operator's hook submits: last check for a kill, which can have reached another hook than this.

        :raises SubmitError: the task was killed
        :raises PolicyViolation: the task went on after a deferral, and policies deny the configuration
        """
        self.refuse_after_kill()
        self.begin_late()
        if (reload := self.reload) is not None:
            reload.refuse_after_kill()

    def begin_late(self) -> None:
        """
        Ask the policies, and keep the record, before a task that went on after a deferral submits a job.

        :raises PolicyViolation: policies deny the configuration
        """
        before, self.before_submit = self.before_submit, None
        if before is not None:
            before()

    def begin(self, run: JobRun) -> None:
        """Begin with the values of ``run``. No job of an earlier try is followed until ``followed`` is set."""
        from airflow_config_providers.job.handover import Handover

        self.handover, self.followed = Handover(run), None

    def begin_anew(self, run: JobRun) -> None:
        """Forget the job that was stopped, or has failed: another one begins, with the values of ``run``."""
        self.begin(run)
        self.is_killed = self.has_submitted = False

    def keep_job(self, job: object) -> None:
        """Add the external id of the submitted job to its record."""
        if self.record_keeper is not None:
            self.record_keeper.keep_job(job, self.run.reverser)

    def end_record(self) -> None:
        """Add nothing more to the record."""
        if self.record_keeper is not None:
            self.record, self.record_keeper = self.record_keeper.record, None

    def clear_runs(self) -> None:
        """Forget the values of the job that has ended."""
        try:
            self.run.clear()
        finally:
            if self.followed and self.followed.next_run:
                self.followed.next_run.clear()
