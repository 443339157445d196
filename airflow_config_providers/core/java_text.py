"""Texts as Java reads and writes them: blanks, whole numbers, floating point numbers."""

from __future__ import annotations

import math
import re
from typing import Final

BLANKS: Final = "".join(map(chr, range(0x21)))
"""What ``String.trim`` cuts off: every character up to and including U+0020."""

_LONGEST_INTEGER = 4000
# Texts, and not compiled at import: re compiles each once, and few configurations hold a DOUBLE.
_DECIMAL = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
_HEXADECIMAL = r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
_NAMED = r"[+-]?(?:NaN|Infinity)"


def parse_integer(text: str) -> int | None:
    """
    Read ``text`` as ``Long.parseLong`` does, without its bounds; None where it is no whole number.

    Any decimal digits of the basic plane count, such as Arabic-Indic ones. No blanks, no underscores.
    """
    digits = text[1:] if text.startswith(("+", "-")) else text
    if not digits.isdecimal() or len(digits) > _LONGEST_INTEGER or max(digits) > "\uffff":
        return None
    return int(text)


def parse_double(text: str) -> float | None:
    """Read ``text`` as ``Double.parseDouble`` does; None where it is no number."""
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
    from decimal import Decimal  # noqa: PLC0415 - rarely wanted

    mantissa, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{int(exponent)}"


def _hexadecimal(text: str) -> float:
    number, marker, exponent = text.replace("P", "p").partition("p")
    try:
        return float.fromhex(number + marker + exponent.rstrip("fFdD"))
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf
