"""Sizes and times as Spark writes them: ``512m``, ``10s``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.core.config_type import invalid_value

_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ValidQuantity:
    """
    A whole number with or without a unit, in any case; None passes.

    :param example: shown in messages
    """

    units: Collection[str]
    example: str

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse what Spark would not read."""
        if value is not None and not self._fits(value):
            units = ", ".join(self.units)
            raise invalid_value(name, f"Expected a whole number with a unit ({units}) or none, such as {self.example}")

    def _fits(self, text: str) -> bool:
        match = re.fullmatch(r"(-?[0-9]{1,19})([a-z]*)", text.lower())
        return match is not None and abs(int(match[1])) <= _LARGEST and match[2] in ("", *self.units)

    def __str__(self) -> str:
        return f"whole number with or without one of {', '.join(self.units)}"


SIZE: Final = ValidQuantity(
    ("b", "k", "kb", "kib", "m", "mb", "mib", "g", "gb", "gib", "t", "tb", "tib", "p", "pb", "pib"), "512m"
)
"""Spark 3.5 does not know those with an ``i``."""

TIME: Final = ValidQuantity(("us", "ms", "s", "m", "min", "h", "d"), "10s")
