"""What is made on first use, and then kept: modules, names, properties and patterns."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class LazyModule:
    """
    A module that is imported when one of its names is first used.

    :param name: its full name
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> tuple[type[LazyModule], tuple[str]]:
        return LazyModule, (self._name,)

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


pyspark: Any = LazyModule("pyspark")
"""PySpark. It is slow to import, and is not installed where DAGs are read."""

sa: Any = LazyModule("sqlalchemy")
"""SQLAlchemy, under the name that its documentation gives it. It is slow to import, and few processes need it."""


def names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """
    Return ``__getattr__``, ``__dir__`` and ``__all__`` for ``package``, whose public names are lazy (PEP 562).

    :param modules: module in ``package`` -> its public names, separated by spaces
    """
    places = {name: f"{package}.{module}" for module, found in modules.items() for name in found.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(places[name]), name)

    return get, lambda: sorted(places), sorted(places)


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
