"""Whitespace, numbers, sizes and times as Java and Spark write them, such as ``1e-3``, ``512m`` and ``10s``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that ``String.trim`` removes: all up to and including U+0020."""

_MOST_DIGITS = 4000
"""Python refuses to read an integer with more than 4,300."""

# Strings that re compiles at first use: few configurations have a DOUBLE.
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
_HEXADECIMAL = r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
_NAMED = r"[+-]?(?:NaN|Infinity)"

SIZES: Final[Mapping[str, int]] = MappingProxyType(
    {"b": 1}
    | {
        name: 1024**power
        for power, letter in enumerate("kmgtp", start=1)
        for name in (letter, f"{letter}b", f"{letter}ib")
    }
)
"""Unit -> bytes. Spark 3.5 does not support the units with an ``i``."""

TIMES: Final[Mapping[str, int]] = MappingProxyType(
    {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
)
"""Unit -> microseconds."""

_LARGEST_LONG: Final = 2**63 - 1
"""The largest ``long`` of Java, in which Spark keeps a quantity."""


def parse_integer(text: str) -> int | None:
    """
    Parse ``text`` as ``Long.parseLong`` does, but without its bounds; return None if it is not an integer.

    Accepts all decimal digits of the Basic Multilingual Plane, such as Arabic-Indic ones. No spaces, no underscores.
    """
    digits = text[1:] if text.startswith(("+", "-")) else text
    if not digits.isdecimal() or len(digits) > _MOST_DIGITS or max(digits) > "\uffff":
        return None
    return int(text)


def parse_double(text: str) -> float | None:
    """Parse ``text`` as ``Double.parseDouble`` does; return None if it is not a number."""
    if re.fullmatch(_DECIMAL, text):
        return float(text.rstrip("fFdD"))
    if re.fullmatch(_NAMED, text):
        return float(text)
    return _hexadecimal(text) if re.fullmatch(_HEXADECIMAL, text) else None


def format_double(value: float) -> str:
    """Write ``value`` as ``Double.toString`` does, with the fewest digits that read back as ``value`` (JDK 19+)."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal  # noqa: PLC0415 - rarely needed

    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{int(exponent)}"


def written(value: str | float) -> str:
    """Return a string, number or boolean as a properties file has it, in which booleans are ``true`` and ``false``."""
    if isinstance(value, bool):
        return str(value).lower()
    return format_double(value) if isinstance(value, float) else str(value)


def read_quantity(text: str, units: Mapping[str, int], *, default_unit: str = "") -> int | None:
    """
    Parse an integer with a unit, in upper or lower case, ignoring surrounding whitespace.

    :param units: unit -> its size in the smallest unit
    :param default_unit: unit of a number without one; if empty, a number needs a unit
    :return: the quantity in the smallest unit; None if ``text`` is not a quantity
    """
    match = re.fullmatch(r"(-?[0-9]{1,19})([a-z]*)", text.strip(BLANKS).lower())
    if match is None or abs(int(match[1])) > _LARGEST_LONG:
        return None
    unit = units.get(match[2] or default_unit)
    return None if unit is None else int(match[1]) * unit


def _hexadecimal(text: str) -> float:
    number, marker, exponent = text.replace("P", "p").partition("p")
    try:
        return float.fromhex(number + marker + exponent.rstrip("fFdD"))
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf
