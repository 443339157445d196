"""A settled configuration as lines for people to read."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.text import one_line


def texts(layered: LayeredConfig) -> dict[str, str]:
    """Return key -> string for each key that a layer sets, with ``[hidden]`` for a plaintext secret."""
    shown = {key: layered.describe(key).value for key in layered.settled}
    return {key: HIDDEN if text is None else text for key, text in shown.items()}


def lines(layered: LayeredConfig) -> list[str]:
    """
    Return ``key = text   # LAYER, origin; beats LAYER origin = text`` for each key that a layer sets, sorted.

    References are shown, never their values; a plaintext secret is hidden. Beaten defaults are left out: Airflow
    truncates long fields, and every key in the definition has a default.
    """
    return [_line(layered.describe(key)) for key in sorted(layered.settled)]


def shortened(lines: Sequence[str], *, characters: int, rest: str) -> list[str]:
    """
    Return as many of ``lines`` as fit; if some do not fit, the last line says how many more there are.

    :param characters: longest allowed string form of the list
    :param rest: where to find the other lines
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
