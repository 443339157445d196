"""A provider that lends what it answers, and writes down when it does and when it takes it back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from airflow_config_providers.core.provider import ConfigData, ConfigProvider


class LendingConfigProvider(ConfigProvider):
    """Its parameter ``diary`` is the file it writes to; spark-submit's record next to it shows whether that ran."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._diary = Path(configs["diary"])
        self._write("opened")

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        self._write("lent")
        return ConfigData(dict.fromkeys(keys or (), "lent to the job"), ttl=60_000)

    def keep_leases(self, *, is_left: bool) -> None:
        self._write("left to the job" if is_left else "left no more")

    def close(self) -> None:
        has_run = (self._diary.parent / "submissions.jsonl").exists()
        self._write("taken back after the job" if has_run else "taken back without a job")

    def _write(self, event: str) -> None:
        with self._diary.open("a") as diary:
            diary.write(f"{event}\n")
