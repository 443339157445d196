"""Finds known values in bytes, and reports the reference and the encoding of each."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from airflow_config_providers.core.reversal.encodings import ENCODINGS, forms
from airflow_config_providers.core.reversal.reverse import COMMON_WORDS, SHORTEST, ReverseTransformer, find
from airflow_config_providers.core.reversal.search import replace as replaced
from airflow_config_providers.core.reversal.windows import BytesAhoCorasick, Find, Range
from airflow_config_providers.core.text import octets, one_line
from airflow_config_providers.core.variable import ConfigVariable

_PART: Final = "in part"
_BROKEN: Final = "broken over lines"
_COPY: Final = "escaped or coloured"

CURRENT: Final = "current"
EARLIER: Final = "earlier"
UNKNOWN: Final = "unknown"

_SEPARATORS: Final = frozenset(b" \t\r\n\"'/:;,=@&?|()[]{}<>")
"""Bytes that can be beside a value both in a secret that contains it and elsewhere, and reveal nothing."""


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """
    A value that must not be anywhere.

    :param age: ``current``, if the reference has this value now; ``earlier``, if it had it
    """

    variable: ConfigVariable
    value: str = field(repr=False)
    age: str = CURRENT

    @property
    def is_searchable(self) -> bool:
        """Whether the value is long and unusual enough to be searched for."""
        text = self.value.strip()
        return len(text) >= SHORTEST and text.casefold() not in COMMON_WORDS


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """
    A place of a value.

    :param start: the offset of its first byte
    :param end: the offset after its last byte
    :param encoding: how it is written, such as ``base64``
    :param age: as that of a leak
    :param fingerprint: as that of a leak
    """

    start: int
    end: int
    reference: str
    encoding: str
    age: str
    fingerprint: str = ""

    @property
    def is_part(self) -> bool:
        """Whether it is only a part of the value."""
        return self.encoding.endswith(_PART)


def united(*ranked: Iterable[Occurrence]) -> Iterator[Occurrence]:
    """
    Yield the occurrences of all ``ranked``, in order; those that overlap are one, from the first byte to the last.

    It is named as the longest of those that ``ranked`` has first.
    """
    found = sorted((one.start, one.end, rank, one) for rank, some in enumerate(ranked) for one in some)
    if not found:
        return
    first, last, rank, name = found[0]
    for start, end, other_rank, other in found:
        if start >= last:
            yield replace(name, start=first, end=last)
            first, last, rank, name = start, end, other_rank, other
        elif (other_rank, start - end) < (rank, name.start - name.end):
            rank, name = other_rank, other
        last = max(last, end)
    yield replace(name, start=first, end=last)


def referring(data: bytes, occurrences: Iterable[Occurrence]) -> bytes:
    """Return ``data`` with references in place of ``occurrences``."""
    return replaced(data, [(one.start, one.end, octets(one.reference)) for one in occurrences])


def without_values(text: str, find: Callable[[bytes], Iterable[Occurrence]]) -> str:
    """Return a string, such as the name of a folder or a column, with references in place of what ``find`` yields."""
    data = octets(text)
    return referring(data, find(data)).decode("utf-8", "backslashreplace")


class ExceptedValues:
    """
    Finds values that are no secrets, whole, in every encoding.

    A secret can contain such a value, as a JDBC URL contains a user name. Wherever the user name is, it is also a part
    of the URL, but reveals nothing more.

    :param values: long enough that they do not cut up a secret by chance
    """

    def __init__(self, values: Iterable[str]) -> None:
        texts = dict.fromkeys(text for value in values for text in (value, value.strip()))
        self._forms = list(dict.fromkeys(form for text in texts for form in forms(text)))
        self.margin = max(map(len, self._forms), default=0)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def places(self, data: bytes) -> list[Range]:
        """Return where the values are in ``data``, in order; those that touch are one."""
        found: list[Range] = []
        for start, end in sorted((start, end) for _, start, end in self._find(data, True)):
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return found

    @cached_property
    def _find(self) -> Find:
        find: Find = BytesAhoCorasick(self._forms).find_matches_as_indexes
        return find


def covers(places: Sequence[Range], data: bytes, part: Range) -> bool:
    """Return whether all of a part of ``data``, except separators, is in ``places``, which are in order."""
    return not any(_outside(places, data, part))


def _outside(places: Sequence[Range], data: bytes, part: Range) -> Iterator[bool]:
    """Yield whether each byte of ``part`` that is in none of ``places`` is more than a separator."""
    place, end = part
    while place < end:
        index = bisect_right(places, (place, len(data))) - 1
        if index >= 0 and place < places[index][1]:
            place = places[index][1]
        else:
            yield data[place] not in _SEPARATORS
            place += 1


class LeakFinder:
    """
    Finds the values of ``secrets``, in every encoding that the reversal of logs knows.

    The references themselves are not reported, whatever is inside them. Safe to use from several threads.

    :param excepted: values that are no secrets. A part of a secret that is in one of them is not reported; a whole
        secret is, because it was not allowed to be shown
    """

    def __init__(self, secrets: Iterable[KnownSecret], excepted: Iterable[KnownSecret] = ()) -> None:
        found = list(secrets)
        self._excepted = ExceptedValues(one.value for one in excepted if one.is_searchable)
        self.reversers = (ReverseTransformer.of_pairs((one.variable, one.value) for one in found),)
        self._of_label: dict[bytes, list[KnownSecret]] = defaultdict(list)
        for one in found:
            self._of_label[octets(one_line(str(one.variable)))].append(one)
        self._described = lru_cache(maxsize=65_536)(self._describe)
        self._encodings = lru_cache(maxsize=1_024)(encodings_of)

    @property
    def margin(self) -> int:
        """The most bytes from the start of an occurrence to its end."""
        return max(self.reversers[0].finder.margin, self._excepted.margin)

    def clues(self, data: bytes) -> Iterator[Range]:
        """Yield the ranges in ``data`` of which each occurrence has one; see ``OccurrenceFinder``."""
        return self.reversers[0].finder.clues(data)

    def find(self, data: bytes) -> Iterator[Occurrence]:
        """Yield the occurrences in ``data``, in order."""
        found = self._find(data)
        return self._without_excepted(found, data) if self._excepted else found

    def _without_excepted(self, found: Iterable[Occurrence], data: bytes) -> Iterator[Occurrence]:
        places: Sequence[Range] | None = None  # few texts have a part of a secret
        for one in found:
            if one.is_part:
                places = self._excepted.places(data) if places is None else places
            if not one.is_part or not covers(places or (), data, (one.start, one.end)):
                yield one

    def _find(self, data: bytes) -> Iterator[Occurrence]:
        for start, end, label in find(data, self.reversers):
            matched = data[start:end]
            if matched != label:
                encoding, age = self._described(label, matched)
                yield Occurrence(start, end, label.decode("utf-8", "replace"), encoding, age)

    def _describe(self, label: bytes, matched: bytes) -> tuple[str, str]:
        secrets = sorted(self._of_label[label], key=lambda one: one.age)
        for is_whole in (True, False):
            for one in secrets:
                if encoding := _encoding(self._encodings(one.value), matched, is_whole=is_whole):
                    return encoding, one.age
        return (_BROKEN if b"\n" in matched else _COPY), secrets[0].age if secrets else CURRENT


def encodings_of(value: str) -> Mapping[bytes, str]:
    """Return each form of a value, and of each of its lines, with the name of its encoding; plain ones come first."""
    texts = dict.fromkeys((value, value.strip(), *map(str.strip, value.splitlines())))
    found: dict[bytes, str] = {}
    for name in ENCODINGS:
        for text in texts:
            for form in forms(text, (name,)):
                found.setdefault(form, name)
    return found


def _encoding(names: Mapping[bytes, str], matched: bytes, *, is_whole: bool) -> str | None:
    """Return the name of the encoding in which ``matched`` is a value, or a part of it; None if there is none."""
    if is_whole:
        return names.get(matched)
    return next((f"{name}, {_PART}" for form, name in names.items() if matched in form), None)


def searchable(secrets: Iterable[KnownSecret]) -> tuple[Sequence[KnownSecret], Sequence[str]]:
    """Return the secrets that can be searched for, and the references of the others."""
    found = list(dict.fromkeys(secrets))
    short = sorted({str(one.variable) for one in found if not one.is_searchable})
    return [one for one in found if one.is_searchable], short
