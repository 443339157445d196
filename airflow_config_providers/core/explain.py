"""A settled configuration as lines that people read."""

from __future__ import annotations

from collections.abc import Sequence

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


def shortened(lines: Sequence[str], *, characters: int, rest: str) -> list[str]:
    """
    Give as many of ``lines`` as fit, and where some do not, one that says how many more there are.

    :param characters: how long the text form of the list may be
    :param rest: where the others are
    """
    if len(str(lines)) <= characters:
        return list(lines)
    kept: list[str] = []
    room = characters - len(repr(_more(len(lines), rest))) - 2
    for line in lines:
        room -= len(repr(line)) + 2
        if room < 0:
            break
        kept.append(line)
    return [*kept, _more(len(lines) - len(kept), rest)]


def _more(count: int, rest: str) -> str:
    return f"... and {count} more: {rest}"


def _line(entry: ConfigEntry) -> str:
    losers = (synonym for synonym in entry.synonyms[1:] if synonym.source is not ConfigSource.DEFAULT_CONFIG)
    beaten = "".join(f"; beats {s.source.name} {one_line(s.origin)} = {_shown(s)}" for s in losers)
    return f"{one_line(entry.name)} = {_shown(entry)}   # {entry.source.name}, {one_line(entry.origin)}{beaten}"


def _shown(item: ConfigEntry | ConfigSynonym) -> str:
    return HIDDEN if item.value is None else one_line(item.value)
