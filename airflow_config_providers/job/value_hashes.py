"""Keyed hashes of the values of a job, by which records of its runs are compared."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import octets
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException

_PURPOSE: Final = ("airflow_config_providers", "hashes of values in records")

_OCTETS: Final = 16

_NO_KEY: Final = (
    "There are no hashes of values, because [config_providers] password_encoder_secret was not set where the task ran. "
    "A later change of a value is therefore not seen."
)


def deployment_key(secret: str, *purpose: str) -> bytes:
    """
    Return a key of 32 bytes for one purpose.

    :param secret: ``password_encoder_secret``
    :raises ConfigException: the secret could be guessed
    """
    settings.require_strong(secret)
    return keyed_digest(octets(secret), *purpose)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ValueHashes:
    """
    Hashes values with a key that is derived from ``password_encoder_secret``.

    The hash includes the reference, so it does not reveal that two references have the same value.

    :param reason: why there are no hashes; empty if there are
    """

    reason: str = ""
    _key: bytes = field(default=b"", repr=False)

    @classmethod
    def of_deployment(cls) -> Self:
        """Return the hashes of this deployment. A secret that could be guessed would reveal values, so it has none."""
        if not (secret := settings.password_encoder_secret()):
            return cls(_NO_KEY)
        try:
            return cls(_key=deployment_key(secret, *_PURPOSE))
        except ConfigException as error:
            return cls(f"There are no hashes of values. {' '.join(error.problems)}")

    @property
    def key_id(self) -> str:
        """A name of the key: only hashes of the same key can be compared. Empty if there are no hashes."""
        return keyed_digest(self._key, "name of the key").hex()[:16] if self._key else ""

    def of(self, reverser: ReverseTransformer, unversioned: Callable[[str], str] = str) -> Mapping[str, str | None]:
        """
        Return reference -> hash of its current value, for the values that ``reverser`` knows.

        :param unversioned: returns a path as it is in each version of the DAG bundle, in which the hash is the same
        """
        known = sorted(reverser.current.items())
        return {str(one): self._hash(one, unversioned(one.path), value) for one, value in known}

    def _hash(self, variable: ConfigVariable, path: str, value: str) -> str | None:
        if not self._key:
            return None
        return keyed_digest(self._key, variable.provider, path, variable.key, value)[:_OCTETS].hex()


def keyed_digest(key: bytes, *parts: str) -> bytes:
    """Return 32 bytes that depend on ``key`` and on all of ``parts``, also on where one ends (HMAC with SHA-256)."""
    return hmac.digest(key, json.dumps(parts).encode(), "sha256")
