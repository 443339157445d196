"""Reverses what code writes into mappings that the context of a task had before, such as its ``params``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import is_
from typing import Any, TypeGuard

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object

_Contents = dict[Any, int | list[object]]
"""Key -> a hash of its value, or the keys and values that are nested in it, by which a change is noticed."""


class ChangedMappings:
    """
    What is written from now on into the dictionaries of a context, and into the ``conf`` of its run.

    :param context: the context of the task; the content that it has now does not change
    """

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = context
        self._before = [(one, _contents(one)) for one in (*context.values(), _conf(context)) if _is_dictionary(one)]

    def reverse(self, reverser: ReverseTransformer) -> None:
        """Replace values by references in it, in place. A new collection takes the place of one that has changed."""
        for one, before in self._before:
            _reverse(one, before, reverser)
        conf = _conf(self._context)
        if _is_dictionary(conf) and all(one is not conf for one, _ in self._before):  # code has set another one
            _reverse(conf, {}, reverser)


def reverse_entry(mapping: dict[Any, Any], key: object, value: object, reverser: ReverseTransformer) -> None:
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
            reverse_entry(mapping, key, value, reverser)


def _are_same(before: int | list[object], now: int | list[object]) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(is_, before, now))
    return before == now
