"""Operators whose job can outlive a try: Airflow's durable mode, the default since 3.3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import AirflowTaskTimeout, masked
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.text import one_line, printable, shortened
from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.job.configuration import following_run
from airflow_config_providers.operators.configured import ConfiguredOperator

STATE_KEY: Final = "config_providers_submitted"
"""The key in the task's state store that holds the configuration of its job, with references."""


@dataclass(frozen=True, slots=True)
class SubmittedConfig:
    """
    The configuration with which a job was submitted.

    :param conf: key -> text with references
    :param lines: the ``effective_config`` at that time
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()

    @classmethod
    def read(cls, state: Any, job: Any) -> Self | None:
        """Return the configuration in ``state``, which others can write; None if it does not belong to ``job``."""
        if not isinstance(state, dict) or state.get("job") != job:
            return None
        conf, lines = state.get("conf"), state.get("lines")
        if not isinstance(conf, dict) or not isinstance(lines, list):
            return None
        return cls({key: str(text) for key, text in conf.items()}, [one_line(str(line)) for line in lines])

    def state(self, job: Any) -> dict[str, Any]:
        """Return the entry for the task's state store, which Airflow does not mask."""
        conf = {key: masked(text) for key, text in self.conf.items()}
        return {"job": job, "conf": conf, "lines": list(map(masked, self.lines))}

    @property
    def layered(self) -> LayeredConfig:
        """The configuration, already settled."""
        return LayeredConfig([ConfigLayer(ConfigSource.DAG_CONFIG, "the job", self.conf)])


class DurableMixin(ConfiguredOperator):
    """
    A mixin for operators with ``durable``. A try that follows the job of an earlier try resolves nothing.

    It shows the configuration with which the job was submitted. While a job runs in the cluster, the end of this
    process does not end the job's leases.
    """

    external_id_key: str
    _status: Any = None
    _is_following: bool = False
    _is_killed: bool = False

    def _may_follow(self) -> bool:
        """Return whether this try would follow a job of an earlier try."""
        return not getattr(self, "deferrable", False)

    def _texts_afterwards(self) -> Mapping[str, str]:
        """Return label -> text for texts that are used after the job has ended."""
        return {}

    def _resolve_job(self, context: Any, jinja_env: Any) -> None:
        store = self._state_store(context)
        is_retry = getattr(context.get("ti"), "try_number", 1) > 1
        job = store.get(self.external_id_key) if store is not None and is_retry and self._may_follow() else None
        if not job or not self._follow_job(job, SubmittedConfig.read(store.get(STATE_KEY), job), context):
            super()._resolve_job(context, jinja_env)

    def _state_store(self, context: Any) -> Any:
        return context.get("task_state_store") if getattr(self, "durable", False) else None

    def _follow_job(self, job: Any, submitted: SubmittedConfig | None, context: Any) -> bool:
        """Follow ``job`` and return True if it still runs or has succeeded; otherwise change nothing."""
        before = {name: getattr(self, name) for name in self._job_fields().names}
        if submitted is not None:
            self._show_conf(submitted.layered)
        if not self._can_follow(job, context):
            for name, value in before.items():
                setattr(self, name, value)
            return False
        self._is_following = True
        used = submitted.conf.values() if submitted else ()
        self._job_run = following_run(self._job_options, self._texts_afterwards(), used=used)
        self._show_followed(_note(job, str(self._status), submitted, state_key=self.external_id_key), submitted)
        return True

    def _can_follow(self, job: Any, context: Any) -> bool:
        """Get the status of ``job``, and return whether it still runs or has succeeded."""
        self._status = status = self.get_job_status(job, context)
        return bool(self.is_job_active(status) or self.is_job_succeeded(status))  # type: ignore[attr-defined]

    def _show_followed(self, note: str, submitted: SubmittedConfig | None) -> None:
        self.log.warning("%s", note)
        lines = [f"! {one_line(note)}", *(submitted.lines if submitted else ())]
        self.log.info("Configuration of the job:\n%s", "\n".join(lines[1:]))
        self.effective_config = shortened(
            lines, characters=settings.longest_field(), rest="see the log of the try that submitted the job"
        )

    def get_job_status(self, external_id: Any, context: Any) -> Any:
        """Return the status of a job; the first call returns the one that decided about following it."""
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
                f"This try should follow a job of an earlier try, but {self.external_id_key} was deleted from the "
                f"task's state meanwhile. Try again: the next try submits a new job."
            )
        job = super().submit_job(context)  # type: ignore[misc]  # of the operator
        if self._state_store(context) is not None:
            self._job_run.keep_leases(is_left=True)
        return job

    def poll_until_complete(self, external_id: Any, context: Any) -> Any:
        """Wait for the end of a job, which can continue without this process and then keeps its leases."""
        poll = super().poll_until_complete  # type: ignore[misc]  # of the operator
        if self._is_following or self._state_store(context) is None:
            return poll(external_id, context)
        self._keep_submitted(external_id, context)
        with self._taken_back_after(external_id, context):
            return poll(external_id, context)

    def _keep_submitted(self, job: Any, context: Any) -> None:
        """Store the configuration of ``job`` for later tries that follow it."""
        submitted = SubmittedConfig(self._job_run.shown, self.effective_config or ())
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

    def on_kill(self) -> None:
        """Kill the job, and end its leases."""
        self._is_killed = True
        try:
            super().on_kill()
        finally:
            self._job_run.keep_leases(is_left=False)


def _note(job: Any, status: str, submitted: SubmittedConfig | None, *, state_key: str) -> str:
    known = "shown below" if submitted else "unknown"
    return (
        f"This try has submitted nothing: it follows job {printable(str(job))} of an earlier try, which is "
        f"{printable(status)}. The configuration of that job is {known}; later changes do not apply to it. To submit a "
        f"new job, delete the key {state_key} of the task's state, or set durable=False."
    )
