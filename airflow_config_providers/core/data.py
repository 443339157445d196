"""The answer of a provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConfigData:
    """
    The answer of a provider for one path (KIP-297).

    :param data: key -> value; a key that the provider does not have is left out
    :param ttl: milliseconds for which the values are valid, counted from the answer; None if unknown
    :param absence: sentences that explain why there is nothing at the path, without values; empty if there is something
        or the provider does not know
    :param denials: key -> sentences that explain why the provider refuses to return it, whether or not it exists; the
        key is not in ``data``, as with Kafka's providers, and a task fails as with any other refusal
    """

    data: Mapping[str, str] = field(repr=False)
    ttl: int | None = None
    absence: str = field(default="", compare=False)
    denials: Mapping[str, str] = field(default_factory=dict, compare=False)
