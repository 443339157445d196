"""The names under which Spark and Hadoop read a key, and patterns that match any of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from typing import Final

from airflow_config_providers.core.keys import current_name as current
from airflow_config_providers.core.keys import hadoop_name
from airflow_config_providers.core.older_names import OLDER_NAMES

_HADOOP: Final = "spark.hadoop."
_BUCKET: Final = "fs.s3a.bucket."
_AZURE: Final = "fs.azure."
_LONGEST: Final = 512
"""The longest key of a bucket or an account: the general key, a name of 63 characters, and a host name."""
_MOST_DOTS: Final = 32
"""The most dots in the name of a bucket, or in a general key of Azure."""


def current_name(key: str) -> str:
    """Return the current name of ``key`` in Spark or Hadoop."""
    return current(key, OLDER_NAMES)


def canonical_name(key: str) -> str:
    """Return the one name for all names of ``key``; for a Hadoop key, it begins with ``spark.hadoop.``."""
    hadoop = hadoop_name(key)
    return current_name(key if hadoop is None else _HADOOP + hadoop)


def names_of(key: str) -> list[str]:
    """
    Return the names that ``key`` can mean, itself first; those of Hadoop begin with ``spark.hadoop.``.

    A Hadoop key can also be written without that prefix, because Spark SQL passes all keys of a session to Hadoop, and
    a Hive key with ``spark.hive.``. A key for one S3 bucket or one Azure account also means the general key.
    """
    names = [key, current_name(key)]
    hadoop = hadoop_name(key)
    if hadoop is not None:
        for name in (hadoop, *_general_names(hadoop)):
            names += [_HADOOP + name, current_name(_HADOOP + name)]
    return list(dict.fromkeys(names))


class Patterns:
    """
    Patterns in which ``*`` matches any string, ``?`` any character, and ``[ab]`` one of the two. Case matters.

    :param excluded: patterns of exceptions, which do not match
    """

    def __init__(self, patterns: Iterable[str], *, excluded: Iterable[str] = ()) -> None:
        self._included, self._excluded = _Compiled(patterns), _Compiled(excluded)

    @classmethod
    def of(cls, patterns: Iterable[str] | None) -> Patterns | None:
        """Return the patterns; None for None."""
        return None if patterns is None else cls(patterns)

    def matches(self, text: str) -> bool:
        """Return whether a pattern matches all of ``text``, and no exception does."""
        return self._included.fits(text) and not self._excluded.fits(text)


class KeyPatterns(Patterns):
    """Patterns of keys. One that is a name of a key matches all of its names."""

    def __init__(self, patterns: Iterable[str], *, excluded: Iterable[str] = ()) -> None:
        super().__init__(_with_canonical(patterns), excluded=_with_canonical(excluded))

    def matching(self, keys: Iterable[str]) -> list[str]:
        """Return the keys of which at least one name matches, in order."""
        return sorted(key for key in keys if any(map(self.matches, names_of(key))))


def _with_canonical(names: Iterable[str]) -> list[str]:
    return [one for name in names for one in (name, canonical_name(name))]


def _general_names(name: str) -> Iterator[str]:
    if len(name) > _LONGEST:
        return
    if name.startswith(_BUCKET):
        parts = name.removeprefix(_BUCKET).split(".")
        yield from (f"fs.s3a.{'.'.join(parts[first:])}" for first in range(1, min(len(parts), _MOST_DOTS)))
    if name.startswith(_AZURE):
        parts = name.split(".")
        yield from (".".join(parts[:count]) for count in range(3, min(len(parts), _MOST_DOTS)))


class _Compiled:
    """Compiled patterns. Most are plain names, which are looked up instead of tried one after the other."""

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = set(patterns)
        plain = {text for text in texts if not re.search(r"[*?\[]", text)}
        self._plain = plain
        self._others = re.compile("|".join(translate(text) for text in sorted(texts - plain)) or r"(?!)")

    def fits(self, text: str) -> bool:
        return text in self._plain or self._others.fullmatch(text) is not None
