"""What a task leaves to its trigger, which Airflow stores."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ExposedValueError


def reverse_deferral(
    deferred: Any, reverser: ReverseTransformer, *, carried: Collection[str], stop: Callable[[], Any]
) -> None:
    """
    Make sure that no value goes to a trigger, or into what the task is resumed with.

    :param deferred: a ``TaskDeferred``
    :param carried: arguments of the trigger that it does not use itself: references take the place of values there
    :param stop: called where this fails; the job may have been started
    :raises ExposedValueError: the trigger would need a value
    """
    deferred.kwargs = reverse_object(deferred.kwargs, (reverser,))
    _, arguments = deferred.trigger.serialize()
    hidden = {name: reverse_object(value, (reverser,)) for name, value in arguments.items()}
    changed = {name for name, value in arguments.items() if hidden[name] is not value}
    if not changed:
        return
    if not changed <= set(carried):
        with suppress(Exception):  # whatever stopping it raises, the reason below is what counts
            stop()
        raise ExposedValueError(
            f"The trigger {type(deferred.trigger).__name__} would be stored with values, in "
            f"{', '.join(printable(name) for name in sorted(changed - set(carried)))}. Run this task with "
            f"deferrable=False, or let the job resolve its references itself."
        )
    deferred.trigger = type(deferred.trigger)(**hidden)
