"""Colours of cells in a terminal. They only repeat what the text says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airflow_config_providers.core.data import HIDDEN

_GOOD: Final = "green"
_NOTABLE: Final = "yellow"
_BAD: Final = "red"
_FAINT: Final = "dim"

_COLOURS: Final[Mapping[str, Mapping[str, str]]] = {
    "change": {"added": _GOOD, "removed": _BAD, "changed": _NOTABLE, "other secret": _NOTABLE},
    "verdict": {
        "allows": _GOOD,
        "applies": _GOOD,
        "beaten": _NOTABLE,
        "denies": _BAD,
        "filtered": _NOTABLE,
        "not allowed": _BAD,
        "not asked": _FAINT,
        "not read": _BAD,
        "not set": _FAINT,
        "other spelling": _NOTABLE,
        "typo": _BAD,
    },
    "is_newest": {"true": _GOOD, "false": _NOTABLE},
}
"""Column -> string of a cell -> its colour."""

_PENDING: Final = "pending, "


def colour(column: str, text: str) -> str:
    """Return the colour of a cell, as rich names it; empty for the usual one."""
    if text == HIDDEN:
        return _FAINT
    if column == "applied" and text.startswith(_PENDING):
        return _NOTABLE
    return _COLOURS.get(column, {}).get(text, "")
