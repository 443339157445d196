"""What an audit searches files for: values, fingerprints of values, and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Protocol, Self

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.spark.audit.leaks.fingerprint import Fingerprint, FingerprintKey
from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder
from airflow_config_providers.spark.audit.leaks.leak_finder import (
    EARLIER,
    UNKNOWN,
    KnownSecret,
    LeakFinder,
    Occurrence,
    united,
)
from airflow_config_providers.spark.audit.leaks.token_finder import TokenFinder


class OccurrenceFinder(Protocol):
    """Finds something in bytes."""

    @property
    def margin(self) -> int:
        """The most bytes from the start of an occurrence to its end, with what must be seen around it."""

    def find(self, data: bytes) -> Iterator[Occurrence]:
        """Yield the occurrences in ``data``, in order."""

    def clues(self, data: bytes) -> Iterator[tuple[int, int]]:
        """
        Yield ranges in ``data``, which can be many texts in a row; a text has no occurrence if none is inside it.

        It depends on no byte outside a range whether that is one. This is much faster than to search each text.
        """


@dataclass(frozen=True, slots=True)
class Sought:
    """
    What an audit searches for.

    :param secrets: values
    :param fingerprints: fingerprints of further values
    :param key: the key of fingerprints, also of what is found; None if the deployment has none
    :param tokens: whether tokens of well-known formats are found, too
    :param excepted: patterns of references, as for ``is_like``, whose fingerprints are not searched for
    :param spare: fingerprints that are not searched for, but that later audits can need: those of excepted references,
        and those of values that are sought for another reference already
    :param no_secrets: the values of excepted references, as far as they are known
    """

    secrets: Sequence[KnownSecret] = field(default=(), repr=False)
    fingerprints: Sequence[Fingerprint] = ()
    key: FingerprintKey | None = None
    tokens: bool = False
    excepted: Sequence[str] = ()
    spare: Sequence[Fingerprint] = field(default=(), repr=False)
    no_secrets: Sequence[KnownSecret] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.secrets or self.fingerprints or self.tokens)

    def own_fingerprints(self) -> list[Fingerprint]:
        """Return the fingerprints of ``secrets``; none without a key."""
        return list(self.key.of_secrets(self.secrets)) if self.key else []

    def all_fingerprints(self) -> list[Fingerprint]:
        """Return all that is known of values, also what is not searched for."""
        return [*self.own_fingerprints(), *self.fingerprints, *self.spare]

    def with_fingerprints(self, some: Iterable[Fingerprint]) -> Self:
        """Add fingerprints: to ``spare`` if their reference is excepted, or their value is sought already."""
        found = [*self.own_fingerprints(), *self.fingerprints]
        sought = {one.digest for one in found}
        known = {(one.reference, one.digest) for one in (*found, *self.spare)}
        fresh = {(one.reference, one.digest): one for one in some if (one.reference, one.digest) not in known}
        resolved = {str(one.variable) for one in self.secrets}
        added, spare = list(self.fingerprints), list(self.spare)
        for one in fresh.values():
            if self.excepts(one.reference) or one.digest in sought:
                spare.append(one)
            else:
                sought.add(one.digest)
                added.append(one.of_age(EARLIER if one.reference in resolved else UNKNOWN))
        return replace(self, fingerprints=tuple(added), spare=tuple(spare))

    def excepts(self, reference: str) -> bool:
        """Return whether a pattern of ``excepted`` matches ``reference``."""
        return any(is_like(reference, pattern) for pattern in self.excepted)

    def finder(self) -> SoughtFinder:
        """
        Return a finder for all of it.

        :raises ConfigException: fingerprints need numpy, which is not installed
        """
        return SoughtFinder(self)


class SoughtFinder:
    """Finds all that is ``sought``. A place is reported once, and as a token only if nothing else is found there."""

    def __init__(self, sought: Sought) -> None:
        self._values = LeakFinder(sought.secrets, sought.no_secrets) if sought.secrets else None
        self._tokens = TokenFinder() if sought.tokens else None
        self._key = key = sought.key
        self._prints = FingerprintFinder(sought.fingerprints, key) if sought.fingerprints and key else None
        self._excepts = bool(sought.no_secrets)
        self._all = tuple(one for one in (self._values, self._prints, self._tokens) if one)

    @property
    def reversers(self) -> Sequence[ReverseTransformer]:
        """What replaces all that is found, if only values are sought and none is excepted; otherwise nothing."""
        return self._values.reversers if self._values and len(self._all) == 1 and not self._excepts else ()

    @cached_property
    def margin(self) -> int:
        """The most bytes from the start of an occurrence to its end, with what must be seen around it."""
        return max(one.margin for one in self._all)

    def clues(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges in ``data`` of which each occurrence has one; see ``OccurrenceFinder``."""
        return chain.from_iterable(one.clues(data) for one in self._all)

    def find(self, data: bytes) -> Iterator[Occurrence]:
        """Yield the occurrences in ``data``, in order; those that overlap are one."""
        values, prints, tokens = (one.find(data) if one else () for one in (self._values, self._prints, self._tokens))
        found, key = united(chain(values, prints), tokens), self._key
        if key is None:
            return found
        return (replace(one, fingerprint=key.of_found(data[one.start : one.end])) for one in found)
