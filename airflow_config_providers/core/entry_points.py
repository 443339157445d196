"""Classes by their names: entry points of this package's own groups, which few distributions have, and dotted paths."""

from __future__ import annotations

import importlib
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


def imported(path: str) -> object:
    """Return what has the dotted ``path``. Importing its module can raise anything."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def registered(group: str) -> tuple[EntryPoint, ...]:
    """
    Return the entry points of ``group``, once in a process for each ``sys.path``.

    The result is that of ``importlib.metadata.entry_points``. That parses the entry points of every distribution, while
    this parses only those that have the group.
    """
    return _registered(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _registered(group: str, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    from importlib.metadata import distributions  # noqa: PLC0415 - slow to import

    found: dict[str, Distribution] = {}
    for distribution in distributions():
        if group in (distribution.read_text("entry_points.txt") or "") and (name := _name(distribution)):
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), _unshadowed(distribution, name))
    return tuple(entry for one in found.values() for entry in one.entry_points if entry.group == group)


def _name(distribution: Distribution) -> str:
    """
    Return the name of a distribution, without parsing its other metadata, as ``Distribution.name`` does.

    :return: empty if there is no metadata, of which an installation that was interrupted can leave none
    """
    metadata = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    found = re.search(r"(?im)^name:[ \t]*(\S+)", metadata)
    return found[1] if found else ""


def _unshadowed(distribution: Distribution, name: str) -> Distribution:
    """Return the first distribution of that name on ``sys.path``, which need not have the group."""
    return next(iter(distribution.discover(name=name)), distribution)
