"""Reverses what a task that is deferred hands to Airflow: its trigger, and the arguments with which it resumes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

_log = logging.getLogger(__name__)


def reverse_deferral(
    deferred: Any, reverser: ReverseTransformer, *, carried: Collection[str], stop: Callable[[], Any]
) -> None:
    """
    Keep values out of the trigger, and out of the arguments with which the task resumes.

    A trigger of a pod leaves the pod's log to the task, since the triggerer does not know the values.

    :param deferred: a ``TaskDeferred``, or a ``TaskAwaitingInput``, which has no trigger
    :param carried: arguments that the trigger only passes on, in which references replace values
    :param stop: called if this fails, since the job could already run
    :raises ExposedValueError: the trigger would need a value
    """
    deferred.kwargs = reverse_stored(deferred.kwargs, reverser)
    if not hasattr(deferred, "trigger"):
        return
    if reverser and getattr(deferred.trigger, "logging_interval", None) is not None:
        deferred.trigger.logging_interval = None
        _log.warning("logging_interval has no effect: the task fetches the log when the pod ends.")
    _, arguments = deferred.trigger.serialize()
    hidden = {name: reverse_stored(value, reverser) for name, value in arguments.items()}
    changed = {name for name, value in arguments.items() if hidden[name] is not value}
    if not changed:
        return
    if not changed <= set(carried):
        with suppress(Exception):  # the reason below is more important than an error of stop
            stop()
        kind, deferred.trigger = type(deferred.trigger).__name__, None  # the error has it in its context
        raise ExposedValueError(
            f"The trigger {kind} would be stored with values, in "
            f"{', '.join(printable(name) for name in sorted(changed - set(carried)))}. Run this task with "
            f"deferrable=False, or let the job itself resolve its references."
        )
    deferred.trigger = type(deferred.trigger)(**hidden)
