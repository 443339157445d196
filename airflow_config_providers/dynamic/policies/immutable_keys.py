"""Keys that stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns
from airflow_config_providers.exceptions import PolicyViolation


class ImmutableKeys(AlterConfigPolicy):
    """
    Denies that one of ``keys`` is set, changed or deleted.

    When a task is rendered, what it has without dynamic layers and run configuration counts as before: so these
    layers cannot change the keys, whenever they were written.

    Parameters: ``keys``, a list of keys or patterns; ``except``, a list of those that may change all the same;
    ``deletable``, whether a key may be deleted, which gives it back what lower layers have; false.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``keys``, ``except`` and ``deletable``."""
        params = Params(configs)
        self._keys = Patterns(params.texts("keys"), excluded=params.texts("except", ()))
        self._deletable = params.flag("deletable")
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each change of such a key."""
        changed = self._keys.matching(request.changed)
        refused = [key for key in changed if not self._deletable or key in request.configs_after]
        if refused:
            raise PolicyViolation(*(f"'{printable(key)}' must stay as it is. Leave it out." for key in refused))
