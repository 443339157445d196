"""``LivyOperator`` with layers and references. Its task fetches the batch's log, even if it was deferred."""

from __future__ import annotations

from typing import Any, NoReturn

from airflow.providers.apache.livy.triggers.livy import LivyTrigger

from airflow_config_providers.foreign import require_bases
from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.operators.stand_in_trigger import StandInTrigger, stand_in


class LivyMixin(DurableMixin):
    """
    A mixin for ``LivyOperator`` whose trigger only waits.

    The stock trigger logs the output of the batch, and sends it to the task through Airflow's database. The triggerer
    does not know the values, so it cannot replace them by references.
    """

    hook: Any
    _polling_interval: int
    _batch_id: int | str | None

    def _may_follow(self) -> bool:
        return super()._may_follow() and self._polling_interval > 0

    def _obstacle_to_reload(self) -> str | None:
        if self._polling_interval <= 0:
            return "its task does not wait for the job. To have it restarted, set polling_interval."
        return super()._obstacle_to_reload()

    def _has_begun(self) -> bool:
        return self._batch_id is not None

    def defer(self, *, trigger: Any, **kwargs: Any) -> NoReturn:
        """Defer with a trigger that does not fetch the log."""
        self._try_state.keep_job(self._batch_id)
        super().defer(trigger=stand_in(trigger, {LivyTrigger: WaitingLivyTrigger}), **kwargs)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Log the output of the batch, with references, and continue."""
        if event.get("log_lines") is None:
            self._log_batch(event["batch_id"])
        return super().execute_complete(context, event)  # type: ignore[misc]  # of the operator

    def _log_batch(self, batch_id: int | str) -> None:
        try:
            self.hook.dump_batch_logs(batch_id)
        except Exception as error:  # noqa: BLE001 - the result of the batch is more important
            self.log.warning("The output of batch %s could not be fetched: %s", batch_id, error)


class WaitingLivyTrigger(StandInTrigger, LivyTrigger):  # type: ignore[misc,unused-ignore] # Any without Livy's provider
    """
    Waits for the end of a batch, without fetching its output.

    :raises UnsupportedVersionError: the installed Livy provider lacks something that this class leans on
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        require_bases(type(self))
        super().__init__(*args, **kwargs)

    def _get_async_hook(self) -> Any:
        hook = super()._get_async_hook()
        vars(hook)["dump_batch_logs"] = _fetch_nothing
        return hook


async def _fetch_nothing(batch_id: int | str) -> None:
    """Replace the method that fetches the log lines."""
