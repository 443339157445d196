"""The configuration with which a job was submitted, as a later try that follows the job finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.text import one_line
from airflow_config_providers.masker import masked

STATE_KEY: Final = "config_providers_submitted"
"""The key in the task's state store that holds the configuration of its job, with references."""


@dataclass(frozen=True, slots=True)
class SubmittedConfig:
    """
    The configuration with which a job was submitted.

    :param conf: key -> string with references
    :param lines: the ``effective_config`` at that time
    :param sealed: its values, sealed with ``ValueSeal``; None if they are not kept
    :param try_number: the try that submitted it; None if an earlier version of this package did
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    sealed: str | None = None
    try_number: int | None = None

    @classmethod
    def read(cls, state: Any, job: Any) -> Self | None:
        """Return the configuration in ``state``, which others can write; None if it does not belong to ``job``."""
        if not isinstance(state, dict) or state.get("job") != job:
            return None
        conf, lines = state.get("conf"), state.get("lines")
        if not isinstance(conf, dict) or not isinstance(lines, list):
            return None
        shown = {key: str(text) for key, text in conf.items()}
        number = state.get("try")
        by = number if type(number) is int else None
        return cls(shown, [one_line(str(line)) for line in lines], state.get("sealed"), by)

    def state(self, job: Any) -> dict[str, Any]:
        """Return the entry for the task's state store, which Airflow does not mask."""
        conf = {key: masked(text) for key, text in self.conf.items()}
        sealed = {} if self.sealed is None else {"sealed": self.sealed}
        by = {} if self.try_number is None else {"try": self.try_number}
        return {"job": job, "conf": conf, "lines": list(map(masked, self.lines)), **sealed, **by}

    @property
    def layered(self) -> LayeredConfig:
        """The configuration, already settled."""
        return LayeredConfig([ConfigLayer(ConfigSource.DAG_CONFIG, "the job", self.conf)])
