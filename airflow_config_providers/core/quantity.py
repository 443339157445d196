"""Sizes and times with a unit, as Spark reads them, such as ``512m`` and ``10s``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from airflow_config_providers.core.java_text import BLANKS

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

_LARGEST: Final = 2**63 - 1


def read_quantity(text: str, units: Mapping[str, int], *, default_unit: str = "") -> int | None:
    """
    Parse an integer with a unit, in upper or lower case, ignoring surrounding whitespace.

    :param units: unit -> its size in the smallest unit
    :param default_unit: unit of a number without one; if empty, a number needs a unit
    :return: the quantity in the smallest unit; None if ``text`` is not a quantity
    """
    match = re.fullmatch(r"(-?[0-9]{1,19})([a-z]*)", text.strip(BLANKS).lower())
    if match is None or abs(int(match[1])) > _LARGEST:
        return None
    unit = units.get(match[2] or default_unit)
    return None if unit is None else int(match[1]) * unit
