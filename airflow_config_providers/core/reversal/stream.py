"""Reversal of texts that arrive in pieces, in constant memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from airflow_config_providers.core.reversal.patterns import Match
from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer, find
from airflow_config_providers.core.reversal.search import LONGEST_OPEN, replace
from airflow_config_providers.core.text import character, octets

LONGEST_LINE: Final = 64 * 1024
"""Bytes of a line after which its beginning is shown without waiting for its end; also limits held-back lines."""

_LONG: Final = 4096
"""Bytes of so many lines that something in them usually looks like the beginning of a value."""

_LONGEST_CHAIN: Final = 1024
"""Bytes of lines that are held back because matches overlap from line to line, as those of ``000000`` do in zeros."""

_REACH: Final = 256
"""Bytes before a line in which a value that it continues can begin: too few characters to hold back, and spaces."""

_FARTHEST: Final = 2 * LONGEST_OPEN
"""The same for a value that is too long to hold back. Most lines of a longer one are shown before its last arrives."""


class StreamReverser:
    """
    Reverses a text that arrives in pieces of whole lines.

    A line that ends with the beginning of a value is held back until the next line shows whether it was one, so that a
    value broken over lines is hidden. If the first line has fewer than 5 characters of the value, they are shown.
    Holds ``LONGEST_LINE`` bytes at most, plus the longest value. Not safe to use from several threads at once.
    """

    __slots__ = ("_before", "_kept", "_split")

    def __init__(self) -> None:
        self._before = b""
        self._kept = b""
        self._split: tuple[int, bytes] = (0, b"")

    @property
    def lines_held_back(self) -> int:
        """How many lines were received but not returned yet."""
        return self._kept.count(b"\n")

    def feed(self, data: bytes, reversers: Sequence[ReverseTransformer]) -> bytes:
        """Receive whole lines, or a part of a very long one; return what can be shown now."""
        try:
            if self._kept or len(data) > _LONG or not data.endswith(b"\n"):
                return self._searched(data, reversers)
            for each in reversers:
                if not each.finder.is_clear(data):
                    return self._searched(data, reversers)
            self._before = data
            return data
        except Exception:  # noqa: BLE001 - fail closed
            return self._unchecked(data)

    def flush(self, reversers: Sequence[ReverseTransformer]) -> bytes:
        """Return what was held back."""
        if not self._kept:
            return b""
        try:
            return self._advance(b"", reversers, is_last=True)
        except Exception:  # noqa: BLE001 - fail closed
            return self._unchecked(b"")

    def _searched(self, data: bytes, reversers: Sequence[ReverseTransformer]) -> bytes:
        if self._kept and self._waits(data, reversers):
            self._kept += data
            return b""
        return self._advance(data, reversers, is_last=False)

    def _waits(self, data: bytes, reversers: Sequence[ReverseTransformer]) -> bool:
        """Return whether ``data`` is held back, too: successive lines that can begin a value are searched as one."""
        is_short = len(self._kept) + len(data) < min(LONGEST_OPEN, _reach(reversers))
        if not (is_short and data.endswith(b"\n")):
            return False
        return _open_end(data, reversers) < len(data) or _continues(self._before, self._kept + data, reversers)

    def _advance(self, data: bytes, reversers: Sequence[ReverseTransformer], *, is_last: bool) -> bytes:
        reach = _reach(reversers)
        before = self._before[-reach:] if reach else b""
        block = before + self._kept + data
        begin = len(before)
        rest, label = self._split
        matches = [*find(block, reversers), *([(begin, begin + rest, label)] if rest else ())]
        cut = len(block) if is_last else max(begin, _cut(block, matches, reversers, begin))
        cut_off = ((last - cut, label) for first, last, label in matches if first < cut < last)
        self._split = max(cut_off, default=(0, b""))  # the next search does not see where these matches begin
        inside = [
            (max(begin, first), min(cut, last), label) for first, last, label in matches if last > begin and first < cut
        ]
        is_same = not (inside or self._kept) and cut == len(block)
        self._before, self._kept = block[:cut], block[cut:]
        return data if is_same else replace(self._before, [(0, begin, b""), *inside])

    def _unchecked(self, data: bytes) -> bytes:
        self._before = self._kept = b""
        self._split = (0, b"")
        return UNCHECKED.encode() + (b"\n" if data.endswith(b"\n") else b"")


def _cut(block: bytes, matches: Sequence[Match], reversers: Sequence[ReverseTransformer], begin: int) -> int:
    """
    Return the end of what can be shown: of the last line before a possible beginning of a value.

    :param begin: the end of what was already shown; no value is open there
    """
    if not block.endswith(b"\n"):
        return _cut_in_line(block, matches, character(block, len(block) - _margin(reversers)))
    lines = block[begin:]
    if _continues(block[:begin], lines, reversers):
        return begin
    end = begin + _open_end(lines, reversers)
    if end == len(block):
        return end
    line = cut = block.rfind(b"\n", 0, end) + 1
    for first, last, _ in sorted(matches, reverse=True):
        if first < cut < last:
            cut = block.rfind(b"\n", 0, first) + 1
    longest = max(_LONGEST_CHAIN, _margin(reversers))
    if line - cut > longest and len(block) - line <= longest:
        return line  # within overlapping matches: each line would have all of them searched again
    return cut if len(block) - cut <= LONGEST_LINE else len(block)


def _margin(reversers: Sequence[ReverseTransformer]) -> int:
    return max((each.finder.margin for each in reversers), default=0)


def _reach(reversers: Sequence[ReverseTransformer]) -> int:
    """Return how many shown bytes are searched with a line: more for a value that is too long to hold back."""
    margin = _margin(reversers)
    return min(margin, _FARTHEST if margin > LONGEST_OPEN else _REACH)


def _open_end(data: bytes, reversers: Sequence[ReverseTransformer]) -> int:
    return min((each.finder.open_end(data) for each in reversers), default=len(data))


def _continues(shown: bytes, lines: bytes, reversers: Sequence[ReverseTransformer]) -> bool:
    """Return whether a value of which the first bytes are shown goes on to the end of ``lines``, and can go on."""
    return len(lines) <= LONGEST_OPEN and any(each.finder.continues(shown, lines) for each in reversers)


def _cut_in_line(block: bytes, matches: Sequence[Match], last_cut: int) -> int:
    """Return ``last_cut``, or the start of a value that it would split: its reference would be shown twice."""
    cut = last_cut
    for first, last, _ in sorted(matches, reverse=True):
        if first < cut < last:
            cut = first
    return cut if len(block) - cut <= LONGEST_LINE else last_cut


def reverse_lines(lines: Iterable[str], reversers: Sequence[ReverseTransformer]) -> Iterator[str]:
    """
    Reverse lines as they arrive, one or several at once, with or without line ends, which stay unchanged.

    Lines over which a value is broken become one.
    """
    stream = StreamReverser()
    ends: list[str] = []  # of the lines that were not shown yet
    for line in lines:
        try:
            data = octets(line if line.endswith("\n") else f"{line}\n")
        except Exception:  # noqa: BLE001 - fail closed
            yield UNCHECKED
            continue
        shown = stream.feed(data, reversers)
        if shown is data:
            yield line
        else:
            ends += ["\n"] * (data.count(b"\n") - 1) + ["\n" if line.endswith("\n") else ""]
            yield from _with_ends(shown, ends, stream)
    yield from _with_ends(stream.flush(reversers), ends, stream)


def _with_ends(shown: bytes, ends: list[str], stream: StreamReverser) -> Iterable[str]:
    """Return ``shown`` line by line, and drop its ``ends``. If lines were joined, the last one keeps the last end."""
    given = len(ends) - stream.lines_held_back
    own, ends[:] = ends[:given], ends[given:]
    lines = shown.decode("utf-8", "surrogatepass").removesuffix("\n").split("\n") if shown else []
    own[len(lines) - 1 :] = own[-1:]
    return map(str.__add__, lines, own)


def reverse_chunks(chunks: Iterable[bytes], reversers: Sequence[ReverseTransformer]) -> Iterator[bytes]:
    """Reverse a stream of bytes, cut anywhere, such as the blocks of a file, in constant memory."""
    stream = StreamReverser()
    rest: list[bytes] = []
    size = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        size += len(chunk)
        rest.append(chunk)
        if end or size > LONGEST_LINE:
            data = b"".join(rest)
            end = len(data) - (len(chunk) - end if end else 0)
            yield stream.feed(data[:end], reversers)
            rest, size = [data[end:]], len(data) - end
    yield stream.feed(b"".join(rest), reversers)
    yield stream.flush(reversers)
