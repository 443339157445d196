"""The answer of a provider, and the hash by which answers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import urandom

from airflow_config_providers.core.text import octets


@dataclass(frozen=True, slots=True)
class ConfigData:
    """
    The answer of a provider for one path (KIP-297).

    :param data: key -> value; a key that the provider does not have is left out
    :param ttl: milliseconds for which the values are valid, counted from the answer; None if unknown
    :param absence: sentences that explain why there is nothing at the path, or why a key is missing, without values;
        empty if nothing is missing or the provider does not know
    :param denials: key -> sentences that explain why the provider refuses to return it, whether or not it exists; the
        key is not in ``data``, as with Kafka's providers, and a task fails as with any other refusal
    """

    data: Mapping[str, str] = field(repr=False)
    ttl: int | None = None
    absence: str = field(default="", compare=False)
    denials: Mapping[str, str] = field(default_factory=dict, compare=False)


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
