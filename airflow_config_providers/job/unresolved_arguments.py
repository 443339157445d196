"""The arguments of Airflow's operators in which no reference is resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, no_default, variables
from airflow_config_providers.job.nested_texts import strings
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK

_CONNECTION: Final = "Write the ID of the connection."
_OTHER: Final = (
    "Write the value itself if it is no secret; otherwise move it to a template field, or to the connection."
)

_TEXTLESS: Final = frozenset({type(None), bool, int, float})
"""The types of most attributes."""

_OF_AIRFLOW: Final = "_BaseOperator__"
"""The beginning of the names under which Airflow keeps what is its own, such as a copy of all arguments."""


def unresolved_arguments(
    operator: Any, resolved: Iterable[str], *, keeps_unresolved: bool = False
) -> Iterator[tuple[str, str]]:
    """
    Yield each argument that has a reference which is not resolved, with what to do.

    Only IDs of connections, and the parameters of classes of Airflow's own providers, are checked: a user's class can
    resolve its own parameters. What Spark or a shell replaces is no reference, except in the ID of a connection.

    :param resolved: the attributes, besides template fields, whose references are resolved
    :param keeps_unresolved: whether references that nothing resolves are left as they are
    """
    values = vars(operator)
    known = {name.lstrip("_") for name in (*operator.template_fields, *resolved)}  # an operator can also keep a copy
    others = [
        (argument, value)
        for name, value in values.items()
        if type(value) not in _TEXTLESS and not name.startswith(_OF_AIRFLOW)
        if (argument := name.lstrip("_")) not in known
    ]
    held = {argument: found for argument, value in others if (found := list(_references(value)))}
    parameters = _parameters(type(operator)) if held and not keeps_unresolved else frozenset()
    for argument in sorted(held):
        is_connection = argument.endswith("conn_id")
        if is_connection or (argument in parameters and not all(map(_is_foreign, held[argument]))):
            way_out = _CONNECTION if is_connection else _OTHER
            yield argument, f"{printable(argument)}: a reference is not resolved here. {way_out}"


def _references(value: object) -> Iterator[ConfigVariable]:
    """Yield the references in the strings of collections; an object of a class may do with its own what it wants."""
    for text in strings(value):
        yield from variables(text) if "${" in text else ()


def _is_foreign(variable: ConfigVariable) -> bool:
    """Return whether Spark replaces ``variable``, or a shell does: a reference has no default."""
    return variable.provider in SUBSTITUTED_BY_SPARK or bool(no_default(variable))


def _parameters(kind: type) -> frozenset[str]:
    """Return the parameters of those classes among ``kind`` and its bases that are in Airflow's own providers."""
    import inspect  # noqa: PLC0415 - for a mistake only

    classes = [one for one in kind.__mro__ if one.__module__.startswith("airflow.providers.")]
    return frozenset(name for one in classes for name in inspect.signature(one).parameters)
