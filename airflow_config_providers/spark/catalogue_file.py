"""The files of the catalogue: what each version of Spark has under each key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Any, Final

CATALOGUE: Final = "catalogue.json"
"""Types, versions of introduction and defaults: what a run of a job can need."""

NOTES: Final = "catalogue_notes.json"
"""Documentation, units, allowed values and deprecations: what people read."""

_MINOR: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})(?![0-9])")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rows:
    """
    What one version of Spark has.

    :param version: the version, such as ``4.2.0``
    :param public: key -> type, version of introduction, and default if there is one, separated by spaces
    :param internal: the same for keys that are not in Spark's documentation
    :param older: older name of a key -> its type and the current name, separated by a space
    :param unlisted: names that are in Spark's classes, but that its catalogue does not have
    """

    version: str
    public: Mapping[str, str]
    internal: Mapping[str, str]
    older: Mapping[str, str]
    unlisted: Set[str]

    def names(self) -> Set[str]:
        """Return every name that this version reads."""
        return {*self.public, *self.internal, *self.older, *self.unlisted}

    def renamed(self) -> dict[str, str]:
        """Return older name -> the name that took its place, which can itself be an older one."""
        return {name: row.partition(" ")[2] for name, row in self.older.items()}


def minor_version(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of ``version``; None if it does not begin with them."""
    found = _MINOR.match(version)
    return (int(found[1]), int(found[2])) if found else None


def versions() -> Mapping[str, str]:
    """Return minor version of Spark -> the version from which its rows were generated, oldest first."""
    found: Mapping[str, str] = _file(CATALOGUE)["versions"]
    return found


@lru_cache(maxsize=16)  # few are in use, but records name any
def catalogued(version: str | None) -> str:
    """
    Return the minor version in the catalogue that describes Spark ``version`` best.

    :param version: None for the newest; one that is older or newer than all gets the nearest
    """
    wanted, known = minor_version(version) if version else None, [*versions()]
    older = [one for one in known if wanted is None or (minor_version(one) or wanted) <= wanted]
    return older[-1] if older else known[0]


@cache
def rows(minor: str) -> Rows:
    """Return what a minor version of Spark in the catalogue has."""
    public, internal, older, unlisted = (
        _block(CATALOGUE, name, minor) for name in ("public", "internal", "older", "unlisted")
    )
    return Rows(versions()[minor], public, internal, older, unlisted.keys())


@cache
def notes(minor: str) -> Mapping[str, Mapping[str, Any]]:
    """Return name -> what people read about it, in a minor version of Spark in the catalogue."""
    return _block(NOTES, "notes", minor)


@cache
def all_names() -> frozenset[str]:
    """Return the names that any version in the catalogue reads."""
    return frozenset().union(*(block for group in _file(CATALOGUE)["groups"] for block in _blocks(group)))


def versions_with(name: str) -> list[str]:
    """Return the minor versions in the catalogue that read ``name``, oldest first."""
    if name not in all_names():  # a configuration can have thousands of keys of the job
        return []
    groups = [group for group in _file(CATALOGUE)["groups"] if any(name in block for block in _blocks(group))]
    return [minor for minor in versions() if any(minor in group["in"] for group in groups)]


def _blocks(group: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [block for block in group.values() if isinstance(block, dict)]


def _block(file: str, name: str, minor: str) -> dict[str, Any]:
    """Return name -> row of a block in a minor version, sorted by name."""
    found: dict[str, Any] = {}
    for group in _file(file)["groups"]:
        if minor in group["in"]:
            found.update(group.get(name, {}))
    return dict(sorted(found.items()))


@cache
def _file(name: str) -> Mapping[str, Any]:
    """
    Return a file in which rows that are the same in several versions are written once.

    Its ``versions`` are minor version -> the version from which its rows were generated, oldest first; its ``groups``
    have rows, each ``in`` some minor versions.
    """
    # This works in a zip, too. importlib.resources needs ten milliseconds for its first file.
    found: Mapping[str, Any] = json.loads(get_data(__package__, name) or b"")
    return found
