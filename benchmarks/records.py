"""Makes the record of a try, as a task does before it submits its job."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from airflow_config_providers.core import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.job.records.entries import packed
from airflow_config_providers.job.records.record import TaskTry, TryRecord, recorded, references_of
from airflow_config_providers.job.sealed_values import ValueHashes
from airflow_config_providers.operators.record_keeper import versions, without_values
from airflow_config_providers.spark.catalogue import spark_definition
from benchmarks.measure import Aim, Effort, Report, Work, compared

OURS = "ours: hashes, reversal, masking, compression"
FLOOR = "json and zlib of the same document"

_SECRETS: Final = 20
_SECRET: Final = {
    "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET": "a secret of this benchmark, of no use elsewhere"
}
_TI: Final = SimpleNamespace(dag_id="flights", task_id="report", run_id="run", map_index=-1, try_number=1)


def configuration(keys: int) -> tuple[LayeredConfig, ReverseTransformer]:
    """Return a settled configuration in two layers, shown before, and what replaces the values of its references."""
    names = [ConfigVariable("vault", "apps/db", f"key{n}") for n in range(_SECRETS)]
    texts = {f"spark.app.key{n}": str(names[n]) if n < _SECRETS else f"value {n}" for n in range(keys)}
    sources = (ConfigSource.DAG_CONFIG, ConfigSource.STATIC_FILE_CONFIG)
    layered = LayeredConfig([ConfigLayer(source, source.name, texts) for source in sources], spark_definition())
    layered.lines()
    return layered, ReverseTransformer(texts, {name: f"s3cret-{name.key}-value" for name in names})


def made(layered: LayeredConfig, reverser: ReverseTransformer) -> TryRecord:
    hashes = ValueHashes.of_deployment()
    references: Mapping[str, Any] = {**references_of(layered), **hashes.of(reverser)}
    record = TryRecord(TaskTry.of(_TI), "now", recorded(layered), references, hashes.key_id, versions(_TI, "4.1.0"))
    return without_values(record, reverser)


def table(keys: int, effort: Effort) -> Report:
    layered, reverser = configuration(keys)
    document = made(layered, reverser).document()
    peers: dict[str, Work] = {
        OURS: lambda: packed(made(layered, reverser)),
        FLOOR: lambda: zlib.compress(json.dumps(document).encode()),
    }
    times = effort.each(peers)
    size = sum(len(json.dumps(entry)) for entry in packed(made(layered, reverser)).values())
    return Report(
        f"Make the record of a try with {keys:,} keys",
        f"Two layers have each key, and {_SECRETS} keys have a reference. The entries for Airflow's database have "
        f"{size:,} bytes. Storing them takes a request to Airflow's server, which is not measured here.",
        ("", "ms", "times ours"),
        compared(times, OURS),
        [Aim(f"the record of a try with {keys} keys", 5, times[OURS], "ms")] if keys == 100 else [],
    )


def run(effort: Effort) -> list[Report]:
    with patch.dict(os.environ, _SECRET):
        return [table(keys, effort) for keys in (100, 10_000)]
