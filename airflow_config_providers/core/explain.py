"""A settled configuration as lines that people read."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource, ConfigSynonym
from airflow_config_providers.core.text import one_line


def lines(entries: Iterable[ConfigEntry]) -> list[str]:
    """
    Give ``key = text   # LAYER, origin; beats LAYER origin = text`` for each key that a layer sets, sorted.

    Texts are references and never values; a secret that is written out is hidden.
    """
    submitted = (entry for entry in entries if entry.source is not ConfigSource.DEFAULT_CONFIG)
    return [_line(entry) for entry in sorted(submitted, key=lambda entry: entry.name)]


def _line(entry: ConfigEntry) -> str:
    beaten = "".join(f"; beats {s.source.name} {one_line(s.origin)} = {_shown(s)}" for s in entry.synonyms[1:])
    return f"{one_line(entry.name)} = {_shown(entry)}   # {entry.source.name}, {one_line(entry.origin)}{beaten}"


def _shown(item: ConfigEntry | ConfigSynonym) -> str:
    return HIDDEN if item.value is None else one_line(item.value)
