"""Triggers in place of stock ones, which would bring values that a service quotes into logs and Airflow's database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from airflow.triggers.base import BaseTrigger, TriggerEvent


class StandInTrigger:
    """A mixin for a trigger that takes the place of a stock one, with its arguments."""

    @classmethod
    def of(cls, trigger: BaseTrigger) -> Self:
        """Return a trigger with the arguments of a stock trigger."""
        return cls(**trigger.serialize()[1])

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class path and the arguments that Airflow stores."""
        stock: Any = super()
        return f"{type(self).__module__}.{type(self).__qualname__}", stock.serialize()[1]


class QuietTrigger(StandInTrigger):
    """
    A mixin for a trigger whose event leaves out what quotes the values of a job, such as its properties or its error.

    The triggerer does not know the values, so it cannot replace them by references. The task asks the service again.
    """

    left_out: ClassVar[Mapping[str, Any]]
    """Entry of the event -> what replaces it."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait as the stock trigger does, and leave out what its event could quote."""
        stock: Any = super()
        async for event in stock.run():
            event.payload = self.quiet(event.payload)
            yield event

    def quiet(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of an event without what the service says of the job."""
        return {**payload, **{name: value for name, value in self.left_out.items() if name in payload}}


def stand_in(trigger: Any, kinds: Mapping[Any, type[StandInTrigger]]) -> Any:
    """
    Return the trigger that takes the place of ``trigger``, or ``trigger`` itself if its class is not in ``kinds``.

    :param kinds: class of a stock trigger -> the class in its place; a subclass of a stock one is left alone
    """
    kind = kinds.get(type(trigger))
    return trigger if kind is None else kind.of(trigger)
