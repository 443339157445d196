"""The types of configuration values: from string to value and back (Kafka's ConfigDef.Type)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from airflow_config_providers.core.invalid_value import invalid_value
from airflow_config_providers.core.java_text import BLANKS, format_double, parse_double, parse_integer
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.core.text import of_type

_PATTERN_BLANKS = " \t\n\v\f\r"
_BOOLEANS = {"true": True, "false": False}


class ConfigType(Enum):
    """The type of a configuration value."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    """32 bits."""
    SHORT = "SHORT"
    """16 bits."""
    LONG = "LONG"
    """64 bits."""
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    """Strings, separated by commas."""
    CLASS = "CLASS"
    """A class, by its dotted path."""
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type
    """A string that is never shown."""


def parse_type(name: str, value: object, type: ConfigType) -> Any:  # noqa: A002 - Kafka's name
    """
    Return the ``value`` of ``name`` as a value of ``type``.

    Strings are parsed as Kafka parses them, without surrounding whitespace. A value that already has the type is
    returned unchanged. None stays None.

    :raises ConfigException: the value is invalid; the message does not quote it
    """
    if value is None:
        return None
    parsed = _PARSERS[type](value.strip(BLANKS) if isinstance(value, str) else value)
    if isinstance(parsed, _Misfit):
        raise invalid_value(name, parsed.reason)
    return parsed


def convert_to_string(value: Any, type: ConfigType) -> str | None:  # noqa: A002 - Kafka's name
    """Return a parsed ``value`` as a string; a PASSWORD as ``[hidden]``, None as None."""
    return None if value is None else _WRITERS.get(type, str)(value)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Misfit:
    """Returned, not raised: in a handler, a raised error would carry the handled one, which can quote the value."""

    reason: str


def _boolean(value: object) -> object:
    if isinstance(value, str):
        # U+017F is the only non-ASCII letter that Java accepts as a letter of "true" or "false".
        value = _BOOLEANS.get(value.lower().replace("\u017f", "s"))
    return value if isinstance(value, bool) else _Misfit("Expected value to be either true or false")


def _string(value: object) -> object:
    return value if isinstance(value, str) else _Misfit(f"Expected value to be a string, but it was {of_type(value)}")


def _password(value: object) -> object:
    if isinstance(value, str):
        return Password(value)
    return value if isinstance(value, Password) else _string(value)


def _integer(name: str, bits: int, value: object) -> object:
    if not isinstance(value, str | int) or isinstance(value, bool):
        return _Misfit(f"Expected value to be a {bits}-bit integer, but it was {of_type(value)}")
    number = parse_integer(value) if isinstance(value, str) else value
    bound = 1 << (bits - 1)
    if number is None or not -bound <= number < bound:
        return _Misfit(f"Not a number of type {name}. Give a whole number from {-bound} to {bound - 1}")
    return number


def _double(value: object) -> object:
    if isinstance(value, str):
        value = parse_double(value)
        return _Misfit("Not a number of type DOUBLE. Give a number such as 0.5 or 1e6") if value is None else value
    if isinstance(value, float):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        return _Misfit(f"Expected value to be a double, but it was {of_type(value)}")
    try:
        return float(value)
    except OverflowError:
        return _Misfit("Not a number of type DOUBLE: it is too large")


def _list(value: object) -> object:
    if isinstance(value, str):
        return [part.strip(_PATTERN_BLANKS) for part in value.split(",")] if value else []
    if isinstance(value, list | tuple):
        return list(value)
    return _Misfit("Expected a comma separated list")


def _class(value: object) -> object:
    if isinstance(value, type):
        return value
    if not isinstance(value, str):
        return _Misfit("Expected a class or the dotted path of one")
    found = _import(value)
    return found if isinstance(found, type) else _Misfit("Class could not be found. Give the dotted path of a class")


def _import(path: str) -> object:
    import pkgutil  # noqa: PLC0415 - takes 7 ms, and few configurations name a class

    try:
        return pkgutil.resolve_name(path)
    except (Exception, SystemExit):  # noqa: BLE001 - an import runs foreign code; its error can quote the value
        return None


_PARSERS: Mapping[ConfigType, Callable[[object], object]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: _string,
    ConfigType.INT: partial(_integer, "INT", 32),
    ConfigType.SHORT: partial(_integer, "SHORT", 16),
    ConfigType.LONG: partial(_integer, "LONG", 64),
    ConfigType.DOUBLE: _double,
    ConfigType.LIST: _list,
    ConfigType.CLASS: _class,
    ConfigType.PASSWORD: _password,
}

_WRITERS: Mapping[ConfigType, Callable[[Any], str]] = {
    ConfigType.BOOLEAN: lambda value: "true" if value else "false",
    ConfigType.DOUBLE: format_double,
    ConfigType.LIST: lambda value: ",".join(map(str, value)),
    ConfigType.CLASS: lambda value: f"{value.__module__}.{value.__qualname__}",
}
