"""A policy on keys that must not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.driver_options import all_settings, unreadable
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns
from airflow_config_providers.dynamic.policies.substitution import changed_through
from airflow_config_providers.exceptions import PolicyViolation


class ImmutableKeys(AlterConfigPolicy):
    """
    Denies setting, changing or deleting one of ``keys``.

    A key also changes if its value includes that of another key, such as ``${spark.app.x}``, which changes.

    When a task is rendered, its configuration without dynamic layers and run configuration is the state before the
    change. So these layers cannot change the keys, no matter when they were written.

    Parameters: ``keys``, a list of keys or patterns; ``except``, a list of those that may change anyway;
    ``deletable``, whether a key may be deleted, which restores the value of lower layers; default false.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``keys``, ``except`` and ``deletable``."""
        params = Params(configs)
        self._keys = Patterns(params.texts("keys"), excluded=params.texts("except", ()))
        self._deletable = params.flag("deletable")
        params.finish()

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each change of such a key."""
        before, after = set(all_settings(request.configs_before)), set(all_settings(request.configs_after))
        changed = self._keys.matching({*request.changed, *(key for key, _ in before ^ after)})
        present = {key for key, _ in after}
        refused = [key for key in changed if not self._deletable or key in present]
        problems = [f"'{printable(key)}' must stay as it is. Remove it." for key in refused]
        if problems := [*problems, *self._changed_through(request), *_changed_options(request)]:
            raise PolicyViolation(*problems)

    def _changed_through(self, request: RequestMetadata) -> Iterator[str]:
        """Yield the problems with keys that change because a part of their value changes."""
        origins = changed_through(request.changed, request.configs_after)
        for key in self._keys.matching(origins):
            yield (
                f"'{printable(key)}' must stay as it is, and '{printable(origins[key])}' is a part of its value. "
                f"Remove '{printable(origins[key])}'."
            )


def _changed_options(request: RequestMetadata) -> Iterator[str]:
    """Yield the problems with changed options that could now set any key."""
    for options, problem in unreadable(request.configs_after).items():
        if options in request.changed:
            yield problem
