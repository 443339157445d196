"""What a task tells Airflow's server while it runs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object

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

Keys of the state stores are there wherever they are used, so that a task finds again what it has stored; so is the run
that it triggered, where it asks for that. Other identifiers are not: a task may well ask for a connection whose name is
a value. Nor are Airflow's variables, which a task sets to have others read the value.
"""

_NOT_IN_A_RUN_ID: Final = re.compile(r"[^A-Za-z0-9_.~:+-]")
"""What Airflow refuses in the ID of a run, unless ``[scheduler] allowed_run_id_pattern`` says otherwise."""


@contextmanager
def reversing_messages(reverser: ReverseTransformer) -> Iterator[None]:
    """Have what Airflow stores of this task's messages show references."""
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
    """Stands for what a task talks to its supervisor with."""

    def __init__(self, inner: Any, reverser: ReverseTransformer) -> None:
        self._inner = inner
        self._reverser: ReverseTransformer | None = reverser
        self._run_ids: dict[str, str] = {}

    def open(self) -> None:
        """Pass everything on as it is: a task in another thread may have put its own guard in front of this one."""
        self._reverser = None
        self._run_ids = {}

    def send(self, msg: Any) -> Any:
        """Send ``msg`` with references."""
        return self._inner.send(msg=self._shown(msg))

    def asend(self, msg: Any) -> Any:
        """Return what sends ``msg`` with references when it is awaited."""
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
        """Give the fields of ``message`` that name runs which this task has triggered, with the IDs that these got."""
        held = {name: getattr(message, name, None) for name in ("run_id", "run_ids")}
        sent = {
            name: map_leaves(value, lambda leaf: self._run_ids.get(str(leaf), leaf)) for name, value in held.items()
        }
        return {name: value for name, value in sent.items() if value is not held[name]}


def _legal_run_id(shown: str) -> str:
    legal = _NOT_IN_A_RUN_ID.sub("_", shown)
    _log.warning("The ID of a run held a value. The run is triggered as %s.", legal)
    return legal
