"""The keys that Spark knows, and those that it would ignore: misspelt ones, and those of other versions."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, key_problem, older_names
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.text import printable
from airflow_config_providers.spark import named_arguments
from airflow_config_providers.spark.catalogue import READ_ONLY
from airflow_config_providers.spark.catalogue_file import all_names
from airflow_config_providers.spark.key_notes import absence, key_notes

_SETTING: Final = "[config_providers] unknown_keys"


class UnknownKeys(Enum):
    """What to do with a key whose spelling is close to one that Spark knows, or that its version does not have."""

    WARN = "warn"
    FAIL = "fail"
    IGNORE = "ignore"
    """Keys that Spark would ignore pass, too."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeyFindings:
    """
    The problems with the names of keys, one sentence each.

    :param problems: errors that must be corrected
    :param doubts: warnings for the reader
    """

    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def find_in(
    places: Mapping[str, str], unknown: UnknownKeys, *, takes_any_key: bool = False, spark_version: str | None = None
) -> KeyFindings:
    """
    Check the names of keys.

    :param places: key -> where it was written; empty if messages need not say it
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    if unknown is UnknownKeys.IGNORE:
        return KeyFindings()
    spark_keys = [key for key in places if key.startswith(SPARK)]
    others = [] if takes_any_key else [key for key in places if not key.startswith(SPARK)]
    left_out = [
        _left_out(key, places[key]) for key in others if key_problem(key, "") is None and key not in RELOAD_ACTION_KEYS
    ]
    doubts = [_doubt(key, places[key], name) for key in spark_keys if (name := meant(key))]
    doubts += absent(places, spark_version)
    if unknown is UnknownKeys.FAIL:
        return KeyFindings((*left_out, *doubts))
    return KeyFindings(tuple(left_out), tuple(doubts))


def absent(places: Mapping[str, str], spark_version: str | None) -> tuple[str, ...]:
    """Return a doubt for each key that ``spark_version`` of Spark does not have, though another version has it."""
    if not spark_version:
        return ()
    missing = [(key, time) for key in places if key.startswith(SPARK) and (time := absence(key, spark_version))]
    return tuple(_absent(key, places[key], time, spark_version) for key, time in missing)


def find_in_layers(
    layers: Iterable[ConfigLayer],
    unknown: UnknownKeys,
    *,
    but: Collection[str] = (),
    takes_any_key: bool = False,
    spark_version: str | None = None,
) -> KeyFindings:
    """
    Check the names of keys in ``layers``. Messages name the strongest layer that has a key.

    :param but: the names of layers to ignore
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    looked_at = [
        layer for layer in layers if layer.source is not ConfigSource.ENVIRONMENT_CONFIG and layer.name not in but
    ]
    strongest_last = sorted(looked_at, key=lambda layer: layer.source)
    places = {key: layer.origin(key) for layer in strongest_last for key in layer.configs}
    return find_in(places, unknown, takes_any_key=takes_any_key, spark_version=spark_version)


def _left_out(key: str, place: str) -> str:
    return (
        f"{_where(key, place)}: Spark ignores keys that do not begin with '{SPARK}', did you mean "
        f"'{printable(with_prefix(key))}'? Correct the name."
    )


def _doubt(key: str, place: str, name: str) -> str:
    return (
        f"{_where(key, place)}: Spark has no such key, did you mean '{printable(name)}'? Correct the name, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _absent(key: str, place: str, time: str, version: str) -> str:
    successor = key_notes(key).successor
    instead = f"Set '{successor}' instead" if successor else "Remove it"
    return (
        f"{_where(key, place)}: Spark has this key {time}; this Spark is {printable(version)}. {instead}, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _where(key: str, place: str) -> str:
    return f"'{printable(key)}'" + (f" ({printable(place)})" if place else "")


SPARK: Final = "spark."
"""The prefix of Spark's keys; spark-submit ignores all others."""

_FREE: Final = (
    "spark.driver.resource",
    "spark.executor.resource",
    "spark.executorEnv",
    "spark.hadoop",
    "spark.hive",
    *(
        f"spark.kubernetes.{role}.{part}"
        for role in ("driver", "executor")
        for part in ("annotation", "label", "node.selector", "secretKeyRef", "secrets", "volumes")
    ),
    "spark.kubernetes.driver.service.annotation",
    "spark.kubernetes.driver.service.label",
    "spark.kubernetes.driverEnv",
    "spark.kubernetes.node.selector",
    "spark.metrics.conf",
    "spark.plugins.internal.conf",
    "spark.scheduler.listenerbus.eventqueue",
    "spark.sql.catalog",
    "spark.ssl",
    "spark.task.resource",
    "spark.worker.resource",
    "spark.yarn.am.resource",
    "spark.yarn.appMasterEnv",
    "spark.yarn.driver.resource",
    "spark.yarn.executor.resource",
)
"""The keys below which people choose the names."""

_BELOW_FREE: Final = tuple(f"{name}." for name in _FREE)

_OF_JOBS: Final = "spark.app."
"""People choose names below it for their jobs, so that no word is missing there."""

_OF_PLATFORMS: Final = ("spark.sql.dynamicPartitionPruning.enabled",)
"""Keys that a platform documents for its own Spark, here EMR, and that resemble one of Spark's."""

_OF_HADOOP: Final = ("ipc", "net", "orc")
"""Beginnings of Hadoop's keys of which none has an older name or is generated."""

_MOST_CHARACTERS: Final = 256
"""A longer key is not compared, which would take time: the longest that Spark knows has some 90 characters."""

_MOST_DOTS: Final = 16
"""A key with more dots is not compared, which would take time: those that Spark knows have at most 10."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*|\d+")

_SEPARATORS_OF_NAMES: Final = b"._-"
_SEPARATORS: Final = str.maketrans("", "", _SEPARATORS_OF_NAMES.decode())

_FEWEST: Final = 3
"""The fewest words of a key in which one can be missing: shorter ones resemble too many others."""

_ANY: Final = "*"
"""The rest of a key below a name that leaves it to people."""

_AFTER_DOT: Final = "/"
"""The character that follows a dot in the order of strings."""

_MOST: Final = 2
"""The most letters in which a key can differ from the one that it probably means."""

_LONG: Final = 6
"""
The fewest letters of a part that is checked for misspellings if any name can follow it, as in ``spark.hive``. A shorter
part resembles too many words: ``spark.live.x`` does not mean ``spark.hive.x``.
"""


def meant(key: str) -> str | None:
    """
    Return the key of which ``key`` is probably a misspelling.

    Keys that people choose for their jobs are not misspellings, unless they differ from a known key in a letter or two,
    or in a word that is missing, written twice, or in another number.

    :return: None for a key that a version of Spark in the catalogue knows, and for one that is close to none
    """
    if key in _names() or len(key) > _MOST_CHARACTERS or key.count(".") > _MOST_DOTS:
        return None
    return _nearest(key)


def with_prefix(key: str) -> str:
    """Return the Spark key that a key without the prefix ``spark.`` probably means."""
    if near := meant(key) or meant(SPARK + key):
        return near
    is_hadoop = SPARK + key not in _names() and key.partition(".")[0] in _beginnings_of_hadoop()
    return f"{HADOOP_PREFIX if is_hadoop else SPARK}{key}"


@cache
def _names() -> frozenset[str]:
    return frozenset().union(
        all_names(),
        older_names().keys(),
        older_names().values(),
        named_arguments.SUBMIT.keys.values(),
        READ_ONLY,
        _OF_PLATFORMS,
    )


@cache
def _beginnings_of_hadoop() -> frozenset[str]:
    from airflow_config_providers.dynamic.policies.code_loading_keys import code_loading_names  # noqa: PLC0415 - for a mistake only

    older = (name.removeprefix(HADOOP_PREFIX) for name in older_names() if name.startswith(HADOOP_PREFIX))
    return frozenset(name.partition(".")[0] for name in (*code_loading_names().hadoop, *older, *_OF_HADOOP))


@cache
def _of_spark() -> NearKeys:
    names = sorted(name for name in _names() if not name.startswith(HADOOP_PREFIX))
    return NearKeys(sorted(names, key=older_names().__contains__), _FREE)


@cache
def _of_jobs() -> NearKeys:
    """Return the few names that a key below ``_OF_JOBS`` can mean, among which one is found sooner than among all."""
    prefix = _OF_JOBS.rstrip(".")
    return NearKeys(sorted(name for name in _names() if name.startswith(prefix)))


@lru_cache(maxsize=4096)
def _nearest(key: str) -> str | None:
    if key.startswith(_BELOW_FREE) or key in _FREE:
        return None
    if key.startswith(_OF_JOBS):
        return _of_jobs().meant(key)
    return _of_spark().meant(key) or _of_spark().with_missing_word(key)


class NearKeys:
    """
    Finds the key that is meant by one with a slip in its words, or with a few wrong letters.

    :param names: the keys to choose from, the most likely first
    :param free: the names below which people choose the rest of a key
    """

    def __init__(self, names: Iterable[str], free: Iterable[str] = ()) -> None:
        names = list(names)
        squashed = "\n".join(["", *names, ""]).encode().lower().translate(None, _SEPARATORS_OF_NAMES)
        self._text = squashed.decode()  # one key a line, made in a tenth of the time of _squashed
        lines = self._text.split("\n")[1:-1]
        self._known = dict(zip(reversed(lines), reversed(names), strict=True))  # of equal lines, the first name wins
        self._letter_slips = _LetterSlips([*names, *(f"{name}.{_ANY}" for name in free)])

    def meant(self, key: str) -> str | None:
        """
        Return the key that is meant by ``key``.

        It differs in separators or case, in the number of a word, in a word written twice, or in a few letters.
        """
        texts = (_squashed(key), _squashed(_once(key)), *_in_other_numbers(_words(key)))
        found = next((self._known[text] for text in texts if text in self._known), None)
        return found or self._letter_slips.meant(key)

    def with_missing_word(self, key: str) -> str | None:
        """Return the only key that has the words of ``key`` and one word or part more; None if there are several."""
        known, text = _words(key), _squashed(key)
        if len(known) < _FEWEST:
            return None
        splits = {"".join(known[:place]) for place in range(1, len(known) + 1)}
        longer = {name for start in splits for name in self._between(start, text[len(start) :])}
        found = [name for name in longer if text in _shortened(name)]
        return found[0] if len(found) == 1 else None

    def _between(self, start: str, end: str) -> Iterator[str]:
        """Yield the keys that begin with ``start``, end with ``end``, and have more between them."""
        wanted = f"\n{start}" if len(start) > len(end) else f"{end}\n"
        place = self._text.find(wanted)
        while place >= 0:
            first = self._text.rfind("\n", 0, place + 1) + 1
            last = self._text.index("\n", first)
            line = self._text[first:last]
            if len(line) > len(start) + len(end) and line.startswith(start) and line.endswith(end):
                yield self._known[line]
            place = self._text.find(wanted, last)


def _words(key: str) -> list[str]:
    """Return the words of ``key`` in lower case: ``maxExecutors`` has two."""
    return [word.lower() for word in _WORD.findall(key)]


def _squashed(key: str) -> str:
    """Return ``key`` without the separators and the case, which people confuse."""
    return key.lower().translate(_SEPARATORS)


def _once(key: str) -> str:
    """Return the words of ``key`` without parts and words that are there twice in a row."""
    return "".join(_without_repetition(_words(".".join(_without_repetition(key.split("."))))))


def _without_repetition(of: Sequence[str]) -> list[str]:
    return [*of[:1], *(later for earlier, later in pairwise(of) if later != earlier)]


def _in_other_numbers(of: Sequence[str]) -> Iterator[str]:
    """Yield the joined words, each time with another one in the singular or the plural."""
    for place, word in enumerate(of):
        other = word[:-1] if word.endswith("s") else f"{word}s"
        yield "".join([*of[:place], other, *of[place + 1 :]])


def _shortened(name: str) -> set[str]:
    """Return the words of ``name`` without one of them, and without those of one part."""
    parts = [_squashed(part) for part in name.split(".")]
    return {"".join(rest) for of in (_words(name), parts) for rest in _with_one_left_out(of)}


def _with_one_left_out(of: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ``of`` without one item, which is not the first: that is ``spark``."""
    return ([*of[:place], *of[place + 1 :]] for place in range(1, len(of)))


class _LetterSlips:
    """
    Finds the key that is meant by one with a few wrong letters.

    :param names: the keys to choose from; one that ends with ``_ANY`` stands for all that begin with the rest of it
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)  # so that those with the same first parts are in one range
        self._letters: dict[str, Mapping[str, int]] = {}

    def meant(self, key: str) -> str | None:
        """Return the key that differs from ``key`` in the fewest letters, at most ``_MOST``."""
        starts, parts = [(0, "")], key.split(".")  # beginnings of names, each after how many letters differ in it
        found: list[tuple[int, str]] = []
        for place, part in enumerate(parts):
            found += [(cost, start + ".".join(parts[place:])) for cost, start in starts if _ANY in self._parts(start)]
            starts = [
                (cost + more, f"{start}{other}.")
                for cost, start in starts
                for more, other in self._near_parts(start, part, _MOST - cost)
            ]
        found += [(cost, start[:-1]) for cost, start in starts if self._is_name(start[:-1])]
        return min(found)[1] if found else None

    def _near_parts(self, start: str, part: str, most: int) -> Iterator[tuple[int, str]]:
        parts = self._parts(start)
        if part in parts and part != _ANY:
            yield 0, part
        most = min(most, _allowed(part))
        if not most:
            return
        wanted = _letters(part)
        for other, its_letters in parts.items():
            is_close = abs(len(other) - len(part)) <= most and (wanted ^ its_letters).bit_count() <= 2 * most
            cost = _distance(part.lower(), other.lower(), most) if is_close and other not in (part, _ANY) else None
            if cost is not None and self._may_stand_for(start, other):
                yield cost, other

    def _may_stand_for(self, start: str, part: str) -> bool:
        """Return whether a misspelling of ``part`` can be distinguished from a name that people chose."""
        return len(part) >= _LONG or _ANY not in self._parts(f"{start}{part}.")

    def _is_name(self, name: str) -> bool:
        place = bisect_left(self._names, name)
        return self._names[place : place + 1] == [name]

    def _parts(self, start: str) -> Mapping[str, int]:
        """Return the parts that follow ``start``, which is empty or ends with a dot, with the letters of each."""
        if start not in self._letters:  # few are ever looked up
            self._letters[start] = {part: _letters(part) for part in self._parts_of(start)}
        return self._letters[start]

    def _parts_of(self, start: str) -> Iterator[str]:
        names, place = self._names, bisect_left(self._names, start)
        while place < len(names) and names[place].startswith(start):
            part, dot, _ = names[place][len(start) :].partition(".")
            yield part
            place = bisect_left(names, f"{start}{part}{_AFTER_DOT}", place) if dot else place + 1


def _allowed(part: str) -> int:
    """Return in how many letters a part of a key can differ: short parts resemble each other by chance."""
    return 0 if len(part) < 4 else 1 if len(part) < 8 else _MOST


def _letters(word: str) -> int:
    """Return a number with a bit for each letter of ``word``: a difference of n letters changes at most 2n bits."""
    found = 0
    for letter in word.lower():
        found |= 1 << (ord(letter) & 63)
    return found


def _distance(one: str, other: str, most: int) -> int | None:
    """
    Return how many letters must be added, removed, replaced or swapped with the next to get from one to the other.

    The time is bounded for small ``most``, however long the words are.

    :return: None if it is more than ``most``
    """
    same = _same_letters(one, other)
    one, other = one[same:], other[same:]
    if not one or not other:
        rest = len(one) + len(other)
        return rest if rest <= most else None
    if most == 0 or abs(len(one) - len(other)) > most:
        return None
    ways = [(one[1:], other), (one, other[1:]), (one[1:], other[1:])]
    if one[:2] == other[1::-1]:
        ways.append((one[2:], other[2:]))
    found = [cost for way in ways if (cost := _distance(*way, most - 1)) is not None]
    return 1 + min(found) if found else None


def _same_letters(one: str, other: str) -> int:
    """Return the length of the common prefix of both words."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
