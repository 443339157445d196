"""
Strings inside the fields of an operator, in collections and in objects of Kubernetes' client, however nested.

The results of other tasks, which only a run knows, become their templates.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from operator import is_
from typing import Any, Final, TypeVar

from airflow.sdk import XComArg

from airflow_config_providers.core.nested import DEEPEST_NESTING, ITEMS, is_mapping, items_of, map_leaves, rebuilt
from airflow_config_providers.core.templates import is_template
from airflow_config_providers.core.text import is_storable, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, raise_alone, refuse

_T = TypeVar("_T")
_CLIENTS: Final = ("kubernetes.client", "kubernetes_asyncio.client")
"""Where the classes of a pod and its parts are defined."""

_UNSTORABLE: Final = (
    "a string contains a NUL character or half of a surrogate pair, which PostgreSQL cannot store. Remove it, or keep "
    "the string outside and write a reference."
)


@dataclass(frozen=True, slots=True)
class NestedString:
    """
    A string in a field.

    :param label: its place as a Python expression: ``spark_params['args'][0]``
    """

    label: str
    text: str = field(repr=False)


def by_label(texts: Iterable[NestedString]) -> dict[str, str]:
    """Return label -> string."""
    return {text.label: text.text for text in texts}


def field_of(label: str) -> str:
    """Return the field in which a string with this label is."""
    return label.partition("[")[0].partition(".")[0]


def texts(value: Any, label: str, *, skip: Collection[int] = ()) -> list[NestedString]:
    """
    Return every string in ``value``.

    :param skip: the ids of objects to ignore, with their content
    :raises ConfigException: a key contains a reference
    """
    found: list[NestedString] = []

    def keep(text: NestedString) -> str:
        found.append(text)
        return text.text

    map_texts(value, label, keep, skip=skip)
    return found


def strings(value: object) -> Iterator[str]:
    """Yield every string in ``value``, also keys. What is nested too deeply, and other objects, are left out."""
    return instances(str, value)


def instances(kind: type[_T], value: object, depth: int = DEEPEST_NESTING) -> Iterator[_T]:
    """Yield every object of a class in ``value``, also keys. What is nested too deeply is left out."""
    if isinstance(value, kind):
        yield value
    elif depth:
        for item in items_of(value) or parts_of(value).values():
            yield from instances(kind, item, depth - 1)


def places(kind: type[_T], value: object, label: str, depth: int = DEEPEST_NESTING) -> Iterator[tuple[str, _T]]:
    """Yield every object of a class in ``value``, with its label. What is nested too deeply is left out."""
    if isinstance(value, kind):
        yield label, value
    elif depth and (is_mapping(value) or isinstance(value, ITEMS)):
        for step, item in value.items() if is_mapping(value) else enumerate(in_order(value)):
            yield from places(kind, item, label_below(label, step), depth - 1)


def parts_of(value: object) -> dict[str, Any]:
    """Return the parts of an object of Kubernetes' client, such as a variable of a pod; empty for any other object."""
    kind = type(value)
    if not hasattr(kind, "openapi_types") or not any(one.__module__.startswith(_CLIENTS) for one in kind.__mro__):
        return {}
    return {name: getattr(value, name, None) for name in kind.openapi_types}  # half-made ones lack some


def is_at(label: str, place: str) -> bool:
    """Return whether ``label`` is that of ``place``, or of something in the collection there."""
    return label == place or label.startswith((f"{place}[", f"{place}."))


def unstorable_arguments(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """
    Yield each argument with a string that PostgreSQL cannot store, which ends the DAG processor, with the reason.

    :param values: the name of each argument, or of the attribute that has it, with its value
    """
    for name, value in values.items():
        if not all(map(is_storable, strings(value))):
            argument = name.lstrip("_")
            yield argument, f"{printable(argument)}: {_UNSTORABLE}"


def refuse_unstorable(values: Mapping[str, object]) -> None:
    """
    Make sure that every database can store the strings of an operator.

    :raises ConfigException: PostgreSQL cannot store one
    """
    refuse(ConfigException, (problem for _, problem in unstorable_arguments(values)))


def map_texts(
    value: Any,
    label: str,
    change: Callable[[NestedString], str],
    *,
    skip: Collection[int] = (),
    depth: int = DEEPEST_NESTING,
) -> Any:
    """
    Return ``value`` with every string changed; nothing is changed in place.

    :raises ConfigException: a key contains a reference, or collections are nested too deeply
    """
    if id(value) in skip:
        return value
    if isinstance(value, str):
        return change(NestedString(label, value))
    parts = parts_of(value)
    if not parts and not isinstance(value, ITEMS) and not is_mapping(value):
        return value
    if depth == 0:
        raise ConfigException(f"{printable(label)}: collections are nested too deeply here. Flatten them.")
    below = partial(map_texts, change=change, skip=skip, depth=depth - 1)
    if parts:
        return _with_parts(value, {name: below(part, f"{label}.{name}") for name, part in parts.items()})
    if not isinstance(value, ITEMS):
        _refuse_references_in(value, label)
        return {key: below(item, label_below(label, key)) for key, item in value.items()}
    return _rebuilt(value, [below(item, label_below(label, place)) for place, item in enumerate(in_order(value))])


def _with_parts(value: Any, parts: Mapping[str, Any]) -> Any:
    """Return ``value`` if it has all of ``parts`` already; otherwise, a copy that has them."""
    changed = {name: part for name, part in parts.items() if part is not getattr(value, name, None)}
    if not changed:
        return value
    made = copy.copy(value)
    for name, part in changed.items():
        setattr(made, name, part)
    return made


def with_own_objects(value: Any, skip: Collection[int] = ()) -> Any:
    """
    Return ``value`` with copies of its objects of Kubernetes' client. What is nested too deeply is not copied.

    Airflow renders the strings of such an object in place, so the author's own would keep the data of one run.

    :param skip: the ids of objects that are not rendered, so they stay what they are
    """
    is_possible = not sys.modules.keys().isdisjoint(_CLIENTS)
    return _with_copies(value, frozenset(skip), DEEPEST_NESTING) if is_possible else value


def _with_copies(value: Any, skip: frozenset[int], depth: int) -> Any:
    if not depth or id(value) in skip:
        return value
    parts, items = parts_of(value), items_of(value) or []
    if parts or items:
        skip |= {id(value)}  # a collection can be in itself
    if parts:
        return _with_parts(copy.copy(value), {n: _with_copies(part, skip, depth - 1) for n, part in parts.items()})
    owned = [_with_copies(item, skip, depth - 1) for item in items]
    return value if all(map(is_, items, owned)) else _rebuilt(value, owned)


def _rebuilt(value: Any, items: list[Any]) -> Any:
    """Return a collection like ``value`` with other items, also if it is a named tuple."""
    return type(value)(*items) if isinstance(value, tuple) and hasattr(value, "_fields") else rebuilt(value, items)


def in_order(value: Collection[Any]) -> Collection[Any]:
    """Return the items of a collection; the strings of a set are sorted, so that each has the same label anywhere."""
    if not isinstance(value, set | frozenset):
        return value
    return sorted(value, key=lambda item: item if isinstance(item, str) else "")


def label_below(label: str, step: object) -> str:
    """Return the label of the item at ``step`` in the collection with that label."""
    return f"{label}[{step!r}]"


def _refuse_references_in(value: Mapping[Any, Any], label: str) -> None:
    problems = (
        f"{printable(label)}: the key '{printable(key)}' contains a reference. Keys are shown everywhere: write the "
        f"key itself."
        for key in value
        if isinstance(key, str) and scan(key)
    )
    refuse(ConfigException, problems)


@contextmanager
def refusing_depth() -> Iterator[None]:
    """
    Refuse what is nested too deeply for Python, such as a list that a template inserts.

    :raises ConfigException: instead of a RecursionError
    """
    is_too_deep = False
    try:
        yield
    except RecursionError:
        is_too_deep = True
    if is_too_deep:
        raise_alone(
            ConfigException(
                "A template inserts collections that are nested too deeply, or calls itself endlessly. Flatten it."
            )
        )


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
        found = {key: without_results(item, label_below(label, key), unknown) for key, item in value.items()}
        return {key: item for key, item in found.items() if item is not None or value[key] is None}
    if isinstance(value, ITEMS):
        items = enumerate(in_order(value))
        return [without_results(item, label_below(label, index), unknown) for index, item in items]
    return value
