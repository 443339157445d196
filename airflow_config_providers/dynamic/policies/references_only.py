"""Only references under keys that are sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.patterns import Patterns
from airflow_config_providers.exceptions import PolicyViolation

SENSITIVE_NAMES: Final = (
    "*password*",
    "*passwd*",
    "*passphrase*",
    "*secret*",
    "*token*",
    "*credential*",
    "*access.key*",
    "*accesskey*",
    "*access-key*",
    "*account.key*",
    "*api.key*",
    "*apikey*",
    "*private.key*",
    "*privatekey*",
)


class ReferencesOnly(AlterConfigPolicy):
    """
    Denies a secret that is written out, also one that would be encrypted.

    Parameters: ``keys``, a list of patterns of keys under which only references may stand, in any case; those of
    ``SENSITIVE_NAMES`` where it is not given. ``except``, a list of those under which anything may. A value that the
    definition calls a secret is denied under every other key too.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``keys`` and ``except``."""
        params = Params(configs)
        keys, excluded = params.texts("keys", SENSITIVE_NAMES), params.texts("except", ())
        params.finish()
        self._keys = Patterns(key.lower() for key in keys)
        self._excluded = Patterns(key.lower() for key in excluded)

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each secret that is written out."""
        configs = request.configs_after
        if found := [key for key in sorted(configs) if self._is_refused(key.lower(), configs[key])]:
            raise PolicyViolation(
                *(
                    f"'{printable(key)}' may hold nothing but references. Write one, such as ${{vault:path:key}}."
                    for key in found
                )
            )

    def _is_refused(self, key: str, text: str) -> bool:
        is_bound = text == HIDDEN or (self._keys.matches(key) and not self._excluded.matches(key))
        return is_bound and not _is_references(text)


def _is_references(text: str) -> bool:
    """Tell whether there is a reference and nothing beside references."""
    spans = scan(text)
    return bool(spans) and sum(end - start for start, end, *_ in spans) == len(text)
