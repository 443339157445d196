"""The hash by which values are compared."""

from __future__ import annotations

from collections.abc import Mapping
from os import urandom

from airflow_config_providers.core.text import octets


class ContentHash:
    """
    Hashes values with a secret key, so that equal contents can be recognized and nothing else be learned.

    Each object makes its own key, so hashes can be compared only with those of the same object, in this process.
    """

    __slots__ = ("_key",)

    def __init__(self) -> None:
        self._key = urandom(32)

    def of(self, configs: Mapping[str, str]) -> bytes:
        """Return the hash of ``configs``, in any order; a key without a value differs from one with an empty value."""
        from hashlib import blake2b  # noqa: PLC0415 - slow to import, and few processes compare contents

        digest = blake2b(key=self._key, digest_size=16)
        for name in sorted(configs):
            for part in (octets(name), octets(configs[name])):
                digest.update(len(part).to_bytes(8) + part)
        return digest.digest()
