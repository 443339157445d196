"""The attributes of an operator, and the reversal of the values that code has left in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.nested import ITEMS, is_mapping, slots_of
from airflow_config_providers.core.reversal.reverse import UNCHECKED, reverse_object

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer


def attributes(operator: object) -> dict[str, Any]:
    """Return the attributes of ``operator``, including those in slots."""
    slots = {name: getattr(operator, name) for name, _ in slots_of(type(operator)) if hasattr(operator, name)}
    return {**slots, **vars(operator)}


def forget_values(operator: object, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
    """
    Reverse what ``execute`` left on the operator, where listeners and links can read it.

    :param before: its attributes before ``execute``
    """
    if not reverser:
        return
    for name, value in attributes(operator).items():
        was_there = before.get(name) is value
        if was_there and not (isinstance(value, ITEMS) or is_mapping(value)):
            continue
        hidden = _reversed_attribute(value, reverser)
        cannot_be_read = hidden is UNCHECKED and not isinstance(value, (dict, *ITEMS))  # such as a closed shelf
        if hidden is not value and not (was_there and cannot_be_read):
            setattr(operator, name, hidden)


def _reversed_attribute(value: Any, reverser: ReverseTransformer) -> Any:
    """Return what shows references in place of ``value``; that itself if it has no values in it."""
    try:
        held = _with_param_values(value)
        hidden = reverse_object(held, (reverser,))
    except Exception:  # noqa: BLE001 - a foreign class can raise anything
        return UNCHECKED
    return value if hidden is held else hidden


def _with_param_values(value: Any) -> Any:
    """Return ``value``, or what parameters of Airflow hold, whose string form does not show that."""
    from airflow.sdk.definitions.param import ParamsDict

    is_params = issubclass(type(value), ParamsDict)
    return {key: getattr(param, "value", param) for key, param in value.items()} if is_params else value
