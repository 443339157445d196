"""Ways from a field of an operator down to something in it, such as its Spark configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.operator_specs import PART, ConfLocation

Steps = tuple[str | int, ...]
"""The keys and indices from a field down to something in it."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """
    The way from a field down to something in it.

    :param field: the attribute
    :param steps: the keys and indices from there
    """

    field: str
    steps: Steps = ()

    @property
    def label(self) -> str:
        """The way as a Python expression, as in ``NestedString``."""
        return reduce(nested_texts.label_below, self.steps, self.field)

    @property
    def argument(self) -> str:
        """The label as the author of a DAG knows it."""
        return self.label.removeprefix("_")

    def get(self, value: Any) -> Any:
        """
        Return what is at the end of the way in ``value``, the content of the field.

        A key that a mapping lacks has None; the way must exist up to its last step.
        """
        for step in self.steps:
            value = value.get(step) if isinstance(value, Mapping) else value[step]
        return value

    def put(self, value: Any, new: Any) -> Any:
        """Return ``value`` with ``new`` at the end of the way; nothing is changed in place."""
        return put(value, self.steps, new)


def put(value: Any, steps: Steps, new: Any) -> Any:
    """Return ``value`` with ``new`` at the end of the steps; nothing is changed in place."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(value, Mapping):
        return {**value, step: put(value.get(step), rest, new)}
    return type(value)(put(item, rest, new) if index == step else item for index, item in enumerate(value))


def conf_paths(location: ConfLocation, value: Any) -> Iterator[FieldPath]:
    """Yield the ways from a field down to its mappings of Spark configuration."""
    for path, parent in ends(value, location.path[:-1], FieldPath(location.field), item=location.item):
        if not location.path:
            yield path
        elif isinstance(parent, Mapping) and isinstance(parent.get(location.path[-1], {}), Mapping | str | None):
            yield _below(path, location.path[-1])


def _below(path: FieldPath, step: str | int) -> FieldPath:
    return FieldPath(path.field, (*path.steps, step))


def ends(
    value: Any, keys: tuple[str, ...], path: FieldPath, *, item: tuple[str, str] | None = None
) -> Iterator[tuple[FieldPath, Any]]:
    """Yield what is at the ends of ``keys``, each with the way to it; ``item`` as in ``ConfLocation``."""
    if not keys:
        yield path, value
    elif keys[0] == PART and isinstance(value, list | tuple):
        for index, one in enumerate(value):
            if item is None or (isinstance(one, Mapping) and one.get(item[0]) == item[1]):
                yield from ends(one, keys[1:], _below(path, index), item=item)
    elif isinstance(value, Mapping) and keys[0] in value:
        yield from ends(value[keys[0]], keys[1:], _below(path, keys[0]), item=item)
