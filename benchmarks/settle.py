"""Settles layers, and explains a key."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator

import omegaconf

from airflow_config_providers.core import ConfigLayer, ConfigSource, LayeredConfig
from benchmarks.measure import Aim, Effort, Report, Work, compared
from benchmarks.ratios import Watched, cpu

OURS = "ours: every winner, provenance kept"
FLOOR = "union of dicts, no provenance"


def layers(count: int, keys: int) -> list[dict[str, str]]:
    """Return mappings with the same keys, which is the worst case for provenance."""
    return [{f"spark.app.key{k}": f"layer {n} key {k}" for k in range(keys)} for n in range(count)]


def union(maps: list[dict[str, str]]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for each in maps:
        merged |= each
    return merged


def config_layers(maps: list[dict[str, str]]) -> list[ConfigLayer]:
    return [ConfigLayer(source, source.name, each) for source, each in zip(reversed(ConfigSource), maps, strict=True)]


def watched() -> Iterator[Watched]:
    maps = layers(8, 1000)
    ours = config_layers(maps)
    yield Watched(
        "settle 8 layers of 1,000 keys, against a union of dicts",
        cpu(lambda: LayeredConfig(ours).settled, times=10),
        cpu(lambda: union(maps), times=10),
        aim=1.2,
    )
    key = "spark.app.key7"
    lookups = cpu(lambda: [each[key] for each in maps], times=5000)
    yield Watched(
        "find where the value of one key of 8 layers was written, against 8 lookups",
        cpu(lambda: LayeredConfig(ours).origin(key), times=500),  # a new one each time, as a task has
        lookups,
        aim=5,
    )
    yield Watched(
        "explain one key of 8 layers, against 8 lookups",
        cpu(lambda: LayeredConfig(ours).describe(key), times=500),  # as above: it explains each key once
        lookups,
        aim=5,
    )


def run(effort: Effort) -> list[Report]:
    maps = layers(8, 1000)
    ours = config_layers(maps)
    omegas = [omegaconf.OmegaConf.create(each) for each in maps]
    peers: dict[str, Work] = {
        OURS: lambda: LayeredConfig(ours).settled,
        "ours: every entry with all its synonyms": lambda: list(LayeredConfig(ours).entries().values()),
        FLOOR: lambda: union(maps),
        "ChainMap, copied": lambda: dict(ChainMap(*reversed(maps))),
        "OmegaConf.unsafe_merge": lambda: omegaconf.OmegaConf.unsafe_merge(*omegas),
        "OmegaConf.merge": lambda: omegaconf.OmegaConf.merge(*omegas),
    }
    times = effort.each(peers)
    explain = effort.milliseconds(lambda: LayeredConfig(ours).describe("spark.app.key7"))
    return [
        Report(
            "Settle 8 layers of 1,000 keys",
            "Each key is in all 8 layers. Ours keeps the layers, so that it can show each overridden value later; only "
            "the row with all synonyms creates these lists. Explaining one key takes "
            f"{explain * 1000:.3g} µs.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [
                Aim("explain one key of 8 layers", 5, explain * 1000, "µs"),
            ],
        )
    ]
