"""What Spark and Hadoop read of a configuration: keys under all their names, and settings in options of Java."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import translate
from functools import lru_cache, partial
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, current_name, hadoop_name, older_names
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import parse

_HIVE: Final = "hive."
_BUCKET: Final = "fs.s3a.bucket."
_AZURE: Final = "fs.azure."
_LONGEST: Final = 512
"""The longest key of a bucket or an account: the general key, a name of 63 characters, and a host name."""
_MOST_DOTS: Final = 32
"""The most dots in the name of a bucket, or in a general key of Azure."""

_NO_BLANKS: Final = "\u0085\u00a0\u2007\u202f"
"""Characters that are spaces in Python, but not in Java's ``Character.isWhitespace``."""

_DRIVER_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_PROPERTY: Final = "-Dspark."

_MEMORY: Final[Mapping[str, str]] = {
    **dict.fromkeys(_DRIVER_OPTIONS, "spark.driver.memory"),
    **dict.fromkeys(("spark.executor.defaultJavaOptions", "spark.executor.extraJavaOptions"), "spark.executor.memory"),
    "spark.yarn.am.extraJavaOptions": "spark.yarn.am.memory",
}
"""Options -> the key of the memory that they can set."""

_HEAP: Final = r"(?s)-(?:X?mx|XX:MaxHeapSize=)(.*)"
"""Options that override Spark's own ``-Xmx``, which disables percentages such as ``-XX:MaxRAMPercentage``."""

_FILES: Final = ("@", "-XX:Flags=", "-XX:VMOptionsFile=")
"""Prefixes of a word that names a file with more options."""


def newest_name(key: str) -> str:
    """Return the current name of ``key`` in Spark or Hadoop."""
    return current_name(key, older_names())


def canonical_name(key: str) -> str:
    """Return the one name for all names of ``key``; for a Hadoop key, it begins with ``spark.hadoop.``."""
    hadoop = hadoop_name(key)
    return newest_name(key if hadoop is None else HADOOP_PREFIX + hadoop)


def own_names(key: str) -> list[str]:
    """
    Return the names of ``key``, itself first; those of Hadoop begin with ``spark.hadoop.``.

    A Hadoop key can also be written without that prefix, because Spark SQL passes all keys of a session to Hadoop, and
    a Hive key with ``spark.hive.``.
    """
    hadoop = hadoop_name(key)
    return list(dict.fromkeys([key, *([newest_name(key)] if hadoop is None else _names_of_hadoop(hadoop))]))


def names_of(key: str) -> list[str]:
    """
    Return the names that ``key`` can mean, itself first.

    A key for one S3 bucket or one Azure account also means the general key.
    """
    return list(dict.fromkeys(name for names in _meanings(key) for name in names))


def twice_named(keys: Iterable[str]) -> list[str]:
    """Return a problem for each of ``keys`` that is another name of one before it."""
    first: dict[str, str] = {}
    return [
        f"'{printable(key)}' is another name of '{printable(other)}'. Keep one of the two."
        for key in keys
        if (other := first.setdefault(canonical_name(key), key)) != key
    ]


def with_canonical(patterns: Iterable[str]) -> list[str]:
    """Return ``patterns``, and those that match all names of a key of which one of them is a name."""
    return [one for pattern in patterns for one in (pattern, canonical_name(pattern))]


class Patterns:
    """
    Patterns in which ``*`` matches any string, ``?`` any character, and ``[ab]`` one of the two. Case matters.

    Most are plain names, which are looked up instead of tried one after the other.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = set(patterns)
        self._plain = {text for text in texts if not _has_wildcard(text)}
        others = tuple(sorted(texts - self._plain))
        self._others = _any_of(others) if others else None

    @classmethod
    def of(cls, patterns: Iterable[str] | None) -> Patterns | None:
        """Return the patterns; None for None."""
        return None if patterns is None else cls(patterns)

    def matches(self, text: str) -> bool:
        """Return whether a pattern matches all of ``text``."""
        return text in self._plain or (self._others is not None and self._others.fullmatch(text) is not None)

    def match_any(self, texts: Iterable[str]) -> bool:
        """Return whether a pattern matches all of one of ``texts``."""
        return any(map(self.matches, texts))


@lru_cache(maxsize=256)  # several policies of a file have the same ones, and each reading of the file
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


def _has_wildcard(text: str) -> bool:
    return re.search(r"[*?\[]", text) is not None


class KeyPatterns:
    """
    Patterns of keys. One that is a name of a key matches all of its names.

    :param excluded: exceptions. A plain name excludes all names of its key, and a pattern with a wildcard only those
        names that it matches
    """

    def __init__(self, patterns: Iterable[str], *, excluded: Collection[str] = ()) -> None:
        self._included = Patterns(with_canonical(patterns))
        self._excluded_keys = Patterns(with_canonical(one for one in excluded if not _has_wildcard(one)))
        self._excluded_names = Patterns(with_canonical(filter(_has_wildcard, excluded)))

    def matching(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that mean at least one key that matches, in order."""
        return sorted(filter(self.match, keys))

    def match(self, key: str) -> bool:
        """Return whether ``key`` means at least one key that matches."""
        return any(map(self._match, _meanings(key)))

    def _match(self, names: Collection[str]) -> bool:
        is_included = any(self._included.matches(name) and not self._excluded_names.matches(name) for name in names)
        return is_included and not self._excluded_keys.match_any(names)


def unmatched(patterns: Iterable[str], keys: Iterable[str]) -> list[str]:
    """Return those of ``patterns`` that match no key; most keys are compared with all of them at once."""
    missing = {pattern: KeyPatterns([pattern]) for pattern in patterns}
    all_missing = KeyPatterns(missing)
    for key in keys:
        if all_missing.match(key):
            missing = {pattern: one for pattern, one in missing.items() if not one.match(key)}
            all_missing = KeyPatterns(missing)
        if not missing:
            break
    return list(missing)


def _meanings(key: str) -> Iterator[list[str]]:
    """Yield the names of ``key`` itself, and then those of each general key."""
    yield own_names(key)
    yield from map(_names_of_hadoop, _general_names(hadoop_name(key) or ""))


def _names_of_hadoop(name: str) -> list[str]:
    of_hive = [f"spark.{name}"] if name.startswith(_HIVE) else []
    return [HADOOP_PREFIX + name, newest_name(HADOOP_PREFIX + name), *of_hive]


def _general_names(name: str) -> Iterator[str]:
    if len(name) > _LONGEST:
        return
    if name.startswith(_BUCKET):
        parts = name.removeprefix(_BUCKET).split(".")
        yield from (f"fs.s3a.{'.'.join(parts[first:])}" for first in range(1, min(len(parts), _MOST_DOTS)))
    if name.startswith(_AZURE):
        parts = name.split(".")
        yield from (".".join(parts[:count]) for count in range(3, min(len(parts), _MOST_DOTS)))


def all_settings(configs: Mapping[str, str]) -> list[tuple[str, str]]:
    """
    Return each key with its value, in order, including those that the driver's options set as properties.

    Keys that ``unreadable`` options set are unknown, and missing here.
    """
    options = (configs.get(name, "") for name in _DRIVER_OPTIONS)
    return sorted([*configs.items(), *(setting for text in options for setting in _properties(text) or ())])


def unreadable(configs: Mapping[str, str]) -> dict[str, str]:
    """Return key of driver options -> problem, for options that cannot be read and so could set any key."""
    texts = {name: configs.get(name, "") for name in _DRIVER_OPTIONS}
    return {name: _unreadable_problem(name, text) for name, text in texts.items() if _properties(text) is None}


def heap_settings(configs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each memory setting in options, as key and size, in order."""
    found = {
        (key, _size(match[1]))
        for options, key in _MEMORY.items()
        for word in _words(configs.get(options, ""))
        if (match := re.fullmatch(_HEAP, word))
    }
    return sorted(found)


def heap_problems(configs: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """Return key of options -> problem, for options that could set the memory of ``keys`` to any size."""
    problems: dict[str, str] = {}
    for options in (options for options, key in _MEMORY.items() if key in keys):
        text = configs.get(options, "")
        if readings(text) is None:
            problems[options] = _unreadable_problem(options, text)
        elif any(word.startswith(_FILES) for word in _words(text)):
            problems[options] = (
                f"'{printable(options)}' names a file of options, so memory cannot be checked. Write the options here."
            )
    return problems


def readings(text: str) -> tuple[list[str], list[str]] | None:
    """
    Return the words of ``text`` as its two readers split it.

    The first is Spark's launcher, which starts the driver in client mode and on Kubernetes. The second is Spark itself,
    which starts executors, and drivers elsewhere. They treat spaces and backslashes differently. A reference is part of
    one word, whatever its characters.

    :return: None if the launcher refuses ``text``, because a quote is not closed or nothing follows a backslash, or
        if ``text`` is hidden
    """
    if text == HIDDEN:
        return None
    by_launcher, is_finished = _split(
        text, is_blank=lambda unit: unit.isspace() and unit not in _NO_BLANKS, escaping=("", '"')
    )
    by_spark, _ = _split(text, is_blank=partial(str.__contains__, " \t\r\n"), escaping=('"',))
    return (by_launcher, by_spark) if is_finished else None


def _properties(text: str) -> list[tuple[str, str]] | None:
    """Return the keys that ``text`` sets, with their values; None if its readers disagree about them."""
    found = readings(text)
    if found is None:
        return None
    by_launcher, by_spark = (list(_set_by(words)) for words in found)
    return by_launcher if by_launcher == by_spark else None


def _set_by(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        if word.startswith(_PROPERTY):
            key, _, value = word.removeprefix("-D").partition("=")
            yield key, value


def _unreadable_problem(options: str, text: str) -> str:
    """Return the message for ``options`` that cannot be read."""
    if text == HIDDEN:
        return f"'{printable(options)}' has a secret, which hides its options, so they cannot be checked. Remove it."
    return (
        f"'{printable(options)}' cannot be split into options unambiguously. Close each quote, and put backslashes and "
        f"unusual spaces into double quotes."
    )


def _words(text: str) -> set[str]:
    return {word for words in readings(text) or () for word in words}


def _size(text: str) -> str:
    """Return the size as Spark writes it; in options of the virtual machine, the default unit is bytes."""
    return f"{text}b" if text.isdecimal() else text


def _split(text: str, *, is_blank: Callable[[str], bool], escaping: tuple[str, ...]) -> tuple[list[str], bool]:
    """
    Return the words, and whether the last one is complete.

    :param escaping: the quotes in which a backslash escapes the next character; an empty string for outside of quotes
    """
    words: list[list[str]] = []
    quote, is_inside = "", False
    units = _units(text)
    for unit in units:
        was_inside, is_inside = is_inside, bool(quote) or not is_blank(unit)
        if is_inside and not was_inside:
            words.append([])
        if unit == "\\" and quote in escaping:
            following = next(units, None)
            if following is None:
                quote = unit
            else:
                words[-1].append(following)
        elif unit == quote:
            quote = ""
        elif not quote and unit in {"'", '"'}:
            quote = unit
        elif is_inside:
            words[-1].append(unit)
    return ["".join(word) for word in words], not quote


def _units(text: str) -> Iterator[str]:
    """Yield each reference, and each character outside references."""
    for part in parse(text):
        yield from part if isinstance(part, str) else (str(part),)
