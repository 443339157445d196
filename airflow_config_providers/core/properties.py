r"""
Java properties files: read and write the syntax of ``java.util.Properties``.

``javaproperties`` splits a line into key and value and decodes the escapes; most lines have none, and do not need the
library. Nor does writing printable ASCII, as nearly every task does. This module joins the lines, because the library
joins continued lines in quadratic time, keeps no line numbers, and after a line with only a ``\`` continues with a
comment or a blank line, which Java skips.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse

_LINE_END: Final = re.compile(r"\r\n?|\n")
_BLANKS: Final = " \t\f"
_SEPARATOR: Final = re.compile(r"(?:[ \t\f]*[=:]|[ \t\f])[ \t\f]*")
_SPECIAL: Final = re.compile(r"[\\#!=:]|\A ")
"""What is written with a backslash before it."""


@dataclass(frozen=True, slots=True)
class Property:
    """
    One entry of a properties file.

    :param line: number of the line on which the entry begins, counted from 1
    """

    key: str
    value: str = field(repr=False)
    line: int


def parse(text: str, *, name: str) -> list[Property]:
    r"""
    Return the entries of ``text`` in order; a repeated key has several entries, of which Java uses the last.

    ``text`` must have the untranslated line ends of the file; a byte order mark is part of the first key.
    Takes time linear in the length of ``text``.

    :param name: where ``text`` comes from, for messages
    :raises ConfigException: ``\u`` without four hexadecimal digits; names each such line
    """
    properties: list[Property] = []
    problems: list[str] = []
    for line, logical in _logical_lines(text):
        if (entry := _entry(logical)) is None:
            problems.append(
                rf"{printable(name)}:{line}: \u must be followed by four hexadecimal digits. "
                rf"Write \\ where a backslash is meant."
            )
        else:
            properties.append(Property(*entry, line))
    refuse(ConfigException, problems)
    return properties


def dump(configs: Mapping[str, str]) -> str:
    """
    Return ``configs`` as ASCII, one entry per line, sorted by key.

    ``java.util.Properties`` reads back exactly these keys and values. Spark also reads such files with it, and then
    strips whitespace from both ends of each value.
    """
    return "".join(f"{_written(key, value)}\n" for key, value in sorted(configs.items()))


def _written(key: str, value: str) -> str:
    entry = f"{key}{value}"
    if entry.isascii() and entry.isprintable() and " " not in key:
        return f"{_escaped(key)}={_escaped(value)}"
    from javaproperties import join_key_value  # noqa: PLC0415 - it imports an HTTP client and an XML parser

    return join_key_value(key, value)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the joined lines of each entry with the number of the first; comments and blank lines are left out."""
    first = 0
    parts: list[str] = []
    for number, line in enumerate(_lines(text), start=1):
        stripped = line.lstrip(_BLANKS)
        if not parts and stripped[:1] in ("", "#", "!"):
            first = 0
            continue
        first = first or number
        is_continued = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
        if content := stripped[:-1] if is_continued else stripped:
            parts.append(content)
        if not is_continued:
            yield first, "".join(parts)
            first, parts = 0, []
    if first:
        yield first, "".join(parts)


def _lines(text: str) -> list[str]:
    r"""Split at line ends. After a final ``\r\n`` Java sees one more, empty line, and after other final ones none."""
    lines = _LINE_END.split(text)
    return lines if lines[-1] or text.endswith("\r\n") else lines[:-1]


def _entry(logical: str) -> tuple[str, str] | None:
    r"""Split a logical line into key and value; return None if a ``\u`` escape is malformed."""
    if "\\" not in logical and logical.isascii():
        key, *value = _SEPARATOR.split(logical, maxsplit=1)
        return key, "".join(value)
    from javaproperties import InvalidUEscapeError, loads  # noqa: PLC0415 - it imports an HTTP client and an XML parser

    try:
        entries: list[tuple[str, str]] = loads(logical, object_pairs_hook=list)
    except InvalidUEscapeError:
        return None
    return entries[0] if entries else ("", "")
