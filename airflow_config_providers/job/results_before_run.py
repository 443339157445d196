"""Results of other tasks in the fields of an operator, which only a run knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import XComArg

from airflow_config_providers.core.nested import ITEMS, map_leaves
from airflow_config_providers.core.templates import is_template
from airflow_config_providers.job import nested_texts


def with_templates(value: Any) -> Any:
    """Return ``value`` with templates in place of what other tasks return; a result without one stays."""
    try:
        return map_leaves(value, _with_template)
    except RecursionError:  # the reader of the field refuses it
        return value


def _with_template(leaf: Any) -> Any:
    """Return the template of what another task returns; the object itself, if it has none."""
    text = str(leaf) if isinstance(leaf, XComArg) else ""
    return text if is_template(text) else leaf


def without_results(value: Any, label: str, unknown: list[str]) -> Any:
    """
    Return ``value`` with templates of results, and without results that have none.

    :param label: the place of ``value``, as in ``NestedString``
    :param unknown: gets the places of the results that were left out
    """
    if isinstance(value, XComArg) or hasattr(value, "deref"):  # Airflow stores a result as what leads to it
        if isinstance(text := _with_template(value), str):
            return text
        unknown.append(label)
        return None
    if isinstance(value, Mapping):
        found = {
            key: without_results(item, nested_texts.label_below(label, key), unknown) for key, item in value.items()
        }
        return {key: item for key, item in found.items() if item is not None or value[key] is None}
    if isinstance(value, ITEMS):
        items = enumerate(nested_texts.in_order(value))
        return [without_results(item, nested_texts.label_below(label, index), unknown) for index, item in items]
    return value
