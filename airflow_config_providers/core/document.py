"""JSON documents that contain values."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, Final

from airflow_config_providers.exceptions import ConfigException

_MISSING: Final = object()
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_MOST_DIGITS: Final = 1000
"""A longer integer stays a string: Python takes long to read one, and refuses more than 4,300 digits."""

MOST_VALUES: Final = 1_000_000
"""The most values of a document that others wrote. No secret of 1 MiB, Vault's limit by default, has as many."""

_BEFORE_VALUES: Final = "[{,"
"""The characters after which a value, or the name of one, begins."""

_NEXT: Final = re.compile(r'(?>(?:"(?>(?:[^"\\]++|\\.)*)"?|[^"\[{,]++)*)(?:([\[{,])|\Z)', re.DOTALL)
"""All up to the next of these characters outside of strings; it never goes back, so that a search is linear."""


class WrittenNumber(float):
    """A number of a JSON document that also knows how it was written, such as ``1e5`` or ``1.10``."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> WrittenNumber:  # noqa: D102 - see the class
        number = super().__new__(cls, text)
        number.text = text
        return number


def parse(text: str) -> Any:
    """
    Parse JSON and keep how each number is written: ``as_text`` returns ``1e5``, ``1.10`` and ``-0`` unchanged.

    :raises ConfigException: ``text`` is not JSON, is nested too deeply, or has too many values; names the position, not
        the content
    """
    if has_too_many_values(text):
        raise ConfigException(f"The string is not read as JSON: it has more than {MOST_VALUES:,} values.")
    try:
        return json.loads(text, parse_int=_integer, parse_float=WrittenNumber, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        problem = f"it is invalid at line {error.lineno}, column {error.colno}"
    except ValueError:
        problem = "it contains NaN or Infinity"
    except RecursionError:
        problem = "its collections are nested too deep"
    raise ConfigException(f"The string is not valid JSON: {problem}.")


def loaded(text: str | bytes, otherwise: Any = None, **parsers: Any) -> Any:
    """
    Return what ``text``, which others wrote, is in JSON.

    :return: ``otherwise`` if it is not JSON, is nested too deeply, or has too many values
    """
    try:
        return otherwise if has_too_many_values(text) else json.loads(text, **parsers)
    except (ValueError, RecursionError):
        return otherwise


def has_too_many_values(text: str | bytes) -> bool:
    """
    Return whether JSON has more than ``MOST_VALUES`` values: their objects take much more memory than ``text``.

    Parsing as many takes about a second and 150 MB; counting them takes a few milliseconds for each megabyte.
    """
    if len(text) <= MOST_VALUES:
        return False
    found = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "replace")
    if sum(map(found.count, _BEFORE_VALUES)) <= MOST_VALUES:  # fast, but it counts what is in strings, too
        return False
    one_too_many = next(islice(_NEXT.finditer(found), MOST_VALUES, None), None)
    return one_too_many is not None and one_too_many.group(1) is not None


def parse_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object as ``parse`` does; return None if ``text`` is anything else."""
    try:
        document = parse(text)
    except ConfigException:
        return None
    return document if isinstance(document, dict) else None


def read_key(document: Mapping[str, Any], key: str) -> str | None:
    """
    Return the value at ``key`` as a string; None if it is missing or ``null``.

    A key with exactly this name wins. Otherwise the part before the first dot names a nested object or, as an index
    from 0, an item of a list, in which the rest is looked up the same way: ``credentials.password``, ``users.0.name``.

    :raises ConfigException: the value cannot be written as a string
    """
    node: Any = document
    rest: str | None = key
    while rest is not None and node is not _MISSING:
        if isinstance(node, Mapping) and rest in node:
            node, rest = node[rest], None
        else:
            head, dot, tail = rest.partition(".")
            node, rest = _child(node, head), tail if dot else None
    return None if node is _MISSING or node is None else as_text(node)


def read_all(document: Mapping[str, Any]) -> dict[str, str]:
    """
    Return the top-level values of ``document`` as strings; those that are ``null`` are left out.

    :raises ConfigException: a value cannot be written as a string
    """
    return {str(key): as_text(value) for key, value in document.items() if value is not None}


def read_keys(document: Mapping[str, Any], keys: Collection[str] | None) -> dict[str, str]:
    """
    Return the values at ``keys`` as ``read_key`` does, without those that are missing; None for all at the top level.

    :raises ConfigException: a value cannot be written as a string
    """
    if keys is None:
        return read_all(document)
    found = {key: read_key(document, key) for key in keys}
    return {key: text for key, text in found.items() if text is not None}


def as_text(value: Any) -> str:
    """
    Return a string unchanged, bytes in base64, and any other value as JSON without spaces.

    :raises ConfigException: JSON has no such value, or it is nested too deeply
    """
    try:
        if isinstance(value, str):
            return value
        return _base64(value) if isinstance(value, bytes | bytearray) else _json(value)
    except RecursionError:
        problem = "Its collections are nested too deep"
    except TypeError as error:
        problem = str(error)
    raise ConfigException(f"A value cannot be written as text. {problem}.")


def _integer(text: str) -> int | WrittenNumber:
    return WrittenNumber(text) if text == "-0" or len(text) > _MOST_DIGITS else int(text)


def _refuse(name: str) -> None:
    raise ValueError


def _child(node: Any, name: str) -> Any:
    if isinstance(node, Mapping):
        return node.get(name, _MISSING)
    if isinstance(node, list | tuple) and _INDEX.fullmatch(name) and int(name) < len(node):
        return node[int(name)]
    return _MISSING


def _json(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes | bytearray):
        return f'"{_base64(value)}"'
    if isinstance(value, WrittenNumber):
        return value.text
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_json(str(key))}:{_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_json, value)) + "]"
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    raise TypeError(f"Its type is {type(value).__name__}")


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode()
