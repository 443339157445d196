"""Reverses what a task sends to Airflow's server: messages while it runs, and the trigger when it is deferred."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ExposedValueError

_log = logging.getLogger(__name__)

_STATE: Final = ("key", "value")

STORED: Final[Mapping[str, tuple[str, ...]]] = {
    "CreateHITLDetailPayload": ("subject", "body", "params", "options", "defaults"),
    "DeleteAssetStateStoreByName": ("key",),
    "DeleteAssetStateStoreByUri": ("key",),
    "DeleteTaskStateStore": ("key",),
    "GetAssetStateStoreByName": ("key",),
    "GetAssetStateStoreByUri": ("key",),
    "GetTaskStateStore": ("key",),
    "SetAssetStateStoreByName": _STATE,
    "SetAssetStateStoreByUri": _STATE,
    "SetRenderedFields": ("rendered_fields",),
    "SetRenderedMapIndex": ("rendered_map_index",),
    "SetTaskStateStore": _STATE,
    "SetXCom": _STATE,
    "TriggerDagRun": ("run_id", "conf", "note", "partition_key"),
    "UpdateDagRunNote": ("note",),  # since Airflow 3.4
    "UpdateHITLDetail": ("chosen_options", "params_input"),
}
"""
Message -> its fields that Airflow stores and shows to everyone who can see the DAG.

Keys of the state stores are reversed wherever they are used, so that a task finds what it has stored. The same applies
to the ID of a run that it has triggered, when it asks for that run. Other identifiers are not reversed: a task can ask
for a connection whose name is a value. Nor are Airflow's variables, which a task sets for others to read the value.
"""

_NOT_IN_A_RUN_ID: Final = re.compile(r"[^A-Za-z0-9_.~:+-]")
"""The characters that Airflow refuses in the ID of a run by default (``[scheduler] allowed_run_id_pattern``)."""


@contextmanager
def reversing_messages(reverser: ReverseTransformer) -> Iterator[None]:
    """Replace values by references in what Airflow stores of this task's messages."""
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415 - heavy, and not needed to parse a DAG

    place = vars(task_runner)
    comms = place.get("SUPERVISOR_COMMS")
    if comms is None or not reverser:
        yield
        return
    guard = _GuardedComms(comms, reverser)
    place["SUPERVISOR_COMMS"] = guard
    try:
        yield
    finally:
        guard.open()
        if place.get("SUPERVISOR_COMMS") is guard:
            place["SUPERVISOR_COMMS"] = comms


class _GuardedComms:
    """Wraps the object with which a task sends messages to its supervisor."""

    def __init__(self, inner: Any, reverser: ReverseTransformer) -> None:
        self._inner = inner
        self._reverser: ReverseTransformer | None = reverser
        self._run_ids: dict[str, str] = {}

    def open(self) -> None:
        """Pass everything on unchanged from now on, since a task in another thread can have wrapped this guard."""
        self._reverser = None
        self._run_ids = {}

    def send(self, msg: Any) -> Any:
        """Send ``msg`` with references in place of values."""
        return self._inner.send(msg=self._shown(msg))

    def asend(self, msg: Any) -> Any:
        """Return an awaitable that sends ``msg`` with references in place of values."""
        return self._inner.asend(self._shown(msg))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _shown(self, message: Any) -> Any:
        if (reverser := self._reverser) is None:
            return message
        held = {name: getattr(message, name) for name in STORED.get(type(message).__name__, ())}
        shown = {name: reverse_object(value, (reverser,)) for name, value in held.items()}
        changed = {name: value for name, value in shown.items() if value is not held[name]}
        if "run_id" in changed:
            changed["run_id"] = self._run_ids[message.run_id] = _legal_run_id(str(changed["run_id"]))
        elif "run_id" not in held:
            changed |= self._triggered(message)
        return message.model_copy(update=changed) if changed else message

    def _triggered(self, message: Any) -> dict[str, Any]:
        """Return the changed fields of ``message`` that name runs of this task, with the actual IDs of these runs."""
        held = {name: getattr(message, name, None) for name in ("run_id", "run_ids")}
        sent = {
            name: map_leaves(value, lambda leaf: self._run_ids.get(str(leaf), leaf)) for name, value in held.items()
        }
        return {name: value for name, value in sent.items() if value is not held[name]}


def _legal_run_id(shown: str) -> str:
    legal = _NOT_IN_A_RUN_ID.sub("_", shown)
    _log.warning("The ID of a run contained a value. The run is triggered as %s.", legal)
    return legal


def reverse_deferral(
    deferred: Any, reverser: ReverseTransformer, *, carried: Collection[str], stop: Callable[[], Any]
) -> None:
    """
    Keep values out of the trigger, and out of the arguments with which the task resumes.

    :param deferred: a ``TaskDeferred``
    :param carried: arguments that the trigger only passes on, in which references replace values
    :param stop: called if this fails, since the job could already run
    :raises ExposedValueError: the trigger would need a value
    """
    deferred.kwargs = reverse_object(deferred.kwargs, (reverser,))
    _, arguments = deferred.trigger.serialize()
    hidden = {name: reverse_object(value, (reverser,)) for name, value in arguments.items()}
    changed = {name for name, value in arguments.items() if hidden[name] is not value}
    if not changed:
        return
    if not changed <= set(carried):
        with suppress(Exception):  # the reason below is more important than an error of stop
            stop()
        raise ExposedValueError(
            f"The trigger {type(deferred.trigger).__name__} would be stored with values, in "
            f"{', '.join(printable(name) for name in sorted(changed - set(carried)))}. Run this task with "
            f"deferrable=False, or let the job itself resolve its references."
        )
    deferred.trigger = type(deferred.trigger)(**hidden)
