"""The leaks that were accepted: an audit leaves them out, as long as the same value is in the same place."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers.core.named_file import lines_of
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse, system_reason
from airflow_config_providers.spark.audit.leaks.fingerprint import FOUND_DIGITS, KEY_DIGITS
from airflow_config_providers.spark.audit.leaks.leak import ID_DIGITS, Leak

_MOST_ODD: Final = 10
"""How many wrong lines of a baseline are named."""

_ANY: Final = ""
"""Stands for each value."""

_DIGITS: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Baseline:
    """
    Accepted leaks.

    :param accepted: the id of a leak -> the fingerprints of the values that are accepted there; an empty one is any
    """

    accepted: Mapping[str, Collection[str]] = field(default_factory=dict)

    def accepts(self, leak: Leak) -> bool:
        """Return whether ``leak`` is left out. It is shown if its value cannot be compared with the accepted ones."""
        known = self.accepted.get(leak.id, ())
        return self.accepts_any(leak) or (bool(leak.fingerprint) and leak.fingerprint in known)

    def accepts_any(self, leak: Leak) -> bool:
        """Return whether whatever value is in the place of ``leak`` is accepted."""
        return _ANY in self.accepted.get(leak.id, ())

    def has_other_value(self, leak: Leak) -> bool:
        """Return whether another value than the one of ``leak`` is accepted in its place."""
        return leak.id in self.accepted and not self.accepts(leak) and not self.is_incomparable(leak)

    def is_incomparable(self, leak: Leak) -> bool:
        """Return whether only values are accepted in the place of ``leak`` whose fingerprints have other keys."""
        known = self.accepted.get(leak.id, ())
        keys = {one[:KEY_DIGITS] for one in known}
        return bool(known) and _ANY not in known and leak.fingerprint[:KEY_DIGITS] not in keys


def read_baseline(path: str) -> Baseline:
    """
    Return the accepted leaks in a file: lines of JSON, as the audit prints them, or one id a line.

    A fingerprint can follow the id, and ``#`` begins a comment. A line without fingerprint accepts any value.

    :raises ConfigException: the file cannot be read, or is no baseline
    """
    try:
        return _baseline(lines_of(path), path)
    except (OSError, UnicodeDecodeError) as error:
        problem = system_reason(error)
    raise ConfigException(f"The baseline {printable(path)} cannot be read: {problem}. Correct --baseline.")


def _baseline(lines: Iterable[str], path: str) -> Baseline:
    found, odd = defaultdict[str, set[str]](set), list[int]()
    for number, line in enumerate(lines, 1):
        if (words := _words(line)) is None:
            odd.append(number)
        elif words:
            found[words[0]].add(words[1])
        if len(odd) == _MOST_ODD:
            break
    wrong = "this is not the id of a leak. Correct it, or remove the line."
    refuse(ConfigException, (f"{printable(path)}:{number}: {wrong}" for number in odd))
    return Baseline(dict(found))


def _words(line: str) -> tuple[str, str] | tuple[()] | None:
    """Return the id and the fingerprint in a line; nothing if it is empty, and None if it is something else."""
    if line.startswith("{"):
        return _words_of_row(line)
    words = line.partition("#")[0].split()
    if not words:
        return ()
    name, mark, *more = (*words, _ANY) if len(words) == 1 else words
    is_mark = mark == _ANY or _is_hex(mark, FOUND_DIGITS)
    return (name, mark) if _is_hex(name, ID_DIGITS) and is_mark and not more else None


def _words_of_row(line: str) -> tuple[str, str] | None:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name, mark = row.get("id"), row.get("fingerprint", _ANY)
    return (name, mark) if isinstance(name, str) and isinstance(mark, str) else None


def _is_hex(text: str, size: int) -> bool:
    return len(text) == size and _DIGITS.issuperset(text)
