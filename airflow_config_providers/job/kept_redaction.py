"""Keeps what Spark hides when dynamic or run configuration sets another pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Final

from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.spark.redaction import DEFAULT_PATTERN, REDACTION_KEY

_OPTIONS: Final = "spark.sql.redaction.options.regex"
_STRINGS: Final = "spark.redaction.string.regex"
_STRINGS_OF_SQL: Final = "spark.sql.redaction.string.regex"

_FORMER: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    REDACTION_KEY: ((REDACTION_KEY,), DEFAULT_PATTERN),
    _OPTIONS: ((_OPTIONS,), "(?i)url"),
    _STRINGS: ((_STRINGS,), ""),
    _STRINGS_OF_SQL: ((_STRINGS_OF_SQL, _STRINGS), ""),
}
"""Key of a pattern -> the keys of which the first that is set has the pattern otherwise, and Spark's default."""


def with_kept_redaction(layers: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    """
    Return ``layers``, in which the patterns of dynamic and run configuration extend those of the others.

    If they replaced them, permission to set a pattern would be permission to read what the DAG, the files and Spark's
    default hide, such as passwords among the options of the JVM and in Hadoop's own files.
    """
    kept: dict[str, str] = {}
    for layer in sorted(layers, key=attrgetter("source")):
        if not layer.source.is_steered:
            kept |= {key: layer.configs[key] for key in _FORMER.keys() & layer.configs.keys()}
    return [_extended(layer, kept) for layer in layers]


def _extended(layer: ConfigLayer, kept: Mapping[str, str]) -> ConfigLayer:
    keys = (_FORMER.keys() & layer.configs.keys()) - layer.secrets.keys()
    if not keys or not layer.source.is_steered:
        return layer
    return replace(layer, configs={**layer.configs, **{key: _joined(key, layer.configs[key], kept) for key in keys}})


def _joined(key: str, pattern: str, kept: Mapping[str, str]) -> str:
    names, default = _FORMER[key]
    former = next((kept[name] for name in names if name in kept), default)
    return f"{former}|{pattern}" if former and former != pattern else pattern
