"""Describes 1,000 and 10,000 keys, each with the values that it overrides, as JSON."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from dynaconf import Dynaconf
from dynaconf.utils.inspect import get_history

from airflow_config_providers.core import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.deployment import rows
from airflow_config_providers.deployment.record_rows import of_record
from airflow_config_providers.deployment.rows import KeySelection
from airflow_config_providers.job.records.record import TaskTry, TryRecord, recorded
from airflow_config_providers.spark.catalogue import spark_definition
from benchmarks.measure import Aim, Effort, Report, Work, compared

OURS = "describe: what would settle now"
FLOOR = "json.dumps of the same rows"
_SOURCES = (ConfigSource.DAG_CONFIG, ConfigSource.DYNAMIC_TASK_CONFIG, ConfigSource.STATIC_FILE_CONFIG)


def texts(source: ConfigSource, keys: int) -> dict[str, str]:
    return {f"spark.app.key{number}": f"value {number} of {source.name}" for number in range(keys)}


def layered(keys: int) -> LayeredConfig:
    """Return a configuration in which each key is in three layers."""
    return LayeredConfig([ConfigLayer(one, one.name, texts(one, keys)) for one in _SOURCES], spark_definition())


def described(keys: int) -> list[rows.Row]:
    return rows.described(KeySelection().of(layered(keys).entries(defaults=False)))


def history_of(files: list[str]) -> str:
    """Return what dynaconf says of the same settings: what each file has, not which of its values apply."""
    settings = Dynaconf(settings_files=files)
    settings.reload()
    return json.dumps(get_history(settings))


def written(folder: str, keys: int) -> list[str]:
    """Return files for dynaconf with the same layers."""
    files = [Path(folder, f"{source.name}.json") for source in _SOURCES]
    for file, source in zip(files, _SOURCES, strict=True):
        named = {name.upper().replace(".", "_"): text for name, text in texts(source, keys).items()}
        file.write_text(json.dumps(named))
    return list(map(str, files))


def table(keys: int, peers: dict[str, Work], effort: Effort) -> Report:
    record = TryRecord(TaskTry("flights", "report", "run"), "now", recorded(layered(keys)), {})
    now = described(keys)
    ours: dict[str, Work] = {
        OURS: lambda: rows.as_json(described(keys)),
        "describe --run: what a try had": lambda: rows.as_json(of_record(record, KeySelection())),
    }
    times = effort.each({**ours, **peers, FLOOR: lambda: rows.as_json(now)})
    return Report(
        f"Describe {keys:,} keys",
        "Each key is in three layers, and the JSON has all its values. The first row settles the layers, too, and "
        "dynaconf reads them from files. Reading from Airflow's database is not measured here.",
        ("", "ms", "times ours"),
        compared(times, OURS),
        [Aim(f"describe {keys:,} keys, against writing the JSON", 5, times[OURS] / times[FLOOR], "x")],
    )


def run(effort: Effort) -> list[Report]:
    with tempfile.TemporaryDirectory() as folder:
        files = written(folder, 1_000)
        small = table(1_000, {"dynaconf: load, and the history of the settings": lambda: history_of(files)}, effort)
    return [small, table(10_000, {}, effort)]
