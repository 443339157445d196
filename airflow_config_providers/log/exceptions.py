"""Exceptions that show references."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Final, cast

from airflow_config_providers.core.errors import OWN, clear_own_frames, linked, own
from airflow_config_providers.core.nested import items_of, slots_of, with_items
from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer, reverse_object, reverse_text
from airflow_config_providers.core.text import printable

log = logging.getLogger(__name__)

_DEEPEST: Final = 3
"""How many levels of attributes are searched, such as an exception's response, its request, and its headers."""

_NESTED: Final = 50
"""How many levels of collections are searched."""

_MOST: Final = 20_000
"""How many objects and collections are searched."""

_LEFT_ALONE: Final = type | ModuleType | logging.Logger | ReverseTransformer
"""Objects of the whole process, and those that know the values and do not show them: they stay as they are."""

_Member = GetSetDescriptorType | MemberDescriptorType

_CLASS: Final = vars(object)["__class__"]
"""Where every exception has its class, whatever that has under this name."""


def reverse_exception(exception: BaseException, reverser: ReverseTransformer) -> None:
    """
    Replace values by references, in place, in ``exception`` and in all its causes and contexts.

    This covers arguments, notes, attributes and the objects near them, also those in collections, and the message that
    its class creates. It also clears the local variables of finished frames in the tracebacks. Callbacks and listeners
    that receive the exception later see references. The exception remains an instance of its class; its type can become
    a subclass of the same name. What it has itself and cannot be searched is replaced by ``UNCHECKED``; objects that it
    refers to can be in use, and keep what cannot be searched. No error of any of them is raised.
    """
    _Reversal(reverser).reverse_chain(exception)


class _Reversal:
    """
    The reversal of an exception, which searches each object once.

    :param reverser: knows the values
    """

    def __init__(self, reverser: ReverseTransformer) -> None:
        self._reverser = reverser
        self._searched: dict[int, tuple[int, object]] = {}  # with the objects, so that no other one gets their ids
        self._collections: dict[tuple[int, bool], tuple[int, object, object]] = {}
        self._open: set[int] = set()
        self._circular: set[int] = set()
        self._circles = 0
        self._left = _MOST
        self._todo: list[BaseException] = []

    def reverse_chain(self, exception: BaseException) -> None:
        """Search all exceptions one after the other, because a chain can be longer than Python's stack."""
        found: list[tuple[BaseException, dict[str, object]]] = []
        self._todo.append(exception)
        while self._todo:
            each = self._todo.pop()
            if id(each) not in self._searched:
                self._searched[id(each)] = (_DEEPEST, each)
                self._todo += linked(each)
                found.append((each, self._search(each)))
        for each, fixed in reversed(found):  # the message of one can show those that were found later
            self._hide_message(each, fixed)

    def _search(self, exception: BaseException) -> dict[str, object]:
        """Reverse what an exception has, and return the new values of read-only attributes."""
        clear_own_frames(exception)
        self._reverse_attributes(own(exception, "__dict__"), _DEEPEST, is_own=True)
        args = [self._reversed(argument, _DEEPEST, is_own=True) for argument in own(exception, "args")]
        OWN["args"].__set__(exception, tuple(args))
        return self._reverse_members(exception, _members(type(exception)), _DEEPEST, is_own=True)

    def _hide_message(self, exception: BaseException, fixed: dict[str, object]) -> None:
        if (shown := self._message(exception)) is not None:
            fixed |= {"__format__": lambda _, form: format(shown, form), "__str__": lambda _: shown}
            fixed |= {"__repr__": lambda _: f"{type(exception).__name__}({shown!r})"}
        if fixed:
            _override(exception, fixed)

    def _message(self, exception: BaseException) -> str | None:
        """Return the message to show instead of one that shows a value or cannot be checked; None if it can stay."""
        try:
            shown = [make(exception) for make in (str, repr, format)]
        except Exception:  # noqa: BLE001 - foreign code can raise anything; fail closed
            return UNCHECKED
        reversed_ = [reverse_text(text, (self._reverser,)) for text in shown]
        return next((hidden for text, hidden in zip(shown, reversed_, strict=True) if hidden != text), None)

    def _reversed(self, value: object, depth: int, *, is_own: bool = False) -> object:
        """
        Return ``value``, with its attributes reversed, or what replaces it.

        :param is_own: whether the exception has it; another object can be in use, and keeps what cannot be searched
        """
        try:
            return self._replaced(value, depth, is_own=is_own)
        except _TooManyError:
            if not is_own:
                raise  # the exception must not keep what leads to it
        except Exception:  # noqa: BLE001, S110 - foreign objects can raise anything; it would replace the task's error
            pass
        return UNCHECKED if is_own else value

    def _replaced(self, value: object, depth: int, *, is_own: bool) -> object:
        if self._is_searched(value, depth):
            return value
        if issubclass(type(value), BaseException):  # not its __class__, which can be anything
            self._todo.append(cast("BaseException", value))
            return value
        items = items_of(value)
        if items is None:
            hidden = reverse_object(value, (self._reverser,))
        else:
            hidden = self._collection(value, items, depth, is_own=is_own)
        if hidden is value:
            self._reverse_inside(value, depth)
        return value if hidden is UNCHECKED and not is_own else hidden

    def _collection(self, value: object, items: list[Any], depth: int, *, is_own: bool) -> object:
        deepest, _, hidden = self._collections.get((id(value), is_own), (-1, None, None))
        if depth <= deepest:
            return hidden
        self._count()
        circles = self._circles
        hidden = self._mapped(value, items, depth, is_own=is_own)
        if id(value) in self._circular and hidden is not value:  # the copy must not lead to the original
            return self._mapped(value, items, depth, is_own=True)
        if self._circles == circles:
            self._collections[id(value), is_own] = (depth, value, hidden)
        return hidden

    def _mapped(self, value: object, items: list[Any], depth: int, *, is_own: bool) -> object:
        if id(value) in self._open or len(self._open) == _NESTED:
            self._circular.add(id(value))
            self._circles += 1
            raise RecursionError("collections are nested too deep")
        self._open.add(id(value))
        try:
            return with_items(value, items, [self._reversed(item, depth, is_own=is_own) for item in items])
        finally:
            self._open.remove(id(value))

    def _reverse_inside(self, value: object, depth: int) -> None:
        """Reverse attributes that the ``str()`` of an object does not show, such as the body of a failed request."""
        held, slots = getattr(value, "__dict__", {}), list(slots_of(type(value)))
        if depth == 0 or not (held or slots) or isinstance(value, _LEFT_ALONE):
            return
        self._count()
        with self._apart():
            self._reverse_attributes(held, depth - 1)
            self._reverse_members(value, slots, depth - 1)
        self._searched[id(value)] = (depth, value)

    def _is_searched(self, value: object, depth: int) -> bool:
        deepest, _ = self._searched.get(id(value), (-1, None))
        if deepest >= 0:
            self._count(0)  # the search could have ended before it came to all that the object leads to
        return depth <= deepest

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Regard no collection as open: a circle that leads through an object ends at ``_DEEPEST``."""
        outer, self._open = self._open, set()
        try:
            yield
        finally:
            self._open = outer

    def _reverse_attributes(self, held: MutableMapping[str, object], depth: int, *, is_own: bool = False) -> None:
        for name, value in list(held.items()):
            hidden = self._reversed(value, depth, is_own=is_own)
            if hidden is not value:
                held[name] = hidden

    def _reverse_members(
        self, holder: object, members: Iterable[tuple[str, _Member]], depth: int, *, is_own: bool = False
    ) -> dict[str, object]:
        """Reverse attributes in slots and in C, and return the new values of read-only ones."""
        fixed: dict[str, object] = {}
        for name, member in members:
            value = _read(holder, member)
            hidden = self._reversed(value, depth, is_own=is_own)
            if hidden is not value and not _is_set(holder, member, hidden):
                fixed[name] = hidden
        return fixed

    def _count(self, number: int = 1) -> None:
        self._left -= number
        if self._left < 0:
            raise _TooManyError


class _TooManyError(Exception):
    """More objects and collections than are searched."""


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


def _override(exception: BaseException, fixed: Mapping[str, Any]) -> None:
    """Change the class of ``exception`` to a subclass of the same name that has the attributes ``fixed``."""
    kind = type(exception)
    names = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    try:
        made = type.__new__(type(kind), kind.__name__, (_Quiet, kind), {**names, **fixed})  # past a metaclass's refusal
        _CLASS.__set__(exception, made)  # and past a __class__ of its own
    except Exception:  # noqa: BLE001 - some classes in C
        log.warning(
            "A %s shows the value of a reference in its message or an attribute, which cannot be changed. Raise an "
            "error of another class, or leave the value out of it.",
            printable(f"{kind.__module__}.{kind.__qualname__}"),
        )


class _Quiet:
    """Keeps the ``__init_subclass__`` of an exception's class from running, which can require or refuse anything."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        pass
