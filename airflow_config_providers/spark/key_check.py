"""Keys that Spark would leave out, and keys that are spelt nearly as one that it knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from airflow_config_providers.core.keys import key_problem
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.text import printable
from airflow_config_providers.spark.known_keys import SPARK, meant, with_prefix

_SETTING: Final = "[config_providers] misspelt_keys"


class Misspelt(Enum):
    """What becomes of a key that is spelt nearly as one that Spark knows."""

    WARN = "warn"
    FAIL = "fail"
    IGNORE = "ignore"
    """Keys that Spark would leave out pass too."""


@dataclass(frozen=True, slots=True)
class KeyFindings:
    """
    What is wrong with the names of keys, one sentence each.

    :param problems: what must be corrected
    :param doubts: what a reader should know
    """

    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def find_in(places: Mapping[str, str], misspelt: Misspelt, *, takes_any_key: bool = False) -> KeyFindings:
    """
    Look at the names of keys.

    :param places: key -> where it was written; empty for a key that needs no such word
    :param takes_any_key: whether the job gets also keys that do not begin with ``spark.``
    """
    if misspelt is Misspelt.IGNORE:
        return KeyFindings()
    spark_keys = [key for key in places if key.startswith(SPARK)]
    others = [] if takes_any_key else [key for key in places if not key.startswith(SPARK)]
    left_out = [_left_out(key, places[key]) for key in others if key_problem(key, "") is None]
    doubts = [_doubt(key, places[key], name) for key in spark_keys if (name := meant(key))]
    if misspelt is Misspelt.FAIL:
        return KeyFindings((*left_out, *doubts))
    return KeyFindings(tuple(left_out), tuple(doubts))


def find_in_layers(
    layers: Iterable[ConfigLayer], misspelt: Misspelt, *, but: Collection[str] = (), takes_any_key: bool = False
) -> KeyFindings:
    """
    Look at the names of keys in ``layers``; the strongest layer that has a key is named.

    :param but: names of layers that are not looked at
    """
    looked_at = [
        layer for layer in layers if layer.source is not ConfigSource.ENVIRONMENT_CONFIG and layer.name not in but
    ]
    strongest_last = sorted(looked_at, key=lambda layer: layer.source)
    places = {key: layer.origin(key) for layer in strongest_last for key in layer.configs}
    return find_in(places, misspelt, takes_any_key=takes_any_key)


def _left_out(key: str, place: str) -> str:
    return (
        f"{_where(key, place)}: Spark leaves out keys that do not begin with '{SPARK}', did you mean "
        f"'{printable(with_prefix(key))}'? Correct the name."
    )


def _doubt(key: str, place: str, name: str) -> str:
    return (
        f"{_where(key, place)}: Spark has no such key, did you mean '{printable(name)}'? Correct the name, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _where(key: str, place: str) -> str:
    return f"'{printable(key)}'" + (f" ({printable(place)})" if place else "")
