"""Splits the options of a Java virtual machine into words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from airflow_config_providers.core.variable import parse

_NO_BLANKS: Final = "\u0085\u00a0\u2007\u202f"
"""Characters that are spaces in Python, but not in Java's ``Character.isWhitespace``."""


def readings(text: str) -> tuple[list[str], list[str]] | None:
    """
    Return the words of ``text`` as its two readers split it.

    The first is Spark's launcher, which starts the driver in client mode and on Kubernetes. The second is Spark itself,
    which starts executors, and drivers elsewhere. They treat spaces and backslashes differently. A reference is part of
    one word, whatever its characters.

    :return: None if the launcher refuses ``text``, because a quote is not closed or nothing follows a backslash
    """
    by_launcher, is_finished = _words(text, is_blank=_is_blank_of_java, escaping=("", '"'))
    by_spark, _ = _words(text, is_blank=partial(str.__contains__, " \t\r\n"), escaping=('"',))
    return (by_launcher, by_spark) if is_finished else None


def _words(text: str, *, is_blank: Callable[[str], bool], escaping: tuple[str, ...]) -> tuple[list[str], bool]:
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


def _is_blank_of_java(unit: str) -> bool:
    return unit.isspace() and unit not in _NO_BLANKS
