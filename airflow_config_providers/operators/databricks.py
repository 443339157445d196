"""``DatabricksSubmitRunOperator`` with references, also if it is deferred."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar, NoReturn

from airflow.providers.databricks.hooks.databricks import RunState
from airflow.providers.databricks.triggers.databricks import DatabricksExecutionTrigger

from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.operators.stand_in_trigger import QuietTrigger, stand_in


class DatabricksMixin(DurableMixin):
    """
    A mixin for ``DatabricksSubmitRunOperator`` whose trigger only waits.

    The event of the stock trigger contains the errors of the run's tasks, which can quote a value. The triggerer logs
    it, and Airflow stores it, without references.
    """

    _hook: Any

    def defer(self, *, trigger: Any, **kwargs: Any) -> NoReturn:
        """Defer with a trigger whose event has no text of Databricks."""
        kinds = {DatabricksExecutionTrigger: QuietDatabricksTrigger}
        super().defer(trigger=stand_in(trigger, kinds), **kwargs)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Ask Databricks for the errors of a run that has failed, and continue."""
        completed = event if event.get("errors", ()) is not None else self._with_errors({**event, "errors": []})
        return super().execute_complete(context, completed)  # type: ignore[misc]  # of the operator

    def _with_errors(self, event: dict[str, Any]) -> dict[str, Any]:
        if RunState.from_json(event["run_state"]).is_successful:
            return event
        try:
            from airflow.providers.databricks.utils.databricks import extract_failed_task_errors

            run = self._hook.get_run(event["run_id"])
            state = RunState(**run["state"])
            errors = extract_failed_task_errors(self._hook, run, state)
        except Exception as error:  # noqa: BLE001 - that the run has failed is more important
            self.log.warning("The errors of run %s could not be fetched: %s", event["run_id"], error)
            return event
        return {**event, "run_state": state.to_json(), "errors": errors}


class QuietDatabricksTrigger(QuietTrigger, DatabricksExecutionTrigger):  # type: ignore[misc,unused-ignore] # Any without its provider
    """Waits for a run; its log and its event have neither the errors of its tasks nor the message of a state."""

    left_out: ClassVar[Mapping[str, Any]] = {"errors": None}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        vars(self.hook)["a_get_run_state"] = partial(_state_without_message, self.hook.a_get_run_state)


async def _state_without_message(ask: Callable[[int], Awaitable[Any]], run_id: int) -> Any:
    """Ask for the state of a run, which the stock trigger logs while it waits, and which its event contains."""
    state = await ask(run_id)
    state.state_message = ""
    return state
