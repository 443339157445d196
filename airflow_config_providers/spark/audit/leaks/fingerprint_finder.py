"""Finds values by their fingerprints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers.core.entry_points import installed
from airflow_config_providers.core.text import octets, one_line
from airflow_config_providers.spark.audit.leaks.fingerprint import (
    EDGE,
    LONG,
    MIDDLE_BITS,
    WINDOW,
    Fingerprint,
    FingerprintKey,
    place_of_window,
    window_of,
)
from airflow_config_providers.spark.audit.leaks.leak_finder import Occurrence, united

if TYPE_CHECKING:
    from numpy import uint32
    from numpy.typing import NDArray

_CHUNK: Final = 1 << 16
"""How many places are hashed at a time: their numbers fit into a processor's cache."""

_FIRST_BITS: Final = 19
"""Bits of the first of two tables, which fits into a cache, too."""

_REST_BITS: Final = MIDDLE_BITS - _FIRST_BITS

_MOST_DIGESTED: Final = 16
"""The most bytes, for each byte of a text, of which digests of long forms with known edges are made."""

_PERHAPS: Final = "perhaps in part"

_NO_NUMPY: Final = (
    "Fingerprints are searched for with numpy, which is not installed. Install the extra 'audit', as the page "
    "'Install' of the documentation says, also where Spark's executors run."
)


class FingerprintFinder:
    """
    Finds the forms of values of which only ``fingerprints`` are known.

    At each place, a keyed hash of the next bytes says whether they can be the middle of a form; a digest of as many
    bytes as it has confirms that. If a text has the edges and the middle of long forms at so many places that this
    would take too long, the encoding of the other places ends with ``perhaps in part``. What is inside a reference of
    theirs is a part of its name. Safe to use from several threads.

    :raises ConfigException: numpy is not installed
    """

    def __init__(self, fingerprints: Iterable[Fingerprint], key: FingerprintKey) -> None:
        self._references: set[bytes] = set()
        self._around = lru_cache(maxsize=4096)(self._references_around)
        by_window: dict[int, list[Fingerprint]] = defaultdict(list)
        for one in fingerprints:
            by_window[window_of(one.size)].append(one)
            self._references.add(octets(one_line(one.reference)))
        self._middles = [_Middles(some, key, window) for window, some in sorted(by_window.items())]
        self._longest_reference = max(map(len, self._references), default=0)
        self.margin = max((*(one.longest for one in self._middles), self._longest_reference), default=0)

    def clues(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges in ``data`` of which each occurrence has one; see ``OccurrenceFinder``."""
        return (clue for middles in self._middles for clue in middles.clues(data))

    def find(self, data: bytes) -> Iterator[Occurrence]:
        """Yield the occurrences in ``data``, in order; those that overlap are one."""
        found = (one for middles in self._middles for one in middles.find(data))
        return united(one for one in found if not self._is_in_reference(data, one))

    def _is_in_reference(self, data: bytes, one: Occurrence) -> bool:
        if one.end - one.start > self._longest_reference:
            return False
        around = self._around(data[one.start : one.end])
        return any(one.start >= at and data.startswith(reference, one.start - at) for reference, at in around)

    def _references_around(self, form: bytes) -> Sequence[tuple[bytes, int]]:
        """Return the references that have a form in them, and where."""
        return [
            (reference, at)
            for reference in self._references
            if form in reference
            for at in range(len(reference))
            if reference.startswith(form, at)
        ]


_OfEdges = Mapping[str, Fingerprint]
"""The digest of the edges of a long form -> one of the forms that have them."""


@dataclass(slots=True)
class _DigestedText:
    """
    A text that is searched, and what is left for digests of it.

    :param left: of how many more bytes digests of long forms with known edges are made, so that the time for a text
        that repeats such edges grows with its size, and not faster
    """

    data: bytes
    left: int

    @classmethod
    def of(cls, data: bytes) -> Self:
        return cls(data, _MOST_DIGESTED * len(data))

    def affords(self, size: int) -> bool:
        """Return whether a digest of ``size`` bytes is made."""
        self.left -= size
        return self.left >= 0


class _Middles:
    """The fingerprints of forms of which ``window`` bytes in the middle decide."""

    def __init__(self, fingerprints: Sequence[Fingerprint], key: FingerprintKey, window: int) -> None:
        np = _numpy()
        self._window = window
        self._key = key
        self._digest = lru_cache(maxsize=4096)(key.digest)  # a hostile text can have the same bytes at every place
        self._shift = np.uint64(64 - MIDDLE_BITS)
        self._factor, self._summand = (np.uint64(number) for number in key.multipliers(window))
        # hash -> size -> edges -> one of those that have them
        self._sizes: dict[int, dict[int, dict[str, Fingerprint]]] = defaultdict(lambda: defaultdict(dict))
        self._of_digest: dict[str, Fingerprint] = {}
        for one in sorted(fingerprints, reverse=True):  # of several with the same form, the first wins
            self._of_digest[one.digest] = one
            edges = key.sealed_edges(one.edges, one.digest)
            self._sizes[key.sealed(one.middle, one.digest)][one.size][edges] = one
        self.longest = max((one.size for one in fingerprints), default=0)
        known = np.array(sorted(self._sizes), dtype=np.uint32)
        self._is_known = np.zeros(1 << MIDDLE_BITS, dtype=np.bool_)
        self._is_known[known] = True
        self._is_possible = np.zeros(1 << _FIRST_BITS, dtype=np.bool_)
        self._is_possible[known >> _REST_BITS] = True

    def clues(self, data: bytes) -> Iterator[tuple[int, int]]:
        return ((middle, middle + self._window) for middle, _ in self._candidates(data))

    def find(self, data: bytes) -> Iterator[Occurrence]:
        text = _DigestedText.of(data)
        for middle, hashed in self._candidates(data):
            for size, edges in self._sizes[hashed].items():
                place = middle - place_of_window(size)
                if known := self._known(text, place, size, edges):
                    reference = one_line(known.reference)  # its file can come from others
                    yield Occurrence(place, place + size, reference, one_line(known.encoding), known.age)

    def _known(self, text: _DigestedText, place: int, size: int, edges: _OfEdges) -> Fingerprint | None:
        data, end = text.data, place + size
        if place < 0 or end > len(data):
            return None
        if size <= LONG:
            return self._of_digest.get(self._digest(data[place:end]))
        if "" not in edges:  # which older fingerprints have
            likely = edges.get(self._key.of_edges(data[place : place + EDGE] + data[end - EDGE : end]))
            if likely is None:
                return None
            if not text.affords(size):
                return replace(likely, encoding=f"{likely.encoding}, {_PERHAPS}")
        return self._of_digest.get(self._key.digest(data[place:end]))

    def _candidates(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the places at which the middle of a form can begin, with the hash there."""
        np = _numpy()
        padded = data + bytes(WINDOW)  # so that a number can be read at the last places, too
        for first in range(0, len(data) - self._window + 1, _CHUNK):
            count = min(_CHUNK, len(data) - self._window + 1 - first)
            hashes = self._hashes(padded[first : first + count + WINDOW], count)
            places = np.flatnonzero(self._is_possible[hashes >> _REST_BITS])
            places = places[self._is_known[hashes[places]]]
            for place in places.tolist():
                yield first + place, int(hashes[place])

    def _hashes(self, data: bytes, count: int) -> NDArray[uint32]:
        """Return the hash of the window at each of the first ``count`` places."""
        np = _numpy()
        numbers = np.ndarray(count, "<u8", buffer=data, strides=(1,))
        if self._window < WINDOW:
            numbers = numbers & np.uint64((1 << 8 * self._window) - 1)
        found: NDArray[uint32] = (numbers * self._factor + self._summand >> self._shift).astype(np.uint32)
        return found


def _numpy() -> Any:
    return installed("numpy", _NO_NUMPY)
