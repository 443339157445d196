"""The operators of Dataproc with references, also if they are deferred."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, NoReturn

from airflow.providers.google.cloud.hooks.dataproc import DataprocHook
from airflow.providers.google.cloud.triggers.dataproc import DataprocBatchTrigger, DataprocSubmitTrigger

from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.operators.stand_in_trigger import QuietTrigger, StandInTrigger, stand_in

_JOB: Final = "job"
_MESSAGE: Final = "batch_state_message"


class DataprocMixin(ConfiguredOperator):
    """
    A mixin for ``DataprocSubmitJobOperator`` and ``DataprocCreateBatchOperator`` whose trigger only waits.

    The event of the stock trigger contains the whole job with its properties, or the error of the batch. The triggerer
    logs it, and Airflow stores it, without references.
    """

    gcp_conn_id: str
    impersonation_chain: Any
    project_id: str
    region: str

    def defer(self, *, trigger: Any, **kwargs: Any) -> NoReturn:
        """Defer with a trigger whose event has no text of Dataproc."""
        super().defer(trigger=stand_in(trigger, _STAND_INS), **kwargs)

    def execute_complete(self, context: Any, event: dict[str, Any] | None = None) -> Any:
        """Ask Dataproc what it says of a job that has not succeeded, and continue."""
        return super().execute_complete(context, self._completed(event or {}) or event)  # type: ignore[misc]

    def _completed(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return ``event`` with what its trigger has left out; only failures need it."""
        try:
            if event.get("job_state", "DONE") != "DONE" and event.get(_JOB, "") is None:
                return {**event, _JOB: self._job_hook().get_job(job_id=event["job_id"], **self._place)}
            if event.get("batch_state") == "FAILED" and event.get(_MESSAGE, "") is None:
                batch = self._job_hook().get_batch(batch_id=event["batch_id"], **self._place)
                return {**event, _MESSAGE: batch.state_message}
        except Exception as error:  # noqa: BLE001 - that the job has failed is more important
            self.log.warning("What Dataproc says of the failure could not be fetched: %s", error)
        return event

    def _job_hook(self) -> DataprocHook:
        return DataprocHook(gcp_conn_id=self.gcp_conn_id, impersonation_chain=self.impersonation_chain)

    @property
    def _place(self) -> dict[str, str]:
        return {"project_id": self.project_id, "region": self.region}


class QuietDataprocJobTrigger(QuietTrigger, DataprocSubmitTrigger):  # type: ignore[misc,unused-ignore] # Any without its provider
    """Waits for a job; its event does not contain the job."""

    left_out: ClassVar[Mapping[str, Any]] = {_JOB: None}


class QuietDataprocBatchTrigger(QuietTrigger, DataprocBatchTrigger):  # type: ignore[misc,unused-ignore] # Any without its provider
    """Waits for a batch; its event does not contain the batch's error."""

    left_out: ClassVar[Mapping[str, Any]] = {_MESSAGE: None}


_STAND_INS: Final[Mapping[type, type[StandInTrigger]]] = {
    DataprocSubmitTrigger: QuietDataprocJobTrigger,
    DataprocBatchTrigger: QuietDataprocBatchTrigger,
}
