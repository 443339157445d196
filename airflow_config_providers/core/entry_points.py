"""Classes by name: short names, which are entry points in this package's groups, and allowed dotted paths."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from airflow_config_providers.core.errors import guarded
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

_T = TypeVar("_T")

_INFO: Final = (".dist-info", ".egg-info")
"""The endings of the folders in which distributions keep their metadata."""

_BLOCK: Final = 32_768
"""Bytes to read at a time: nearly all entry points fit in one block."""


def imported(path: str) -> object:
    """Return what has the dotted ``path``. Importing its module can raise anything."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def distribution_of(entry: EntryPoint) -> str:
    """Return the name of the distribution that registers ``entry``."""
    return entry.dist.name if entry.dist else "a distribution without a name"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class NamedClasses(Generic[_T]):
    """
    The classes that a configuration can name: by short names, or by allowed dotted paths.

    :param base: what each of them extends
    :param kind: of the errors
    :param group: entry points, whose names are short names; empty for none
    :param own: further short names, which win over those of the group -> what makes the object
    :param allowed: dotted paths; any other is refused, and its module not imported
    :param setting: where paths are allowed, for messages
    :param importing: returns a context manager that is entered while a class is imported
    """

    base: type[Any]
    kind: type[ConfigProvidersError]
    group: str
    own: Mapping[str, Callable[[], _T]]
    allowed: Collection[str]
    setting: str
    importing: Callable[[], AbstractContextManager[object]] = nullcontext

    def make(self, name: str, shown: str, *, unknown: Callable[[], str]) -> _T:
        """
        Return a new object of the class ``name``.

        :param shown: what messages call the class
        :param unknown: returns what is wrong with a name that is no short name, and cannot be a path
        :raises ConfigProvidersError: there is no such class, it is not allowed, or it cannot be used
        """
        make = self.maker(name, shown, unknown=unknown)
        return guarded(make, lambda: f"{shown} cannot be made", self.kind)

    def maker(self, name: str, shown: str, *, unknown: Callable[[], str]) -> Callable[[], _T]:
        """Return the class ``name``, or what makes its objects; parameters and errors as for ``make``."""
        return self.own.get(name) or self._class(name, shown, unknown)

    def names(self) -> list[str]:
        """Return the short names."""
        return sorted({*self.own, *(entry.name for entry in self.entries())})

    @property
    def known(self) -> str:
        """The short names, for messages."""
        return ", ".join(map(printable, self.names())) or "none"

    def entries(self) -> tuple[EntryPoint, ...]:
        """Return the entry points of the group."""
        return registered(self.group) if self.group else ()

    def _class(self, name: str, shown: str, unknown: Callable[[], str]) -> type[_T]:
        entry = self._entry(name, shown)
        if entry is None and "." not in name:
            raise self.kind(unknown())
        if entry is None and name not in self.allowed:
            raise self.kind(
                f"{shown} is not an allowed class. Add it to {self.setting}, or use a short name: {self.known}."
            )

        def what() -> str:  # only for a message, since the distribution of an entry point is slow to read
            by = entry and printable(distribution_of(entry))
            return f"{shown}, which is {printable(entry.value)} of {by}," if entry else shown

        with self.importing():
            load = entry.load if entry else partial(imported, name)
            found = guarded(load, lambda: f"{what()} cannot be imported", self.kind)
        if isinstance(found, type) and issubclass(found, self.base):
            return found
        base = self.base.__name__
        raise self.kind(f"{what()} does not extend {base}. Name a class that extends {base}.")

    def _entry(self, name: str, shown: str) -> EntryPoint | None:
        entries = [entry for entry in self.entries() if entry.name == name]
        if len(entries) > 1:
            by = " and ".join(sorted(map(distribution_of, entries)))
            raise self.kind(f"{shown} is registered by {by}. Uninstall all but one.")
        return entries[0] if entries else None


def registered(group: str) -> tuple[EntryPoint, ...]:
    """
    Return the entry points of ``group``, once in a process for each ``sys.path``.

    The result is that of ``importlib.metadata.entry_points``. That parses the entry points of every distribution, while
    this parses only those that have the group.
    """
    return _registered(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _registered(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    found: dict[str, Distribution | None] = {}  # the first of each name hides the others, even without the group
    for folder in dict.fromkeys(path):
        for name, distribution in _in_folder(folder or ".", group):
            found.setdefault(name.lower().replace("_", "-").replace(".", "-"), distribution)
    entries = (entry for one in found.values() if one is not None for entry in one.entry_points)
    return tuple(entry for entry in entries if entry.group == group)


def _in_folder(folder: str, group: str) -> list[tuple[str, Distribution | None]]:
    """Return the name of each distribution in a folder of ``sys.path``, with the distribution if it has the group."""
    from importlib.metadata import Distribution, distributions  # noqa: PLC0415 - slow to import

    if folder.endswith(".egg") or Path(folder).is_file():  # an archive, or a folder that is a distribution itself
        return [(name, one) for one in distributions(path=[folder]) if (name := one.metadata["Name"])]
    found: list[tuple[str, Distribution | None]] = []
    wanted = group.encode()
    for name, info in _infos(folder):
        if wanted not in _content(info, "entry_points.txt"):
            found.append((name, None))
        elif _content(info, "METADATA") or _content(info, "PKG-INFO"):  # not left by an interrupted installation
            found.append((name, Distribution.at(info)))
    return found


def _infos(folder: str) -> list[tuple[str, str]]:
    """Return the name of each distribution, with the path of its metadata, such as ``acme_config-1.0.dist-info``."""
    try:
        found = [name for name in os.listdir(folder) if name.endswith(_INFO)]  # noqa: PTH208 - a Path takes longer
    except OSError:
        return []
    return [(name.rpartition(".")[0].partition("-")[0], f"{folder}{os.sep}{name}") for name in found]


def _content(info: str, name: str) -> bytes:
    """Return the content of a file of metadata; empty if there is none. This is called for every distribution."""
    try:
        descriptor = os.open(f"{info}{os.sep}{name}", os.O_RDONLY)  # two thirds of the time of a file object
    except OSError:
        return b""
    try:
        return b"".join(iter(partial(os.read, descriptor, _BLOCK), b""))
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def installed(name: str, missing: str) -> Any:
    """
    Return a module of a package that only an extra installs.

    :raises ConfigException: with the sentence ``missing``; the module cannot be imported
    """
    with suppress(ImportError):
        return importlib.import_module(name)
    raise ConfigException(missing)
