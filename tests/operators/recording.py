"""A policy that writes down what it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata


class RecordingPolicy(AlterConfigPolicy):
    """Its parameter ``file`` is where it writes to, a line for each request; allows everything."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._file = Path(configs["file"])

    def validate(self, request: RequestMetadata) -> None:
        shown = {
            "resource": str(request.resource),
            "before": dict(request.configs_before),
            "after": dict(request.configs_after),
            "at": request.at.value,
            "hidden_changes": sorted(request.hidden_changes),
            "texts": dict(request.texts),
        }
        with self._file.open("a") as file:
            file.write(json.dumps(shown) + "\n")

    def close(self) -> None:
        with self._file.open("a") as file:
            file.write('"closed"\n')
