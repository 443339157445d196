"""Exceptions that show references."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Final

from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer, reverse_object

_DEEPEST: Final = 3
"""How many levels of attributes are searched, such as an exception's response, its request, and its headers."""

_LEFT_ALONE: Final = type | ModuleType | BaseException | logging.Logger | ReverseTransformer
"""Objects that are searched elsewhere, that the whole process uses, or that need the values and do not show them."""

_Member = GetSetDescriptorType | MemberDescriptorType

_DICT: Final = vars(BaseException)["__dict__"]
_ARGS: Final = vars(BaseException)["args"]
_EXCEPTIONS: Final = vars(BaseExceptionGroup)["exceptions"]
"""Where every exception has its attributes, arguments and members, whatever its class has under these names."""


def reverse_exception(exception: BaseException, reverser: ReverseTransformer) -> None:
    """
    Replace values by references, in place, in ``exception`` and in all its causes and contexts.

    This covers arguments, notes, attributes and the objects near them, and the message that its class creates. It also
    clears the local variables of finished frames in the tracebacks. Callbacks and listeners that receive the exception
    later see references. The exception remains an instance of its class; its type can become a subclass of the same
    name. What it has itself and cannot be searched is replaced by ``UNCHECKED``; no error of it is raised.
    """
    for linked in reversed(list(_chain(exception))):  # causes first: they can be attributes of later exceptions
        _clean(linked, reverser)


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """Yield ``exception`` and every cause, context, member of a group, attribute and argument, each once."""
    seen: set[int] = set()
    todo: list[BaseException | None] = [exception]
    while todo:
        linked = todo.pop()
        if linked is None or id(linked) in seen:
            continue
        seen.add(id(linked))
        yield linked
        members = _EXCEPTIONS.__get__(linked) if isinstance(linked, BaseExceptionGroup) else ()
        held = (*_DICT.__get__(linked).values(), *_ARGS.__get__(linked))
        todo += linked.__cause__, linked.__context__, *members, *filter(_is_exception, held)


def _is_exception(value: object) -> bool:
    return issubclass(type(value), BaseException)  # not its __class__, which can be anything


def _clean(exception: BaseException, reverser: ReverseTransformer) -> None:
    traceback.clear_frames(exception.__traceback__)
    _reverse_items(_DICT.__get__(exception), reverser, _DEEPEST, is_own=True)
    _ARGS.__set__(exception, tuple(_reversed(argument, reverser, _DEEPEST) for argument in _ARGS.__get__(exception)))
    fixed = dict(_reverse_members(exception, reverser))
    shown = _reversed(exception, reverser, 0)
    if shown is not exception:
        fixed |= {"__format__": lambda _, form: format(shown, form), "__str__": lambda _: shown}
        fixed |= {"__repr__": lambda _: f"{type(exception).__name__}({shown!r})"}
    if fixed:
        _override(exception, fixed)


def _reverse_items(
    held: MutableMapping[str, object], reverser: ReverseTransformer, depth: int, *, is_own: bool = False
) -> None:
    """
    Reverse the attributes of an object.

    :param is_own: whether it is the exception; another object can be in use, and keeps what cannot be searched
    """
    for name, value in list(held.items()):
        hidden = _reversed(value, reverser, depth)
        if hidden is not value and (is_own or hidden != UNCHECKED):
            held[name] = hidden


def _reverse_members(exception: BaseException, reverser: ReverseTransformer) -> Iterator[tuple[str, object]]:
    """Reverse the attributes of ``exception`` in slots and in C, and yield the new values of read-only ones."""
    for name, member in _members(type(exception)):
        value = _read(exception, member)
        hidden = _reversed(value, reverser, _DEEPEST)
        if hidden is not value and not _is_set(exception, member, hidden):
            yield name, hidden


def _members(kind: type[BaseException]) -> Iterator[tuple[str, _Member]]:
    for name, found in (item for each in kind.__mro__ for item in vars(each).items()):
        if isinstance(found, _Member) and not name.startswith("__") and name not in ("args", "exceptions"):
            yield name, found


def _read(holder: object, member: _Member) -> object:
    try:
        return member.__get__(holder)
    except Exception:  # noqa: BLE001 - such as of an empty slot; what cannot be read shows nothing
        return None


def _is_set(holder: object, member: _Member, value: object) -> bool:
    try:
        member.__set__(holder, value)
    except Exception:  # noqa: BLE001 - it is read-only, or takes values of one type alone
        return False
    return True


def _reversed(value: object, reverser: ReverseTransformer, depth: int) -> object:
    """Return ``value``, with its attributes reversed, or what replaces it: foreign objects can raise anything."""
    try:
        hidden = reverse_object(value, (reverser,))
        if hidden is value:
            _reverse_inside(value, reverser, depth)
    except Exception:  # noqa: BLE001 - it would take the place of the task's error; fail closed
        return UNCHECKED
    return hidden


def _reverse_inside(value: object, reverser: ReverseTransformer, depth: int) -> None:
    """Reverse the attributes of an object that its ``str()`` does not show, such as the body of a failed request."""
    if depth and not isinstance(value, _LEFT_ALONE):
        _reverse_items(getattr(value, "__dict__", {}), reverser, depth - 1)
        for member in _slots(type(value)):
            held = _read(value, member)
            hidden = _reversed(held, reverser, depth - 1)
            if hidden is not held and hidden != UNCHECKED:
                _is_set(value, member, hidden)


def _slots(kind: type) -> list[MemberDescriptorType]:
    """Return the slots of classes that are written in Python."""
    members = (member for base in kind.__mro__ if "__slots__" in vars(base) for member in vars(base).values())
    return [member for member in members if isinstance(member, MemberDescriptorType)]


def _override(exception: BaseException, fixed: Mapping[str, Any]) -> None:
    """Change the class of ``exception`` to a subclass of the same name that has the attributes ``fixed``."""
    kind = type(exception)
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    with suppress(
        Exception
    ):  # built-in classes, but for BaseExceptionGroup, make their message of what was reversed above
        BaseException.__setattr__(exception, "__class__", type(kind.__name__, (_Quiet, kind), {**names, **fixed}))


class _Quiet:
    """Keeps the ``__init_subclass__`` of an exception's class from running, which can require or refuse anything."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        pass
