"""The operators of EMR with references, also if they are deferred."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from airflow.providers.amazon.aws.triggers.emr import EmrAddStepsTrigger, EmrServerlessStartJobTrigger

from airflow_config_providers.airflow_compat import AirflowException
from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.operators.stand_in_trigger import StandInTrigger, stand_in

if TYPE_CHECKING:
    from airflow.triggers.base import TriggerEvent

_QUESTION: Final = "question"
"""Entry of the event of a failure: the arguments with which the trigger asked EMR, and the task asks again."""

_FAILED_RUN: Final = frozenset({"FAILED", "CANCELLED"})


class EmrMixin(ConfiguredOperator):
    """
    A mixin for operators of EMR whose trigger only waits.

    The event of the stock trigger contains what EMR says of a failure, which EMR takes from the log of the job. The
    triggerer logs it, and Airflow stores it, without references.
    """

    hook: Any

    @abstractmethod
    def _failure(self, question: Mapping[str, Any]) -> str:
        """Ask EMR ``question``, and return what it says of a job that has failed; empty if the job has not."""

    def defer(self, *, trigger: Any, **kwargs: Any) -> NoReturn:
        """Defer with a trigger that does not read what EMR says of the job."""
        super().defer(trigger=stand_in(trigger, _STAND_INS), **kwargs)

    def execute_complete(self, context: Any, event: dict[str, Any] | None = None) -> Any:
        """
        Ask EMR what it says of a job that has not succeeded, and continue.

        :raises AirflowException: the job has failed
        """
        said = dict(event or {})
        question = said.pop(_QUESTION, None)
        if question and (reason := self._reason(question)):
            raise AirflowException(reason)
        return super().execute_complete(context, said or event)  # type: ignore[misc]  # of the operator

    def _reason(self, question: Mapping[str, Any]) -> str:
        try:
            return self._failure(question)
        except Exception as error:  # noqa: BLE001 - that the job has failed is more important
            self.log.warning("What EMR says of the failure could not be fetched: %s", error)
            return ""


class EmrStepsMixin(EmrMixin):
    """A mixin for ``EmrAddStepsOperator``."""

    def _failure(self, question: Mapping[str, Any]) -> str:
        steps = self.hook.conn.list_steps(**question)["Steps"]
        failed = [step for step in steps if step["Status"]["State"] in {"FAILED", "CANCELLED", "INTERRUPTED"}]
        return "".join(f"Step {step['Id']} has not completed: {_shown(step['Status'])}\n" for step in failed).rstrip()


class EmrServerlessMixin(EmrMixin):
    """A mixin for ``EmrServerlessStartJobOperator``."""

    def _failure(self, question: Mapping[str, Any]) -> str:
        run = self.hook.conn.get_job_run(**question)["jobRun"]
        if run["state"] not in _FAILED_RUN:  # the stock operator cancels one that takes too long
            return ""
        return f"Job run {run['jobRunId']} has not succeeded: {run['state']} - {run['stateDetails']}"


def _shown(status: Mapping[str, Any]) -> str:
    details = status.get("FailureDetails") or status.get("StateChangeReason") or {}
    said = (text for name, text in details.items() if name != "Code" and text)
    return " - ".join((status["State"], *said))


class QuietEmrTrigger(StandInTrigger):
    """A mixin for a trigger of EMR that reads, logs and reports nothing of a job except its state."""

    states: ClassVar[Sequence[str]]
    """Where the answer of EMR has the states."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        stock: Any = super()
        stock.__init__(*args, **kwargs)
        self.status_queries = list(self.states)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait as the stock trigger does, and add to the event of a failure what the task needs to ask EMR."""
        stock: Any = super()
        async for event in stock.run():
            if event.payload["status"] != "success":
                event.payload = {**event.payload, **self._known()}
            yield event

    def _known(self) -> dict[str, Any]:
        own: Any = self
        return {own.return_key: own.return_value, _QUESTION: own.waiter_args}


class QuietEmrStepsTrigger(QuietEmrTrigger, EmrAddStepsTrigger):  # type: ignore[misc,unused-ignore] # Any without its provider
    """Waits for steps; its event does not contain why one has failed."""

    states: ClassVar[Sequence[str]] = ("Steps[].Status.State",)


class QuietEmrServerlessTrigger(QuietEmrTrigger, EmrServerlessStartJobTrigger):  # type: ignore[misc,unused-ignore] # Any without its provider
    """Waits for a run of EMR Serverless; its event does not contain why the run has failed."""

    states: ClassVar[Sequence[str]] = ("jobRun.state",)


_STAND_INS: Final[Mapping[type, type[StandInTrigger]]] = {
    EmrAddStepsTrigger: QuietEmrStepsTrigger,
    EmrServerlessStartJobTrigger: QuietEmrServerlessTrigger,
}
