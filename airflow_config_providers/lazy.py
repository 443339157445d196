"""Names that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


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
