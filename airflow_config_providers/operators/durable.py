"""Operators whose job can outlive a try: Airflow's durable mode, the default since 3.3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import AirflowTaskTimeout
from airflow_config_providers.core.text import one_line, printable, shortened
from airflow_config_providers.exceptions import ConfigProvidersError, SubmitError
from airflow_config_providers.operators.configured import ConfiguredOperator

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.records.record import TryRecord
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.job.sealed_values import ValueSeal
    from airflow_config_providers.operators.record_keeper import SubmittedConfig


class DurableMixin(ConfiguredOperator):
    """
    A mixin for operators with ``durable``. A try that follows the job of an earlier try submits nothing.

    Neither does a try that was rescheduled after it submitted its job. Such a try shows the configuration with which
    the job was submitted. If the job is restarted when its secrets change, the try watches them, and compares them with
    those with which the job was submitted; otherwise it resolves nothing.

    While a job runs in the cluster, the end of this process does not end the job's leases.
    """

    external_id_key: str
    _status: Any = None
    _is_active: bool = False  # the job, when this try decided about following it
    _is_following: bool = False
    _followed: tuple[Any, SubmittedConfig | None] = (None, None)  # the job that this try follows
    _next_submit: JobRun | None = None  # what the followed job would be submitted with now, if that is watched

    def _may_follow(self) -> bool:
        """Return whether this try would follow a job of an earlier try."""
        return not getattr(self, "deferrable", False)

    def _texts_afterwards(self) -> Mapping[str, str]:
        """Return label -> string for strings that are used after the job has ended."""
        return {}

    def _resolve_job(self, context: Any, jinja_env: Any) -> None:
        store = self._state_store(context)
        may_follow = store is not None and _has_started_before(context) and self._may_follow()
        job = store.get(self.external_id_key) if may_follow else None
        submitted = _submitted_config(store, job) if job else None
        if not job or not self._is_followable(job, submitted, context):
            super()._resolve_job(context, jinja_env)
            return
        self._next_submit = self._watchable(context, jinja_env)
        self._follow_job(job, submitted, context)

    def _state_store(self, context: Any) -> Any:
        return context.get("task_state_store") if getattr(self, "durable", False) else None

    def _is_followable(self, job: Any, submitted: SubmittedConfig | None, context: Any) -> bool:
        """Return whether ``job`` still runs or has succeeded, which its own configuration says where to ask."""
        fields = self._job_fields()
        before = {name: getattr(self, name) for name in fields.names}
        try:
            if submitted is not None:
                self._show_conf(fields, submitted.layered)
            return self._can_follow(job, context)
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def _watchable(self, context: Any, jinja_env: Any) -> JobRun | None:
        """Return what the running job would be submitted with now; None if it would not be restarted."""
        if self._obstacle_to_reload() or not self._is_active:
            return None
        try:
            return self._checked_configuration(context, jinja_env).resolve_if_restarted()
        except ConfigProvidersError as error:
            problem = "; ".join(error.problems)
        except Exception as error:  # noqa: BLE001 - following the job is more important; the message can hold a value
            problem = type(error).__name__
        self.log.warning(
            "This try does not watch the secrets of the job that it follows, because its configuration is not usable "
            "now: %s",
            problem,
        )
        return None

    def _follow_job(self, job: Any, submitted: SubmittedConfig | None, context: Any) -> None:
        """Show the configuration of ``job``, and references in place of its values of then and now."""
        from airflow_config_providers.job.configuration import following_run

        self._is_following, self._followed = True, (job, submitted)
        if submitted is not None:
            self._show_conf(self._job_fields(), submitted.layered)
        used = submitted.conf.values() if submitted else ()
        self._job_run = following_run(self._job_options, self._texts_afterwards(), used=used)
        if submitted is not None and submitted.sealed is not None:
            self._know_submitted(self._job_seal(job, context).open(submitted.sealed))
        if self._next_submit:
            self._job_run.know(self._next_submit.reverser)
        self._show_followed(self._note(context), submitted)

    def _note(self, context: Any) -> str:
        job, submitted = self._followed
        name, since, whose = printable(str(job)), "", " of an earlier try"
        if self._is_own(submitted, context):
            since, whose = " since it was rescheduled", ", its own"
        known = "shown below" if submitted else "unknown"
        is_watched = self._next_submit and self._next_submit.reloads
        changes = "apply when it is restarted, because its secrets changed" if is_watched else "do not apply to it"
        return (
            f"This try has submitted nothing{since}: it follows job {name}{whose}, which is "
            f"{printable(str(self._status))}. The configuration of that job is {known}; later changes {changes}. To "
            f"submit a new job, delete the key {self.external_id_key} of the task's state, or set durable=False."
        )

    def _is_own(self, submitted: SubmittedConfig | None, context: Any) -> bool:
        """Return whether this very try submitted the job, and was rescheduled."""
        by = submitted.try_number if submitted else None
        return by is not None and by == _try_number(context)

    def _keep_record(self, context: Any) -> None:
        """Keep the record of this try, but not in place of the one of the job that this very try submitted."""
        if self._is_following and self._is_own(self._followed[1], context) and self._record_keeper is not None:
            self._record_keeper.keep_first(lambda: self._try_record(context), self._job_run.reverser)
        else:
            super()._keep_record(context)

    def _try_record(self, context: Any) -> TryRecord:
        record = super()._try_record(context)
        if not self._is_following:
            return record
        from airflow_config_providers.job.records.record import recorded

        job, submitted = self._followed
        shown = recorded(submitted.layered) if submitted else {}
        return replace(record, configs=shown, job=str(job), follows=submitted.try_number if submitted else None)

    def _know_submitted(self, values: ReverseTransformer | None) -> None:
        """Show references in place of the ``values`` of the job, and compare them with those of now."""
        if values is None:
            return
        self._job_run.know(values)
        if self._next_submit:
            self._is_outdated = self._next_submit.differs_from(values)
            self._next_submit.know(values)

    def _job_seal(self, job: Any, context: Any) -> ValueSeal:
        from airflow_config_providers.job.sealed_values import ValueSeal

        return ValueSeal.of_task(context.get("ti"), "job", job, log=self.log)

    @property
    def _watched_run(self) -> JobRun:
        return self._next_submit or self._job_run

    def _clear_runs(self) -> None:
        try:
            super()._clear_runs()
        finally:
            if self._next_submit:
                self._next_submit.clear()

    def _can_follow(self, job: Any, context: Any) -> bool:
        """Get the status of ``job``, and return whether it still runs or has succeeded."""
        self._status = status = self.get_job_status(job, context)
        self._is_active = bool(self.is_job_active(status))  # type: ignore[attr-defined]  # of the operator
        return self._is_active or bool(self.is_job_succeeded(status))  # type: ignore[attr-defined]

    def _show_followed(self, note: str, submitted: SubmittedConfig | None) -> None:
        self.log.warning("%s", note)
        lines = [f"! {one_line(note)}", *(submitted.lines if submitted else ())]
        self.log.info("Configuration of the job:\n%s", "\n".join(lines[1:]))
        self.effective_config = shortened(
            lines, characters=settings.longest_field(), rest="see the log of the try that submitted the job"
        )

    def get_job_status(self, external_id: Any, context: Any) -> Any:
        """Return the status of a job; the first call returns the status by which it was decided to follow the job."""
        status, self._status = self._status, None
        if status is None:
            status = super().get_job_status(external_id, context)  # type: ignore[misc]  # of the operator
        return status

    def submit_job(self, context: Any) -> Any:
        """
        Submit the job, and hand its leases over to it before Airflow stores its id and a later try can follow it.

        :raises SubmitError: this try follows a job, and so has nothing to submit
        """
        if self._is_following:
            raise SubmitError(
                f"This try should follow a job that was submitted before, but {self.external_id_key} was deleted from "
                f"the task's state meanwhile. Try again: the next try submits a new job."
            )
        job = super().submit_job(context)  # type: ignore[misc]  # of the operator
        if self._state_store(context) is not None:
            self._job_run.keep_leases(is_left=True)
        return job

    def poll_until_complete(self, external_id: Any, context: Any) -> Any:
        """Wait for the end of a job, which can continue without this process and then keeps its leases."""
        poll = super().poll_until_complete  # type: ignore[misc]  # of the operator
        if self._is_following:
            return poll(external_id, context)
        self._keep_job(external_id)
        if self._state_store(context) is None:
            return poll(external_id, context)
        self._keep_submitted(external_id, context)
        with self._taken_back_after(external_id, context):
            return poll(external_id, context)

    def _keep_submitted(self, job: Any, context: Any) -> None:
        """Store the configuration of ``job`` for later tries that follow it."""
        from airflow_config_providers.operators.record_keeper import STATE_KEY, SubmittedConfig

        sealed = self._job_seal(job, context).seal(self._job_run.reverser)
        submitted = SubmittedConfig(self._job_run.shown, self.effective_config or (), sealed, _try_number(context))
        try:
            self._state_store(context).set(STATE_KEY, submitted.state(job))
        except Exception as error:  # noqa: BLE001 - the job runs, and following it is more important
            self.log.warning("The configuration of the job could not be stored: %s", type(error).__name__)

    @contextmanager
    def _taken_back_after(self, job: Any, context: Any) -> Iterator[None]:
        """End the leases of ``job`` when the job has ended."""
        try:
            yield
        except BaseException as error:
            if self._is_killed or isinstance(error, AirflowTaskTimeout) or not self._may_run(job, context):
                self._job_run.keep_leases(is_left=False)
            else:
                self.log.warning("Job %s is perhaps still running: its leases are left to expire.", printable(str(job)))
            raise
        self._job_run.keep_leases(is_left=False)

    def _may_run(self, job: Any, context: Any) -> bool:
        try:
            return bool(self.is_job_active(self.get_job_status(job, context)))  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001 - the status is unknown then
            return True

    def _begin_anew(self, context: Any, before: Mapping[str, Any], run: JobRun) -> None:
        """Forget the job that was stopped, which a later try must not follow, and this one no longer does."""
        super()._begin_anew(context, before, run)
        self._is_following, self._status, self._next_submit = False, None, None
        store = self._state_store(context)
        if store is not None:
            store.delete(self.external_id_key)

    def on_kill(self) -> None:
        """Kill the job, and end its leases."""
        try:
            super().on_kill()
        finally:
            if "_job_run" in vars(self):
                self._job_run.keep_leases(is_left=False)


def _submitted_config(store: Any, job: Any) -> SubmittedConfig | None:
    from airflow_config_providers.operators.record_keeper import STATE_KEY, SubmittedConfig

    return SubmittedConfig.read(store.get(STATE_KEY), job)


def _try_number(context: Any) -> int | None:
    return getattr(context.get("ti"), "try_number", None)


def _has_started_before(context: Any) -> bool:
    """Return whether the task can have submitted a job: in an earlier try, or in this one before it was rescheduled."""
    return (_try_number(context) or 1) > 1 or bool(context.get("task_reschedule_count"))
