"""Why a key that a change of dynamic configuration names has the same value in all jobs afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.text import one_line, printable
from airflow_config_providers.planning.plan import PlannedAlter, named
from airflow_config_providers.spark.catalogue import spark_definition

LayersOfTasks = Mapping[ConfigResource, Sequence[ConfigLayer]]
"""Task -> its layers after the change."""


def reasons(altered: PlannedAlter, keys: Iterable[str], tasks: LayersOfTasks) -> Iterator[str]:
    """
    Yield a sentence, without values, for each of ``keys`` and each reason why it stays the same.

    :param keys: keys that the change names, and that change in none of ``tasks``
    """
    layered = {task: LayeredConfig(layers, spark_definition()) for task, layers in tasks.items()}
    for key in sorted(set(keys)):
        shown = f"'{printable(key)}'"
        if key not in altered.keys:
            has = "has this value already" if key in altered.layer.configs else "does not set it"
            yield f"{shown} does not change: {altered.resource} {has}."
        elif not layered:
            yield f"{shown} does not change in any job: this package configures none."
        else:
            for reason, affected in _by_reason(altered, key, layered).items():
                yield f"{shown} does not change in {named(affected)}: {reason}"


def _by_reason(
    altered: PlannedAlter, key: str, layered: Mapping[ConfigResource, LayeredConfig]
) -> dict[str, list[ConfigResource]]:
    found: dict[str, list[ConfigResource]] = {}
    for task, config in layered.items():
        found.setdefault(_reason(altered, key, config), []).append(task)
    return found


def _reason(altered: PlannedAlter, key: str, config: LayeredConfig) -> str:
    synonyms = config.describe(key).synonyms if key in config.entries() else ()
    below = [one for one in synonyms if one.source < altered.layer.source]
    if not synonyms:
        return "it does not get this configuration."
    winner = synonyms[0]
    if winner.source > altered.layer.source or winner.name != key:
        name = "" if winner.name == key else f" under the name '{printable(winner.name)}'"
        return f"{_place(winner)} wins{name}."
    if not below:
        return "it has this value already."
    if None in (winner.value, below[0].value):
        return f"{_place(below[0])} has it too, and the values are hidden, so they were not compared."
    return f"{_place(below[0])} has the same value."


def _place(synonym: ConfigSynonym) -> str:
    return f"{synonym.source.name}, {one_line(synonym.origin)},"
