"""What was found where."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ahocorasick_rs import BytesAhoCorasick

from dags_examples.demo.search import Search
from tests.leaks.canaries import Canary, Column, Slot
from tests.leaks.deployed.spellings import IN_PART, parts, searched
from tests.leaks.sinks import Sink

PLACES_KEPT = 5


@dataclass(frozen=True, slots=True)
class Leak:
    """A secret of a slot in one form in a sink."""

    sink: Sink
    column: Column
    slot: Slot
    spelling: str


class Finder:
    """Finds every form of every canary at once."""

    def __init__(self, canaries: Collection[Canary]) -> None:
        forms: dict[bytes, tuple[Canary, str]] = {}
        for canary in canaries:
            for value in dict.fromkeys((canary.value, *canary.value.splitlines())):
                for name, octets in searched(value):
                    forms.setdefault(octets, (canary, name))
            for part in parts(canary.value):
                forms.setdefault(part, (canary, IN_PART))
        self._names = list(forms.values())
        self._automaton = BytesAhoCorasick(list(forms))

    def find(self, content: bytes) -> set[tuple[Canary, str]]:
        """Return canaries and forms; a part is reported only if it does not belong to a whole one."""
        found: set[tuple[Canary, str]] = set()
        whole: dict[Canary, list[tuple[int, int]]] = defaultdict(list)
        pieces: list[tuple[Canary, int, int]] = []
        for index, start, end in self._automaton.find_matches_as_indexes(content, overlapping=True):
            canary, name = self._names[index]
            if name == IN_PART:
                pieces.append((canary, start, end))
            else:
                whole[canary].append((start, end))
                found.add((canary, name))
        for canary, start, end in pieces:
            if not any(first <= start and end <= last for first, last in whole[canary]):
                found.add((canary, IN_PART))
        return found


@dataclass(slots=True)
class Matrix:
    """Collects what is found, and how much was searched."""

    canaries: Collection[Canary]
    searched: Counter[Sink] = field(default_factory=Counter)
    found: dict[Leak, list[str]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    _finder: Finder | None = None
    _seen: set[tuple[Sink, int]] = field(default_factory=set)

    def search(self, sink: Sink) -> SinkSearch:
        """Return a search whose findings belong to ``sink``."""
        return SinkSearch(self, sink)

    def look(self, sink: Sink, place: str, content: bytes | str) -> None:
        """Search some content, and what is packed in it."""
        self.search(sink).content(place, content if isinstance(content, bytes) else content.encode())

    def look_at_once(self, sink: Sink, place: str, content: bytes) -> None:
        """Search content, unless the same was searched for the sink before."""
        seen = (sink, hash(content))
        if seen in self._seen:
            return
        self._seen.add(seen)
        self.searched[sink] += len(content)
        if self._finder is None:
            self._finder = Finder(self.canaries)
        for text in _texts(content):
            for canary, spelling in self._finder.find(text):
                places = self.found.setdefault(Leak(sink, canary.column, canary.slot, spelling), [])
                if place not in places and len(places) < PLACES_KEPT:
                    places.append(place)


class SinkSearch(Search):
    """Walks through files, tables and archives as the demo's search does, for one sink of a matrix."""

    def __init__(self, matrix: Matrix, sink: Sink) -> None:
        super().__init__([], unread=matrix.unread)
        self._matrix = matrix
        self._sink = sink

    def look_for_secrets(self, place: str, content: bytes) -> None:
        """Search one content."""
        self._matrix.look_at_once(self._sink, place, content)


def _texts(content: bytes) -> Iterator[bytes]:
    """Return ``content`` with the strings in each line of JSON, such as in a task log, decoded."""
    plain: list[bytes] = []
    opened: list[str] = []
    for line in content.split(b"\n") if content[:1] in b"{[" else [content]:
        texts = _strings_of_json(line)
        if texts is None:
            plain.append(line)
        else:
            opened += texts
    yield b"\n".join(plain)
    for text in opened:
        yield from _texts(text.encode("utf-8", "surrogatepass"))


def _strings_of_json(line: bytes) -> list[str] | None:
    if line.strip()[:1] not in {b"{", b"["}:
        return None
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return list(_strings(document))


def _strings(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _strings(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _strings(value)
