"""Reverses what a task stores through backends, which get it before Airflow does: XComs, its state, and lineage."""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import getattr_static
from typing import Any, Final

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.foreign import CONTEXT, LINEAGE, XCOM, require
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

_log = logging.getLogger(__name__)

_SET: Final = ("key", "value")
_PUSH: Final = ("ti", *_SET)
_SETTERS: Final = {"set": _SET, "aset": _SET, "_push": _PUSH, "_apush": _PUSH}
"""
Class method that stores an XCom -> its first parameters.

``aset`` exists since Airflow 3.3. Since Airflow 3.4, ``ti.xcom_push`` calls the last two, and before that the first.
"""


KEYS_OF_AIRFLOW: Final = frozenset({"return_value", "skipmixin_key", "trigger_run_id"})
"""Keys under which Airflow looks for what it has stored itself. A value that is a part of one is no secret there."""

_known: Final = ActiveReversers()


def guard_backends(reverser: ReverseTransformer) -> None:
    """
    Replace values by references in what the backends of XComs and state get, for as long as ``reverser`` has values.

    :raises UnsupportedVersionError: the installed Airflow has no such place to do that
    """
    _known.know(reverser)
    _guard_xcoms()
    _guard_state()


def is_reference(value: object) -> bool:
    """Return whether a state that is sent to Airflow only says where a backend has put the actual one."""
    from airflow.sdk.execution_time import context

    require(CONTEXT)
    marker = getattr(context, "_EXTERNAL_STATE_REF_KEY", None)  # since Airflow 3.3
    is_marked = marker is not None and isinstance(value, Mapping) and list(value) == [marker]
    return is_marked and context._get_worker_state_store_backend() is not None


def _guard_xcoms() -> None:
    from airflow.sdk.execution_time.xcom import XCom  # heavy, and not needed to parse a DAG

    require(XCOM)
    for name, parameters in _SETTERS.items():
        method = getattr_static(XCom, name, None)
        if method is not None and not isinstance(method, _ReversedSetter):
            setattr(XCom, name, _ReversedSetter(method, parameters))


def _guard_state() -> None:
    from airflow.sdk.execution_time import context

    require(CONTEXT)
    get = getattr(context, "_get_worker_state_store_backend", None)  # since Airflow 3.3
    if get is not None and not isinstance(get, _GuardedGetter):
        vars(context)["_get_worker_state_store_backend"] = _GuardedGetter(get)


class _ReversedSetter:
    """
    Takes the place of a class method that stores an XCom.

    The methods of backends stay in their classes, where Airflow looks which of them a class overrides.
    """

    def __init__(self, method: Any, parameters: tuple[str, ...]) -> None:
        self._method = method
        self._parameters = parameters

    def __get__(self, instance: Any, owner: Any) -> Callable[..., Any]:
        store = self._method.__get__(instance, owner)

        @wraps(store)
        def reversed_set(*args: Any, **kwargs: Any) -> Any:
            named = {**dict(zip(self._parameters, args, strict=False)), **kwargs}
            return store(**{**named, "key": _shown_key(named["key"]), "value": _stored(named["value"])})

        return reversed_set


def _stored(value: Any) -> Any:
    return reverse_stored(value, *_known.with_values)


def _shown_key(key: str) -> str:
    if key in KEYS_OF_AIRFLOW:
        return key
    if (shown := _known.text(key)) != key:
        _log.warning("The key of an XCom contained a value. It is stored with the reference, as %s.", shown)
    return shown


class _GuardedGetter:
    """Takes the place of Airflow's function that returns the backend of state, if there is one."""

    def __init__(self, get: Any) -> None:
        self._get = get

    def __call__(self) -> Any:
        backend = self._get()
        return backend if backend is None or not _known.with_values else _GuardedBackend(backend)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get, name)


class _GuardedBackend:
    """Wraps a backend of state. Keys are reversed wherever it gets them, so that it finds what it has stored."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def serialize_task_state_store_to_ref(self, *, value: Any, key: str, scope: Any) -> Any:
        store = self._inner.serialize_task_state_store_to_ref
        return store(value=_stored(value), key=_known.text(key), scope=scope)

    def serialize_asset_state_store_to_ref(self, *, value: Any, key: str, scope: Any) -> Any:
        store = self._inner.serialize_asset_state_store_to_ref
        return store(value=_stored(value), key=_known.text(key), scope=scope)

    def delete(self, scope: Any, key: str, **kwargs: Any) -> Any:
        return self._inner.delete(scope, _known.text(key), **kwargs)

    def adelete(self, scope: Any, key: str, **kwargs: Any) -> Any:
        return self._inner.adelete(scope, _known.text(key), **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


_Entry = tuple[Any, ...]
"""What the collector keeps of one asset, or of one extra. Its last part is the hook."""


def reverse_lineage(reverser: ReverseTransformer) -> None:
    """
    Replace values by references in the statements, parameters and assets that hooks of this process have reported.

    Plugins read them only when a task has ended, so this is in time at the end of ``execute``. What cannot be reversed
    is dropped.
    """
    collector = _collector()
    if collector is None:
        return
    try:
        require(LINEAGE)
        _CollectorReversal(collector, reverser).run()
    except Exception:  # noqa: BLE001 - of a foreign object; the job has run, and must not fail because of its lineage
        _log.warning("The lineage that hooks reported is dropped: it could not be searched for values.")
        _forget()


def _collector() -> Any:
    """Return the collector of this process; None if no hook has asked for it, since making one takes seconds."""
    lineage = sys.modules.get("airflow.sdk.lineage")  # a hook that asks imports it
    if lineage is None:
        return None
    count = getattr(lineage.get_hook_lineage_collector, "cache_info", None)
    return None if count is not None and not count().currsize else lineage.get_hook_lineage_collector()


def _forget() -> None:
    from airflow.sdk import lineage

    lineage.get_hook_lineage_collector.cache_clear()


class _CollectorReversal:
    """Replaces the entries of one collector."""

    def __init__(self, collector: Any, reverser: ReverseTransformer) -> None:
        self._collector = collector
        self._reverser = reverser

    def run(self) -> None:
        of = self._collector
        self._replace(of._inputs, of._input_counts, self._reversed_asset, of._generate_asset_entry_id)
        self._replace(of._outputs, of._output_counts, self._reversed_asset, of._generate_asset_entry_id)
        self._replace(of._extra, of._extra_counts, self._reversed_extra, of._generate_extra_entry_id)

    def _replace(
        self,
        entries: dict[str, _Entry],
        counts: dict[str, int],
        reversed_: Callable[[_Entry], _Entry],
        id_of: Callable[..., str],
    ) -> None:
        """Replace ``entries`` in their order. Two that differ only in values become one."""
        found, found_counts = dict(entries), dict(counts)
        entries.clear()
        counts.clear()
        for old, entry in found.items():
            shown = reversed_(entry)
            new = old if shown is entry else id_of(*shown)  # an ID contains the URI
            entries.setdefault(new, shown)
            counts[new] = counts.get(new, 0) + found_counts[old]

    def _reversed_asset(self, entry: _Entry) -> _Entry:
        asset, hook = entry
        parts = {name: getattr(asset, name) for name in ("name", "uri", "group", "extra")}
        changed = {name: shown for name, part in parts.items() if (shown := self._shown(part)) is not part}
        if not changed:
            return entry
        asset = copy.copy(asset)
        for name, shown in changed.items():
            object.__setattr__(asset, name, shown)  # its own would refuse the URI of some references
        return asset, hook

    def _reversed_extra(self, entry: _Entry) -> _Entry:
        key, value, hook = entry
        shown_key, shown = self._shown(key), self._shown(value)
        return entry if shown_key is key and shown is value else (shown_key, shown, hook)

    def _shown(self, value: object) -> object:
        return reverse_stored(value, self._reverser)
