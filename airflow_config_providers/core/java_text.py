"""Strings as Java reads and writes them: whitespace, integers, floating-point numbers."""

from __future__ import annotations

import math
import re
from typing import Final

BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that ``String.trim`` removes: all up to and including U+0020."""

_LONGEST_INTEGER = 4000
# Strings that re compiles at first use: few configurations have a DOUBLE.
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
_HEXADECIMAL = r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
_NAMED = r"[+-]?(?:NaN|Infinity)"


def parse_integer(text: str) -> int | None:
    """
    Parse ``text`` as ``Long.parseLong`` does, but without its bounds; return None if it is not an integer.

    Accepts all decimal digits of the Basic Multilingual Plane, such as Arabic-Indic ones. No spaces, no underscores.
    """
    digits = text[1:] if text.startswith(("+", "-")) else text
    if not digits.isdecimal() or len(digits) > _LONGEST_INTEGER or max(digits) > "\uffff":
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


def _hexadecimal(text: str) -> float:
    number, marker, exponent = text.replace("P", "p").partition("p")
    try:
        return float.fromhex(number + marker + exponent.rstrip("fFdD"))
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf
