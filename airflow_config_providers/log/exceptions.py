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
"""How far from an exception an object is looked into: its response, the request of that, and the headers of that."""


def reverse_exception(exception: BaseException, reverser: ReverseTransformer) -> None:
    """
    Replace values by references in ``exception`` and in all that it was raised from, in place.

    Covers arguments, notes, attributes and the objects near them, and the text that its class makes up. The local
    variables of finished frames in the tracebacks are dropped. Whoever gets the exception afterwards, such as a
    callback or a listener, gets references. It stays an instance of its class, which may become a subclass of the
    same name.
    """
    for linked in reversed(list(_chain(exception))):  # causes first: they may be attributes of what they caused
        _clean(linked, reverser)


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """Give ``exception`` and every cause, context and member of a group, each once."""
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
    """Reverse what ``exception`` holds, and give what it should hold but cannot be set."""
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
    """Reverse what an object holds that its text form does not show, such as the body of a request that failed."""
    if depth == 0 or isinstance(value, type | ModuleType | BaseException | logging.Logger):
        return
    for name, held in list(getattr(value, "__dict__", {}).items()):
        hidden = reverse_object(held, (reverser,))
        if hidden is held:
            _reverse_inside(held, reverser, depth - 1)
        elif hidden != UNCHECKED:
            vars(value)[name] = hidden


def _attributes(exception: BaseException) -> set[str]:
    """Give the names of what ``exception`` holds in its dictionary (notes are there), in slots, and in C."""
    held = {
        name
        for kind in type(exception).__mro__
        for name, descriptor in vars(kind).items()
        if isinstance(descriptor, GetSetDescriptorType | MemberDescriptorType) and not name.startswith("__")
    }
    return held.union(vars(exception)) - {"args", "exceptions"}


def _set(exception: BaseException, name: str, value: object) -> None:
    """Set an attribute past what the class of ``exception`` may have to say about it."""
    BaseException.__setattr__(exception, name, value)


def _override(exception: BaseException, fixed: Mapping[str, Any]) -> None:
    """Give ``exception`` a class of the same name in which ``fixed`` comes before what its own class has."""
    kind = type(exception)
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    with suppress(TypeError):  # a class that is part of Python makes its text of nothing but what was reversed above
        exception.__class__ = type(kind.__name__, (kind,), {**names, **fixed})
