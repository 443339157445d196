"""Sizes and times as Spark writes them: ``512m``, ``10s``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.core.definition.config_type import invalid_value
from airflow_config_providers.core.quantity import SIZES, TIMES, read_quantity


@dataclass(frozen=True, slots=True)
class ValidQuantity:
    """
    A validator of whole numbers with or without a unit, in upper or lower case. None is valid.

    :param units: unit -> its size
    :param example: an example for messages
    """

    units: Mapping[str, int]
    example: str

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse a value that Spark could not read."""
        if value is not None and read_quantity(value, self.units, default_unit=next(iter(self.units))) is None:
            units = ", ".join(self.units)
            raise invalid_value(name, f"Expected a whole number with a unit ({units}) or none, such as {self.example}")

    def __str__(self) -> str:
        return f"whole number with or without one of {', '.join(self.units)}"


SIZE: Final = ValidQuantity(SIZES, "512m")
TIME: Final = ValidQuantity(TIMES, "10s")
