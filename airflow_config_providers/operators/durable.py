"""Operators whose job can outlive a try: Airflow's durable mode, the default since 3.3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_config_providers.airflow_compat import AirflowTaskTimeout
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigProvidersError, SubmitError
from airflow_config_providers.operators.configured import ConfiguredOperator

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.job.sealed_values import ValueSeal
    from airflow_config_providers.operators.record_keeper import SubmittedConfig
    from airflow_config_providers.operators.try_state import FollowedJob


class DurableMixin(ConfiguredOperator):
    """
    A mixin for operators with ``durable``. A try that follows the job of an earlier try submits nothing.

    Neither does a try that was rescheduled after it submitted its job. Such a try shows the configuration with which
    the job was submitted. If the job is restarted when its secrets change, the try watches them, and compares them with
    those with which the job was submitted; otherwise it resolves nothing.

    While a job runs in the cluster, the end of this process does not end the job's leases.
    """

    external_id_key: str
    _status: Any = None  # of the job, when this try decided about following it
    _is_active = False  # by this status

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
        self._follow_job(job, submitted, context, next_run=self._watchable(context, jinja_env))

    def _state_store(self, context: Any) -> Any:
        return context.get("task_state_store") if getattr(self, "durable", False) else None

    def _is_followable(self, job: Any, submitted: SubmittedConfig | None, context: Any) -> bool:
        """Return whether ``job`` still runs or has succeeded, which its own configuration says where to ask."""
        from airflow_config_providers.operators.shown_job import show_conf

        fields = self._job_fields()
        before = {name: getattr(self, name) for name in fields.names}
        try:
            if submitted is not None:
                show_conf(self, fields, submitted.layered)
            return self._can_follow(job, context)
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def _watchable(self, context: Any, jinja_env: Any) -> JobRun | None:
        """Return what the running job would be submitted with now; None if it would not be restarted."""
        if self._obstacle_to_reload() or not self._is_active:
            return None
        from airflow_config_providers.operators.authored import checked_configuration

        try:
            fields = self._job_fields()
            found = checked_configuration(self, fields, context=context, jinja_env=jinja_env)
            return found.resolve_if_restarted()
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

    def _follow_job(
        self, job: Any, submitted: SubmittedConfig | None, context: Any, *, next_run: JobRun | None
    ) -> None:
        """
        Show the configuration of ``job``, and references in place of its values of then and now.

        :param next_run: what it would be submitted with now, if that is watched
        """
        from airflow_config_providers.job.configuration import following_run
        from airflow_config_providers.operators.shown_job import show_conf
        from airflow_config_providers.operators.try_state import FollowedJob

        if submitted is not None:
            show_conf(self, self._job_fields(), submitted.layered)
        used = submitted.conf.values() if submitted else ()
        self._try_state.begin(following_run(self._job_options, self._texts_afterwards(), used=used))
        sealed = submitted.sealed if submitted else None
        then = None if sealed is None else self._job_seal(job, context).open(sealed)
        is_outdated = self._know_values(then, next_run)
        self._try_state.followed = FollowedJob(job, submitted, _is_own(submitted, context), next_run, is_outdated)
        self._show_followed(self._try_state.followed)

    def _know_values(self, then: ReverseTransformer | None, next_run: JobRun | None) -> bool:
        """Show references in place of the values of the job, ``then`` and now, and return whether these differ."""
        run, differs = self._try_state.run, False
        if then is not None:
            run.know(then)
        if next_run is not None:
            if then is not None:
                differs = next_run.differs_from(then)
                next_run.know(then)
            run.know(next_run.reverser)
        return differs

    def _job_seal(self, job: Any, context: Any) -> ValueSeal:
        from airflow_config_providers.job.sealed_values import ValueSeal

        return ValueSeal.of_task(context.get("ti"), "job", job, log=self.log)

    def _can_follow(self, job: Any, context: Any) -> bool:
        """Get the status of ``job``, and return whether it still runs or has succeeded."""
        self._status = status = self.get_job_status(job, context)
        self._is_active = bool(self.is_job_active(status))  # type: ignore[attr-defined]  # of the operator
        return self._is_active or bool(self.is_job_succeeded(status))  # type: ignore[attr-defined]

    def _show_followed(self, followed: FollowedJob) -> None:
        from airflow_config_providers.operators.shown_job import show_lines

        note = followed.note(self._status, key=self.external_id_key)
        self.log.warning("%s", note)
        lines = followed.lines(note)
        self.log.info("Configuration of the job:\n%s", "\n".join(lines[1:]))
        show_lines(self, lines, rest="see the log of the try that submitted the job")

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
        if self._try_state.followed:
            raise SubmitError(
                f"This try should follow a job that was submitted before, but {self.external_id_key} was deleted from "
                f"the task's state meanwhile. Try again: the next try submits a new job."
            )
        job = super().submit_job(context)  # type: ignore[misc]  # of the operator
        if self._state_store(context) is not None:
            self._try_state.run.keep_leases(is_left=True)
        return job

    def poll_until_complete(self, external_id: Any, context: Any) -> Any:
        """Wait for the end of a job, which can continue without this process and then keeps its leases."""
        poll = super().poll_until_complete  # type: ignore[misc]  # of the operator
        if self._try_state.followed:
            return poll(external_id, context)
        self._try_state.keep_job(external_id)
        if self._state_store(context) is None:
            return poll(external_id, context)
        self._keep_submitted(external_id, context)
        with self._taken_back_after(external_id, context):
            return poll(external_id, context)

    def _keep_submitted(self, job: Any, context: Any) -> None:
        """Store the configuration of ``job`` for later tries that follow it."""
        from airflow_config_providers.operators.record_keeper import STATE_KEY, SubmittedConfig

        sealed = self._job_seal(job, context).seal(self._try_state.run.reverser)
        submitted = SubmittedConfig(
            self._try_state.run.shown, self.effective_config or (), sealed, _try_number(context)
        )
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
            if self._try_state.is_killed or isinstance(error, AirflowTaskTimeout) or not self._may_run(job, context):
                self._try_state.run.keep_leases(is_left=False)
            else:
                self.log.warning("Job %s is perhaps still running: its leases are left to expire.", printable(str(job)))
            raise
        self._try_state.run.keep_leases(is_left=False)

    def _may_run(self, job: Any, context: Any) -> bool:
        try:
            return bool(self.is_job_active(self.get_job_status(job, context)))  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001 - the status is unknown then
            return True

    def _forget_job(self, context: Any) -> None:
        """Forget the job that was stopped, which a later try must not follow, and this one no longer does."""
        self._status = None
        store = self._state_store(context)
        if store is not None:
            store.delete(self.external_id_key)

    def on_kill(self) -> None:
        """Kill the job, and end its leases."""
        try:
            super().on_kill()
        finally:
            if self._try_state.has_run:
                self._try_state.run.keep_leases(is_left=False)


def _submitted_config(store: Any, job: Any) -> SubmittedConfig | None:
    from airflow_config_providers.operators.record_keeper import STATE_KEY, SubmittedConfig

    return SubmittedConfig.read(store.get(STATE_KEY), job)


def _is_own(submitted: SubmittedConfig | None, context: Any) -> bool:
    """Return whether this very try submitted the job, and was rescheduled."""
    by = submitted.try_number if submitted else None
    return by is not None and by == _try_number(context)


def _try_number(context: Any) -> int | None:
    return getattr(context.get("ti"), "try_number", None)


def _has_started_before(context: Any) -> bool:
    """Return whether the task can have submitted a job: in an earlier try, or in this one before it was rescheduled."""
    return (_try_number(context) or 1) > 1 or bool(context.get("task_reschedule_count"))
