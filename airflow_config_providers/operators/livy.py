"""``LivyOperator`` whose task fetches what its batch has printed, also where it was deferred."""

from __future__ import annotations

from typing import Any, Final, NoReturn, Self

from airflow.providers.apache.livy.triggers.livy import LivyTrigger

from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.operators.in_place import ConfigProvidersMixin


class LivyMixin(DurableMixin, ConfigProvidersMixin):
    """
    Stands in front of ``LivyOperator``: its trigger waits and no more.

    The stock trigger logs what the batch has printed, and sends it to the task by way of Airflow's database. The
    triggerer has no values, so it could not show references there.
    """

    hook: Any
    _polling_interval: int

    def _may_follow(self) -> bool:
        return super()._may_follow() and self._polling_interval > 0

    def defer(self, *, trigger: Any, **kwargs: Any) -> NoReturn:
        """Wait with a trigger that fetches no log."""
        if type(trigger) is LivyTrigger:
            trigger = WaitingLivyTrigger.of(trigger)
        super().defer(trigger=trigger, **kwargs)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Log what the batch has printed, with references, and go on."""
        if event.get("log_lines") is None:
            self._log_batch(event["batch_id"])
        return super().execute_complete(context, event)  # type: ignore[misc]  # of the operator behind this

    def _log_batch(self, batch_id: int | str) -> None:
        try:
            self.hook.dump_batch_logs(batch_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, how the batch has ended counts more
            self.log.warning("What batch %s has printed could not be fetched: %s", batch_id, error)


class WaitingLivyTrigger(LivyTrigger):
    """Waits for the end of a batch, and leaves alone what it has printed."""

    @classmethod
    def of(cls, trigger: LivyTrigger) -> Self:
        """Take over what a stock trigger was made with."""
        return cls(**trigger.serialize()[1])

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Give what Airflow stores."""
        return _PATH, super().serialize()[1]

    def _get_async_hook(self) -> Any:
        hook = super()._get_async_hook()
        vars(hook)["dump_batch_logs"] = _fetch_nothing
        return hook


async def _fetch_nothing(batch_id: int | str) -> None:
    """Stand for what fetches the lines."""


_PATH: Final = f"{__name__}.{WaitingLivyTrigger.__name__}"
