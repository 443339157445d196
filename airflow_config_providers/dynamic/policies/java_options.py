"""What the options of Java virtual machines set: keys with ``-Dspark.executor.memory=64g``, memory with ``-Xmx64g``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Final

from airflow_config_providers.core.password import HIDDEN
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import parse

_NO_BLANKS: Final = "\u0085\u00a0\u2007\u202f"
"""Characters that are spaces in Python, but not in Java's ``Character.isWhitespace``."""

_DRIVER_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_PROPERTY: Final = "-Dspark."

_MEMORY: Final[Mapping[str, str]] = {
    "spark.driver.defaultJavaOptions": "spark.driver.memory",
    "spark.driver.extraJavaOptions": "spark.driver.memory",
    "spark.executor.defaultJavaOptions": "spark.executor.memory",
    "spark.executor.extraJavaOptions": "spark.executor.memory",
    "spark.yarn.am.extraJavaOptions": "spark.yarn.am.memory",
}
"""Options -> the key of the memory that they can set."""

_HEAP: Final = r"(?s)-(?:X?mx|XX:MaxHeapSize=)(.*)"
"""Options that override Spark's own ``-Xmx``, which disables percentages such as ``-XX:MaxRAMPercentage``."""

_FILES: Final = ("@", "-XX:Flags=", "-XX:VMOptionsFile=")
"""Prefixes of a word that names a file with more options."""


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
