"""The arguments of Airflow's operators in which no reference is resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan


def unresolved_arguments(operator: Any, resolved: Iterable[str]) -> Iterator[tuple[str, str]]:
    """
    Yield each argument that has a reference which is not resolved, with what to do.

    Only IDs of connections, and the parameters of classes of Airflow's own providers, are checked: a user's class can
    resolve its own parameters.

    :param resolved: the attributes, besides template fields, whose references are resolved
    """
    others = vars(operator).keys() - {*operator.template_fields, *resolved}
    held = [name for name in others if _has_reference(getattr(operator, name))]
    known = _parameters(type(operator)) if held else frozenset()
    for argument in sorted(name.lstrip("_") for name in held):
        is_conn_id = argument.endswith("conn_id")
        what = "the ID of the connection" if is_conn_id else "the value itself"
        if argument in known or is_conn_id:
            yield argument, f"{printable(argument)}: a reference is not resolved here. Write {what}."


def _has_reference(value: Any) -> bool:
    return isinstance(value, str | list | tuple | dict) and "${" in (text := str(value)) and bool(scan(text))


def _parameters(kind: type) -> frozenset[str]:
    """Return the parameters of those classes among ``kind`` and its bases that are in Airflow's own providers."""
    import inspect  # noqa: PLC0415 - for a mistake only

    classes = [one for one in kind.__mro__ if one.__module__.startswith("airflow.providers.")]
    return frozenset(name for one in classes for name in inspect.signature(one).parameters)
