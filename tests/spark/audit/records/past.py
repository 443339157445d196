"""Records of past tries in files, as tasks leave them, for audits to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.job.records.files import RecordFiles, place_of
from airflow_config_providers.job.records.record import TaskTry, TryRecord, recorded, references_of
from airflow_config_providers.job.records.table import rows_of
from airflow_config_providers.spark.audit.records.past_records import PastRecords, RecordFilter, RecordReader, latest
from airflow_config_providers.spark.audit.records.record_tables import SCHEMA, Content
from airflow_config_providers.spark.catalogue import spark_definition

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",  # planning each stage anew takes longer than a few rows do
    "spark.sql.ui.explainMode": "simple",  # Spark describes each plan for pages that nobody sees
    "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than a few rows do
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.maxPlanStringLength": "100",
    "spark.sql.maxMetadataStringLength": "10",
    "spark.sql.debug.maxToStringFields": "2",
    "spark.driver.host": "127.0.0.1",
}
"""What makes Spark quick with a few rows."""

DAG_LAYER = ConfigSource.DAG_CONFIG


@dataclass(frozen=True)
class Past:
    """``past({"spark.a": "1"}, run="r1", day=2)`` writes the record of a try into a file below ``folder``."""

    folder: Path

    def __call__(self, conf: Mapping[str, str] | Sequence[ConfigLayer], **fields: Any) -> TryRecord:
        layers = [ConfigLayer(DAG_LAYER, "conf", conf)] if isinstance(conf, Mapping) else list(conf)
        record = record_of(layers, **fields)
        RecordFiles(str(self.folder)).write(record)
        return record

    def text(self, content: bytes | str, name: str = "odd", day: int = 1) -> Path:
        """Write a file with any content to where records are."""
        path = self.folder / f"day=2026-11-{day:02}" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def path_of(self, record: TryRecord) -> Path:
        return self.folder / f"day={record.at[:10]}" / place_of(record.task)


def record_of(layers: Sequence[ConfigLayer], **fields: Any) -> TryRecord:
    """Return a record of the task ``report`` of the DAG ``flights``, made on a day of November."""
    layered = LayeredConfig(layers, spark_definition())
    names = {"dag": "flights", "task": "report", "run": "r1", "map_index": -1, "number": 1}
    of = TaskTry(*(fields.pop(name, default) for name, default in names.items()))
    at = f"2026-11-{fields.pop('day', 1):02}T{fields.pop('hour', 12):02}:00:00.000+00:00"
    references = {**references_of(layered), **fields.pop("references", {})}
    return TryRecord(of, fields.pop("at", at), recorded(layered), references, **fields)


def read(session: Any, past: Past, parquet: object = "", **wanted: str) -> PastRecords:
    return RecordReader(session, rows_of, str(parquet)).of_files(str(past.folder), RecordFilter(**wanted))


def frame(session: Any, past: Past) -> Any:
    """Return what ``read(session, past).frame`` has. It starts no job, for tests of what is done with records."""
    files = [(path, path.stat()) for path in sorted(past.folder.rglob("*.jsonl"))]
    contents = [Content(str(path), of.st_mtime_ns // 1000, of.st_size, path.read_bytes()) for path, of in files]
    return latest(RecordFilter().records(session.createDataFrame(list(rows_of(contents)), SCHEMA)))


def tries(records: PastRecords) -> list[tuple[str, str, str, int]]:
    """Return (DAG, task, run, try) of all records, in order."""
    return sorted(tuple(row) for row in records.frame.select("dag", "task", "run", "try_number").collect())
