"""
A property and a pattern that are made on first use, and then kept, without a lock.

In Python 3.11, ``functools.cached_property`` has one lock for all objects: threads wait for each other, and a child
that is forked while the lock is held waits forever. It is used only where one thread has each object, in the plugin,
which may import nothing else, and where it overrides one of Airflow's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801 - a decorator, like the one in functools
    """
    The result of the decorated method, kept in the object. Two threads that read it at once can both compute it.

    :param make: the method
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[_T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[_T] | _T:
        if instance is None:
            return self
        made: _T = vars(instance).setdefault(self._name, self._make(instance))
        return made


def compiled_later(pattern: bytes, flags: int = 0) -> Callable[[], re.Pattern[bytes]]:
    """Return a function that returns the compiled ``pattern``: few texts need it, and some take milliseconds."""
    return cache(partial(re.compile, pattern, flags))
