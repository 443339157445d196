"""An object that takes part in a change, and cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_config_providers.core.reconfigurable import Reconfigurable


class FailingMember(Reconfigurable):
    """Accepts each configuration of ``key``, and fails when it gets it."""

    def __init__(self, key: str) -> None:
        self._key = key

    def reconfigurable_configs(self) -> Sequence[str]:
        return [self._key]

    def validate_reconfiguration(self, configs: Mapping[str, object]) -> None:
        pass

    def reconfigure(self, configs: Mapping[str, object]) -> None:
        raise OSError
