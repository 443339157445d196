"""Reverses what a task leaves in its context, where callbacks and Airflow's server read it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.operators.server_messages import reversing_messages

_log = logging.getLogger(__name__)

_PUSHES: Final = ("xcom_push", "axcom_push")
"""The methods with which a task pushes an XCom. The second exists since Airflow 3.3."""


@contextmanager
def reversing_context(context: Any, reverser: ReverseTransformer) -> Iterator[None]:
    """
    Replace values by references in what an operator adds to ``context``, pushes to XCom, or makes Airflow store.

    :param context: the context of the task; its previous content does not change
    """
    before = dict(context)
    declared = _declared_names(context.get("outlets"))
    try:
        with _reversed_xcoms(context.get("ti"), reverser), reversing_messages(reverser):
            yield
    finally:
        _reverse_events(context.get("outlet_events"), declared, reverser)
        added = {key: value for key, value in context.items() if before.get(key) is not value}
        context.update({key: reverse_object(value, (reverser,)) for key, value in added.items()})


@contextmanager
def _reversed_xcoms(ti: Any, reverser: ReverseTransformer) -> Iterator[None]:
    """Reverse an XCom before a custom backend gets it, which could store it elsewhere."""
    if ti is None or not reverser or "xcom_push" in vars(ti):
        yield
        return
    names = [name for name in _PUSHES if hasattr(ti, name)]
    vars(ti).update({name: _reversed_push(getattr(ti, name), reverser) for name in names})
    try:
        yield
    finally:
        for name in names:
            vars(ti).pop(name, None)


def _reversed_push(push: Callable[..., Any], reverser: ReverseTransformer) -> Callable[[str, Any], Any]:
    def reversed_push(key: str, value: Any) -> Any:
        return push(key=_shown_key(key, reverser), value=reverse_object(value, (reverser,)))

    return reversed_push


def _shown_key(key: str, reverser: ReverseTransformer) -> str:
    shown = str(reverse_object(key, (reverser,)))
    if shown != key:
        _log.warning("The key of an XCom contained a value. It is stored with the reference, as %s.", shown)
    return shown


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
    if events is None or not reverser:
        return
    found = dict(events._dict)
    events._dict.clear()
    for key, outlet in found.items():
        outlet.key = _reversed_key(key, declared, reverser)
        outlet.extra = reverse_object(outlet.extra, (reverser,))
        if partitions := getattr(outlet, "partition_keys", None):  # since Airflow 3.3
            outlet.partition_keys = {_shown(partition, reverser) for partition in partitions}
        outlet.asset_alias_events[:] = _reversed_aliases(outlet.asset_alias_events, declared, reverser)
        events._dict[outlet.key] = outlet


def _reversed_aliases(events: Iterable[Any], declared: Collection[str], reverser: ReverseTransformer) -> Iterator[Any]:
    for event in list(events):
        yield type(event)(
            source_alias_name=_reversed_name(event.source_alias_name, declared, reverser),
            dest_asset_key=_reversed_key(event.dest_asset_key, declared, reverser),
            dest_asset_extra=reverse_object(event.dest_asset_extra, (reverser,)),
            extra=reverse_object(event.extra, (reverser,)),
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
