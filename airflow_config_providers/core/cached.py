"""
A property that is worked out once for each object, without a lock.

That of ``functools`` has, in Python 3.11, one lock for all objects: threads wait for each other's, and a child that is
forked meanwhile waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):  # noqa: N801 - used as a decorator, as that of functools
    """
    What the decorated method gives, kept in the object. Two threads that ask at once may both work it out.

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
