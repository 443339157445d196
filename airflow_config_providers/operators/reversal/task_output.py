"""
Reverses what a task hands to Airflow, which stores and shows it.

That is the content of its context, its XComs and asset events, its lineage, and its messages to the supervisor; for its
trigger, see ``reversing``.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import is_
from typing import Any, Final, TypeGuard

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.foreign import OUTLET_EVENTS, require
from airflow_config_providers.operators.reversal.backend_guards import (
    KEYS_OF_AIRFLOW,
    guard_backends,
    is_reference,
    reverse_lineage,
)
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

_Contents = dict[Any, int | list[object]]
"""Key -> a hash of its value, or the keys and values that are nested in it, by which a change is noticed."""


def _reverse_entry(mapping: dict[Any, Any], key: object, value: object, reverser: ReverseTransformer) -> None:
    """Replace values by references in one key of ``mapping``, and in the ``value`` that it has there."""
    shown_key, shown = reverse_object(key, (reverser,)), reverse_object(value, (reverser,))
    if shown_key is not key:
        _delete(mapping, key)
    elif shown is value:
        return
    _set(mapping, shown_key, shown)


def _delete(mapping: dict[Any, Any], key: object) -> None:
    try:
        del mapping[key]
    except Exception:  # noqa: BLE001 - a foreign dictionary can refuse it
        dict.__delitem__(mapping, key)


def _set(mapping: dict[Any, Any], key: object, value: object) -> None:
    try:
        mapping[key] = value
    except Exception:  # noqa: BLE001 - as above
        dict.__setitem__(mapping, key, value)


def _is_dictionary(value: object) -> TypeGuard[dict[Any, Any]]:
    return issubclass(type(value), dict)  # isinstance would have a proxy ask Airflow for what it stands for


def _conf(context: Mapping[str, Any]) -> object:
    return getattr(context.get("dag_run"), "conf", None)


def _contents(mapping: dict[Any, Any]) -> _Contents:
    return {key: _content(value) for key, value in _items(mapping)}


def _items(mapping: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return list(dict.items(mapping))  # at once, since threads can write to it, and without code of a foreign class


def _content(value: object) -> int | list[object]:
    """Return a hash, which is fast for megabytes of JSON, such as a run is given; what is nested if it is not JSON."""
    try:
        return hash(json.dumps(value, ensure_ascii=False))
    except Exception:  # noqa: BLE001 - a foreign mapping can raise anything
        return _leaves(value)


def _leaves(value: object) -> list[object]:
    """Return what is nested in ``value``, or only that if it is nested too deep."""
    found: list[object] = []

    def find(leaf: object) -> object:
        found.append(leaf)
        return leaf

    try:
        map_leaves(value, find)
    except Exception:  # noqa: BLE001 - a foreign mapping can raise anything
        return [value]
    return found


def _reverse(mapping: dict[Any, Any], before: _Contents, reverser: ReverseTransformer) -> None:
    for key, value in _items(mapping):
        if key not in before or not _are_same(before[key], _content(value)):
            _reverse_entry(mapping, key, value, reverser)


def _are_same(before: int | list[object], now: int | list[object]) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(is_, before, now))
    return before == now


_log = logging.getLogger(__name__)

_STATE: Final = ("key", "value")

_LABEL: Final = ("rendered_map_index",)

STORED: Final[Mapping[str, tuple[str, ...]]] = {
    "AwaitInputTask": (*_LABEL, "next_kwargs"),  # since Airflow 3.3
    "CreateHITLDetailPayload": ("subject", "body", "params", "options", "defaults"),
    "DeferTask": (*_LABEL, "next_kwargs", "trigger_kwargs"),
    "DeleteAssetStateStoreByName": ("key",),
    "DeleteAssetStateStoreByUri": ("key",),
    "DeleteTaskStateStore": ("key",),
    "DeleteXCom": ("key",),
    "GetAssetStateStoreByName": ("key",),
    "GetAssetStateStoreByUri": ("key",),
    "GetTaskStateStore": ("key",),
    "GetXCom": ("key",),
    "GetXComCount": ("key",),
    "GetXComSequenceItem": ("key",),
    "GetXComSequenceSlice": ("key",),
    "PutVariable": ("description",),
    "RetryTask": _LABEL,
    "SetAssetStateStoreByName": _STATE,
    "SetAssetStateStoreByUri": _STATE,
    "SetRenderedFields": ("rendered_fields",),
    "SetRenderedMapIndex": _LABEL,
    "SetTaskStateStore": _STATE,
    "SetXCom": _STATE,
    "SucceedTask": _LABEL,
    "TaskState": _LABEL,
    "TriggerDagRun": ("run_id", "conf", "note", "partition_key"),
    "UpdateDagRunNote": ("note",),  # since Airflow 3.4
    "UpdateHITLDetail": ("chosen_options", "params_input"),
}
"""
Message -> its fields that Airflow stores and shows to everyone who can see the DAG.

Keys of XComs and of the state stores are reversed wherever they are used, so that a task finds what it has stored. The
same applies to the ID of a run that it has triggered, when it asks for that run. Other identifiers are not reversed: a
task can ask for a connection whose name is a value. Nor are key and value of an Airflow variable, which a task sets for
others to read the value.
"""

STORED_IF_THERE: Final[Mapping[str, tuple[str, ...]]] = {
    "RetryTask": ("retry_reason",),  # since Airflow 3.3
    "TaskState": ("retry_reason",),  # since Airflow 3.4
}
"""The same for fields that some versions of Airflow do not have."""

_STATES: Final = ("SetAssetStateStoreByName", "SetAssetStateStoreByUri", "SetTaskStateStore")
"""Those with a state, which a backend of the deployment can have put elsewhere."""

_ASKING: Final = ("GetXCom", "GetXComCount", "GetXComSequenceItem", "GetXComSequenceSlice")

_ASKED_AS: Final = (
    "The key of an XCom contains a value of this task, so it is asked for as %s. A task that does not have the value "
    "has stored its XCom under another key, which is not found: use a key that contains no value."
)

_MISSING: Final = object()

_NOT_IN_A_RUN_ID: Final = re.compile(r"[^A-Za-z0-9_.~:+-]")
"""The characters that Airflow refuses in the ID of a run by default (``[scheduler] allowed_run_id_pattern``)."""


class AddedContext:
    """
    What is added to the context of a task from now on, and what its hooks report of lineage.

    That is also what is written into the dictionaries of the context, and into the ``conf`` of its run. Replaces values
    by references there, before Airflow tells listeners how the task has ended. A new collection takes the place of one
    that has changed.

    A copy, pickled or not, is of no context, so that it copies nothing of a task that runs.

    :param context: the context of the task; its previous content does not change
    """

    def __init__(self, context: Any) -> None:
        self.context = context
        self._before = dict(context)
        found = (one for one in (*context.values(), _conf(context)) if _is_dictionary(one))
        self._contents = [(one, _contents(one)) for one in found]
        self._declared = _declared_names(context.get("outlets"))
        self._running = 0
        self._is_over = False

    def __deepcopy__(self, memo: dict[int, Any]) -> AddedContext:
        return AddedContext({})

    def __reduce__(self) -> tuple[type[AddedContext], tuple[Any]]:
        return AddedContext, ({},)

    @contextmanager
    def around(self, known: Callable[[], ReverseTransformer], *, is_followed: Callable[[], bool]) -> Iterator[None]:
        """
        Reverse it after a function of the author fails, or succeeds as the last one; those before leave it to the next.

        A function that is called by another one is a part of that. After the last one, each is the last.

        :param known: returns what knows the values; at the end these are more if fields were rendered meanwhile
        :param is_followed: returns whether another function comes
        """
        is_last = True
        self._running += 1
        try:
            yield
            is_last = self._is_over or not is_followed()
        finally:
            self._running -= 1
            if is_last and not self._running:
                self._is_over = True
                self._reverse(known())

    def _reverse(self, reverser: ReverseTransformer) -> None:
        if not reverser:
            return
        reverse_lineage(reverser)
        _reverse_events(self.context.get("outlet_events"), self._declared, reverser)
        for key, value in list(self.context.items()):
            if self._before.get(key, _MISSING) is not value:
                _reverse_entry(self.context, key, value, reverser)
        self._reverse_dictionaries(reverser)

    def _reverse_dictionaries(self, reverser: ReverseTransformer) -> None:
        """Replace values by references in what is new in dictionaries of the context, and in ``conf`` of its run."""
        for one, before in self._contents:
            _reverse(one, before, reverser)
        conf = _conf(self.context)
        if _is_dictionary(conf) and all(one is not conf for one, _ in self._contents):  # code has set another one
            _reverse(conf, {}, reverser)


def guard_output(reverser: ReverseTransformer) -> None:
    """Replace values by references in messages and what backends store, for as long as ``reverser`` has values."""
    if reverser:
        _guard_messages(reverser)
        guard_backends(reverser)


def _guard_messages(reverser: ReverseTransformer) -> None:
    """
    Replace values by references in what Airflow stores of this task's messages, for as long as ``reverser`` has values.

    Airflow sends messages after ``execute``, too: what it returned, links, and the label of a mapped task.
    """
    from airflow.sdk.execution_time import task_runner  # heavy, and not needed to parse a DAG

    place = vars(task_runner)
    comms = place.get("SUPERVISOR_COMMS")
    if comms is None:
        return
    if not isinstance(comms, _GuardedComms):  # tasks can run inside a task, and in parallel threads
        place["SUPERVISOR_COMMS"] = comms = _GuardedComms(comms)
    comms.know(reverser)


class _GuardedComms:
    """Wraps the object with which a task sends messages to its supervisor. Without values, it passes them on."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._known = ActiveReversers()
        self._run_ids: dict[str, str] = {}

    def know(self, reverser: ReverseTransformer) -> None:
        """Replace the values of ``reverser``, too, until it forgets them."""
        self._known.know(reverser)

    def send(self, msg: Any) -> Any:
        """Send ``msg`` with references in place of values."""
        return self._inner.send(msg=self._shown(msg))

    def asend(self, msg: Any) -> Any:
        """Return an awaitable that sends ``msg`` with references in place of values."""
        return self._inner.asend(self._shown(msg))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _shown(self, message: Any) -> Any:
        if not (reversers := self._known.with_values):
            self._run_ids = {}
            return message
        held = _stored_fields(message)
        shown = {name: _reversed_field(name, value, reversers) for name, value in held.items()}
        changed = {name: value for name, value in shown.items() if value is not held[name]}
        if "key" in changed and type(message).__name__ in _ASKING:
            _log.warning(_ASKED_AS, changed["key"])
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


def _reversed_field(name: str, value: Any, reversers: Sequence[ReverseTransformer]) -> Any:
    """Return ``value`` with references in place of values; the names of an operator's fields do not change."""
    if name != "rendered_fields":
        return reverse_object(value, reversers)
    shown = {field: reverse_object(content, reversers) for field, content in value.items()}
    return shown if any(shown[field] is not content for field, content in value.items()) else value


def _stored_fields(message: Any) -> dict[str, Any]:
    kind = type(message).__name__
    names = (*STORED.get(kind, ()), *(name for name in STORED_IF_THERE.get(kind, ()) if hasattr(message, name)))
    held = {name: getattr(message, name) for name in names}
    if kind in _STATES and is_reference(held["value"]):  # the backend would not find what it has stored
        del held["value"]
    if "XCom" in kind and held["key"] in KEYS_OF_AIRFLOW:
        del held["key"]
    return held


def _legal_run_id(shown: str) -> str:
    legal = _NOT_IN_A_RUN_ID.sub("_", shown)
    _log.warning("The ID of a run contained a value. The run is triggered as %s.", legal)
    return legal


def _declared_names(outlets: Iterable[Any] | None) -> frozenset[str]:
    """Return the names and URIs of the assets and aliases that the DAG declares, which Airflow has already stored."""
    names = (getattr(outlet, part, None) for outlet in outlets or () for part in ("name", "uri"))
    return frozenset(name for name in names if isinstance(name, str))


def _reverse_events(events: Any, declared: Collection[str], reverser: ReverseTransformer) -> None:
    """
    Replace values by references, in place, in what a task has recorded in ``outlet_events``.

    This covers ``extra``, partitions, and the names and URIs of assets, including those to which an alias leads. An
    asset whose name contained a value becomes another asset, so a warning names it.

    :param declared: names and URIs that do not change
    """
    if events is None:
        return
    require(OUTLET_EVENTS)
    found = dict(events._dict)
    events._dict.clear()
    for key, outlet in found.items():
        outlet.key = _reversed_key(key, declared, reverser)
        outlet.extra = reverse_stored(outlet.extra, reverser)
        if partitions := getattr(outlet, "partition_keys", None):  # since Airflow 3.3
            outlet.partition_keys = {_shown(partition, reverser) for partition in partitions}
        outlet.asset_alias_events[:] = _reversed_aliases(outlet.asset_alias_events, declared, reverser)
        events._dict[outlet.key] = outlet


def _reversed_aliases(events: Iterable[Any], declared: Collection[str], reverser: ReverseTransformer) -> Iterator[Any]:
    for event in list(events):
        yield type(event)(
            source_alias_name=_reversed_name(event.source_alias_name, declared, reverser),
            dest_asset_key=_reversed_key(event.dest_asset_key, declared, reverser),
            dest_asset_extra=reverse_stored(event.dest_asset_extra, reverser),
            extra=reverse_stored(event.extra, reverser),
        )


def _reversed_key(key: Any, declared: Collection[str], reverser: ReverseTransformer) -> Any:
    parts = [part for part in ("name", "uri") if hasattr(key, part)]
    return type(key)(**{part: _reversed_name(getattr(key, part), declared, reverser) for part in parts})


def _reversed_name(name: str, declared: Collection[str], reverser: ReverseTransformer) -> str:
    if name in declared or (shown := _shown(name, reverser)) == name:
        return name
    _log.warning("The name or URI of an asset contained a value. Airflow gets it with the reference, as %s.", shown)
    return shown


def _shown(text: str, reverser: ReverseTransformer) -> str:
    return str(reverse_object(text, (reverser,)))
