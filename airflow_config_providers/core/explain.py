"""A settled configuration as lines that people read."""

from __future__ import annotations

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.text import one_line


def texts(layered: LayeredConfig) -> dict[str, str]:
    """Give key -> text of each key that a layer sets, and ``[hidden]`` for a secret that is written out."""
    shown = {key: layered.describe(key).value for key in layered.settled}
    return {key: HIDDEN if text is None else text for key, text in shown.items()}


def lines(layered: LayeredConfig) -> list[str]:
    """
    Give ``key = text   # LAYER, origin; beats LAYER origin = text`` for each key that a layer sets, sorted.

    Texts are references and never values; a secret that is written out is hidden. A default is not said to be beaten:
    Airflow cuts long fields, and every key that the definition knows has one.
    """
    return [_line(layered.describe(key)) for key in sorted(layered.settled)]


def _line(entry: ConfigEntry) -> str:
    losers = (synonym for synonym in entry.synonyms[1:] if synonym.source is not ConfigSource.DEFAULT_CONFIG)
    beaten = "".join(f"; beats {s.source.name} {one_line(s.origin)} = {_shown(s)}" for s in losers)
    return f"{one_line(entry.name)} = {_shown(entry)}   # {entry.source.name}, {one_line(entry.origin)}{beaten}"


def _shown(item: ConfigEntry | ConfigSynonym) -> str:
    return HIDDEN if item.value is None else one_line(item.value)
