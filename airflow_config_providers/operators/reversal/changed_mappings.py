"""Reverses what code writes into mappings that the context of a task had before, such as its ``params``."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, TypeGuard

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object

_Contents = dict[Any, list[object]]
"""Key -> keys and values that are nested in its value, which tell whether that changes."""


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


def reverse_entry(mapping: dict[Any, Any], key: object, reverser: ReverseTransformer) -> None:
    """Replace values by references in one key of ``mapping``, and in what it has there."""
    shown_key, shown = reverse_object(key, (reverser,)), reverse_object(mapping[key], (reverser,))
    if shown_key is not key:
        del mapping[key]
    mapping[shown_key] = shown


def _is_dictionary(value: object) -> TypeGuard[dict[Any, Any]]:
    return issubclass(type(value), dict)  # isinstance would have a proxy ask Airflow for what it stands for


def _conf(context: Mapping[str, Any]) -> object:
    return getattr(context.get("dag_run"), "conf", None)


def _contents(mapping: Mapping[Any, Any]) -> _Contents:
    return {key: _leaves(value) for key, value in mapping.items()}


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
    for key, value in list(mapping.items()):
        if key in before and _are_same(before[key], _leaves(value)):
            continue
        reverse_entry(mapping, key, reverser)


def _are_same(before: list[object], now: list[object]) -> bool:
    return len(before) == len(now) and all(map(is_, before, now))
