"""Finds keys that Spark would ignore: misspelt ones, and those of other versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from airflow_config_providers.core.keys import key_problem
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.text import printable
from airflow_config_providers.spark.key_notes import absence, key_notes
from airflow_config_providers.spark.known_keys import SPARK, meant, with_prefix

_SETTING: Final = "[config_providers] unknown_keys"


class UnknownKeys(Enum):
    """What to do with a key whose spelling is close to one that Spark knows, or that its version does not have."""

    WARN = "warn"
    FAIL = "fail"
    IGNORE = "ignore"
    """Keys that Spark would ignore pass, too."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeyFindings:
    """
    The problems with the names of keys, one sentence each.

    :param problems: errors that must be corrected
    :param doubts: warnings for the reader
    """

    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def find_in(
    places: Mapping[str, str], unknown: UnknownKeys, *, takes_any_key: bool = False, spark_version: str | None = None
) -> KeyFindings:
    """
    Check the names of keys.

    :param places: key -> where it was written; empty if messages need not say it
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    if unknown is UnknownKeys.IGNORE:
        return KeyFindings()
    spark_keys = [key for key in places if key.startswith(SPARK)]
    others = [] if takes_any_key else [key for key in places if not key.startswith(SPARK)]
    left_out = [
        _left_out(key, places[key]) for key in others if key_problem(key, "") is None and key not in RELOAD_ACTION_KEYS
    ]
    doubts = [_doubt(key, places[key], name) for key in spark_keys if (name := meant(key))]
    doubts += absent(places, spark_version)
    if unknown is UnknownKeys.FAIL:
        return KeyFindings((*left_out, *doubts))
    return KeyFindings(tuple(left_out), tuple(doubts))


def absent(places: Mapping[str, str], spark_version: str | None) -> tuple[str, ...]:
    """Return a doubt for each key that ``spark_version`` of Spark does not have, though another version has it."""
    if not spark_version:
        return ()
    missing = [(key, time) for key in places if key.startswith(SPARK) and (time := absence(key, spark_version))]
    return tuple(_absent(key, places[key], time, spark_version) for key, time in missing)


def find_in_layers(
    layers: Iterable[ConfigLayer],
    unknown: UnknownKeys,
    *,
    but: Collection[str] = (),
    takes_any_key: bool = False,
    spark_version: str | None = None,
) -> KeyFindings:
    """
    Check the names of keys in ``layers``. Messages name the strongest layer that has a key.

    :param but: the names of layers to ignore
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    looked_at = [
        layer for layer in layers if layer.source is not ConfigSource.ENVIRONMENT_CONFIG and layer.name not in but
    ]
    strongest_last = sorted(looked_at, key=lambda layer: layer.source)
    places = {key: layer.origin(key) for layer in strongest_last for key in layer.configs}
    return find_in(places, unknown, takes_any_key=takes_any_key, spark_version=spark_version)


def _left_out(key: str, place: str) -> str:
    return (
        f"{_where(key, place)}: Spark ignores keys that do not begin with '{SPARK}', did you mean "
        f"'{printable(with_prefix(key))}'? Correct the name."
    )


def _doubt(key: str, place: str, name: str) -> str:
    return (
        f"{_where(key, place)}: Spark has no such key, did you mean '{printable(name)}'? Correct the name, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _absent(key: str, place: str, time: str, version: str) -> str:
    successor = key_notes(key).successor
    instead = f"Set '{successor}' instead" if successor else "Remove it"
    return (
        f"{_where(key, place)}: Spark has this key {time}; this Spark is {printable(version)}. {instead}, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _where(key: str, place: str) -> str:
    return f"'{printable(key)}'" + (f" ({printable(place)})" if place else "")
