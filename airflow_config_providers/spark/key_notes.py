"""What people read about a key of Spark: its documentation, its unit, its values, and what to use in its place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.core.keys import current_name
from airflow_config_providers.spark.catalogue_file import (
    catalogued,
    minor_version,
    notes,
    rows,
    versions,
    versions_with,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNotes:
    """
    What Spark says of a key.

    :param documentation: Spark's own text; empty if there is none
    :param since: the version of Spark that introduced it; empty if unknown
    :param unit: the unit of a number that is written without one, such as ``MiB`` or ``s``; empty for other types
    :param allowed_values: the only values that Spark takes, sorted; none if others are possible. Spark ignores the
        case of most
    :param deprecated: the version of Spark that deprecated it; empty if it is current
    :param removed: the version of Spark that removed it; empty if it is there
    :param reason: Spark's own text about a key that is deprecated or removed
    :param successor: the key to use in its place; None if there is none
    :param versions: the minor versions in the catalogue that read it, oldest first
    """

    documentation: str = ""
    since: str = ""
    unit: str = ""
    allowed_values: tuple[str, ...] = ()
    deprecated: str = ""
    removed: str = ""
    reason: str = ""
    successor: str | None = None
    versions: tuple[str, ...] = ()


def key_notes(name: str, version: str | None = None) -> KeyNotes:
    """
    Return what Spark ``version`` says of the key ``name``; nothing of a key that it does not know.

    The first call reads a file of half a megabyte.

    :param version: such as ``3.5.8``; None for the newest in the catalogue
    """
    minor = catalogued(version)
    note: Mapping[str, Any] = notes(minor).get(name, {})
    return KeyNotes(
        documentation=note.get("doc", ""),
        since=since(name, version),
        unit=note.get("unit", ""),
        allowed_values=tuple(note.get("allowed", ())),
        deprecated=note.get("deprecated", ""),
        removed=note.get("removed", ""),
        reason=note.get("reason", ""),
        successor=_renamed(name, minor) or note.get("successor"),
        versions=tuple(versions_with(name)),
    )


def documentation(name: str, version: str | None = None) -> str:
    """Return Spark's own documentation of the key ``name``; empty if there is none."""
    return key_notes(name, version).documentation


def since(name: str, version: str | None = None) -> str:
    """Return the version of Spark that introduced the key ``name``; empty if Spark does not say it."""
    found = rows(catalogued(version))
    row = found.public.get(name) or found.internal.get(name, "- -")
    return row.split(" ")[1].strip("-")


def _renamed(name: str, minor: str) -> str | None:
    if name not in rows(minor).older:
        return None
    current = current_name(name, rows(minor).renamed())
    return None if current == name else current


_NUMBERS: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


def absence(key: str, version: str) -> str:
    """
    Return since or until when Spark has ``key``, such as ``since 4.1``, if Spark ``version`` does not have it.

    :return: empty if it has the key, if no version has it, and if ``version`` is later than all in the catalogue
    """
    if not (names := versions_with(key)):  # as for most keys of a job
        return ""
    here, known = minor_version(version), {minor_version(one) or (0, 0): one for one in versions()}
    if here is None or here > max(known):
        return ""
    if known.get(here) in names or here < min(known):
        return _not_yet(key, version)
    earlier = [one for minor, one in known.items() if minor < here and one in names]
    return f"until {earlier[-1]}" if earlier else f"since {names[0]}"


def _not_yet(key: str, version: str) -> str:
    """Return when ``key`` came, if ``version`` is a bug fix version before that, or older than the catalogue."""
    introduced = since(key, version)
    came, here, read = map(_numbers, (introduced, version, versions()[catalogued(version)]))
    # A key that was ported back is there, although Spark calls it newer than the version that was read.
    return f"since {introduced}" if here < came <= read else ""


def _numbers(version: str) -> list[int]:
    found = _NUMBERS.match(version)
    return [int(number) for number in found.groups()] if found else []
