"""Exceptions that show references."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Final

from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer, reverse_object

_DEEPEST: Final = 3
"""How many levels of attributes are searched, such as an exception's response, its request, and its headers."""


def reverse_exception(exception: BaseException, reverser: ReverseTransformer) -> None:
    """
    Replace values by references, in place, in ``exception`` and in all its causes and contexts.

    This covers arguments, notes, attributes and the objects near them, and the message that its class creates. It also
    clears the local variables of finished frames in the tracebacks. Callbacks and listeners that receive the exception
    later see references. The exception remains an instance of its class; its type can become a subclass of the same
    name.
    """
    for linked in reversed(list(_chain(exception))):  # causes first: they can be attributes of later exceptions
        _clean(linked, reverser)


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """Yield ``exception`` and every cause, context and member of a group, each once."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [exception]
    while todo:
        linked = todo.pop()
        if linked is None or id(linked) in seen:
            continue
        seen.add(id(linked))
        yield linked
        members = linked.exceptions if isinstance(linked, BaseExceptionGroup) else ()
        todo += linked.__cause__, linked.__context__, *members


def _clean(exception: BaseException, reverser: ReverseTransformer) -> None:
    traceback.clear_frames(exception.__traceback__)
    _set(exception, "args", tuple(reverse_object(argument, (reverser,)) for argument in exception.args))
    fixed = dict(_reverse_attributes(exception, reverser))
    shown = reverse_object(exception, (reverser,))
    if shown is not exception:
        fixed |= {"__str__": lambda _: shown, "__repr__": lambda _: f"{type(exception).__name__}({shown!r})"}
    if fixed:
        _override(exception, fixed)


def _reverse_attributes(exception: BaseException, reverser: ReverseTransformer) -> Iterator[tuple[str, object]]:
    """Reverse the attributes of ``exception``, and yield the new values of those that cannot be set."""
    for name in _attributes(exception):
        value = getattr(exception, name, None)
        hidden = reverse_object(value, (reverser,))
        if hidden is value:
            _reverse_inside(value, reverser, _DEEPEST)
            continue
        try:
            _set(exception, name, hidden)
        except (AttributeError, TypeError):
            yield name, hidden


def _reverse_inside(value: object, reverser: ReverseTransformer, depth: int) -> None:
    """Reverse the attributes of an object that its ``str()`` does not show, such as the body of a failed request."""
    if depth == 0 or isinstance(value, type | ModuleType | BaseException | logging.Logger):
        return
    for name, held in list(getattr(value, "__dict__", {}).items()):
        hidden = reverse_object(held, (reverser,))
        if hidden is held:
            _reverse_inside(held, reverser, depth - 1)
        elif hidden != UNCHECKED:
            vars(value)[name] = hidden


def _attributes(exception: BaseException) -> set[str]:
    """Return the names of the attributes in the dictionary of ``exception`` (with its notes), in slots, and in C."""
    held = {
        name
        for kind in type(exception).__mro__
        for name, descriptor in vars(kind).items()
        if isinstance(descriptor, GetSetDescriptorType | MemberDescriptorType) and not name.startswith("__")
    }
    return held.union(vars(exception)) - {"args", "exceptions"}


def _set(exception: BaseException, name: str, value: object) -> None:
    """Set an attribute without the ``__setattr__`` of the exception's class."""
    BaseException.__setattr__(exception, name, value)


def _override(exception: BaseException, fixed: Mapping[str, Any]) -> None:
    """Change the class of ``exception`` to a subclass of the same name that has the attributes ``fixed``."""
    kind = type(exception)
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    with suppress(TypeError):  # built-in classes make their message only of what was reversed above
        exception.__class__ = type(kind.__name__, (kind,), {**names, **fixed})
