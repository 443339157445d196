"""Changes of a source text at the places of its nodes, which leave everything else as it is."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """
    A piece of the source, in bytes of UTF-8, and what replaces it.

    :param start: where the piece begins
    :param end: where it ends
    """

    start: int
    end: int
    text: str = field(default="", repr=False)


class Positions:
    """
    Finds the places of nodes in a source.

    :param source: the text that was parsed
    """

    def __init__(self, source: str) -> None:
        self._bytes = source.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins and ends."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._at(node.lineno, node.col_offset), self._at(end_line, end_column)

    def replacing(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that puts ``text`` in place of a node."""
        return Edit(*self.span(node), text)

    def after(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that puts ``text`` after a node."""
        end = self.span(node)[1]
        return Edit(end, end, text)

    def before_keyword(self, keyword: ast.keyword, text: str) -> Edit:
        """Return the edit that puts the argument ``text`` before another one, on a line of its own if that has one."""
        start = self._at(keyword.lineno, keyword.col_offset)
        before = self._bytes[self._line_start(start) : start].decode()
        end = "\r\n" if self._bytes[: self._line_start(start)].endswith(b"\r\n") else "\n"
        return Edit(start, start, f"{text}, " if before.strip() else f"{text},{end}{before}")

    def removing(self, key: ast.expr, mapping: ast.Dict) -> Edit:
        """
        Return the edit that removes an entry of a mapping, with its comma.

        If the entry has lines of its own, they are removed as a whole, with a comment at their end.
        """
        value = mapping.values[next(index for index, one in enumerate(mapping.keys) if one is key)]
        start, end = self.span(key)[0], self._past_comma(self.span(value)[1])
        if self._is_alone(start, end):
            return Edit(self._line_start(start), self._line_end(end))
        if value is not mapping.values[-1]:
            return Edit(start, self._past_blanks(end))
        return Edit(self._before_blanks(start), end)

    def line_start(self, line: int) -> int:
        """Return where a line, counted from 1, begins."""
        return self._starts[line - 1]

    def lines(self, edit: Edit) -> range:
        """Return the numbers of the lines that an edit touches."""
        first = self._line(edit.start)
        return range(first, max(first, self._line(max(edit.start, edit.end - 1))) + 1)

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _line(self, place: int) -> int:
        return bisect_right(self._starts, place)

    def _past_comma(self, place: int) -> int:
        rest = self._bytes[place:]
        stripped = rest.lstrip()
        return place + len(rest) - len(stripped) + 1 if stripped.startswith(b",") else place

    def _past_blanks(self, place: int) -> int:
        rest = self._bytes[place:]
        return place + len(rest) - len(rest.lstrip(b" \t"))

    def _before_blanks(self, place: int) -> int:
        return len(self._bytes[:place].rstrip(b" \t"))

    def _line_start(self, place: int) -> int:
        return self._bytes.rfind(b"\n", 0, place) + 1

    def _line_end(self, place: int) -> int:
        found = self._bytes.find(b"\n", place)
        return len(self._bytes) if found < 0 else found + 1

    def _is_alone(self, start: int, end: int) -> bool:
        before = self._bytes[self._line_start(start) : start]
        after = self._bytes[end : self._line_end(end)].strip()
        return not before.strip() and (not after or after.startswith(b"#"))


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """
    Whole lines that change.

    :param first: the first line, counted from 0
    :param end: the line after the last one
    :param lines: what takes their place
    """

    first: int
    end: int
    lines: tuple[str, ...] = field(repr=False)


def blocks(source: str, edits: Sequence[Edit]) -> list[ChangedLines]:
    """Return the lines that ``edits``, in order and without overlaps, change; all other lines stay."""
    positions, lines = Positions(source), split_lines(source)
    found: list[tuple[range, list[Edit]]] = []
    for edit in edits:
        touched = positions.lines(edit)
        if found and touched.start <= found[-1][0].stop:
            before, group = found.pop()
            found.append((range(before.start, max(before.stop, touched.stop)), [*group, edit]))
        else:
            found.append((touched, [edit]))
    changed = [_block(lines, positions, touched, group) for touched, group in found]
    return [block for block in changed if list(block.lines) != lines[block.first : block.end]]


def _block(lines: Sequence[str], positions: Positions, touched: range, edits: Iterable[Edit]) -> ChangedLines:
    first, end = touched.start - 1, touched.stop - 1
    offset = positions.line_start(touched.start)
    moved = [Edit(edit.start - offset, edit.end - offset, edit.text) for edit in edits]
    return ChangedLines(first, end, tuple(split_lines(edited("".join(lines[first:end]), moved))))


def split_lines(text: str) -> list[str]:
    """Split at line feeds only, as patches and Python do; other characters that end a line belong to it."""
    return [line for line in re.split("(?<=\n)", text) if line]


def edited(source: str, edits: Iterable[Edit]) -> str:
    """Return ``source`` with all ``edits``; of two that overlap, the first."""
    found, data = source.encode(), bytearray()
    done = 0
    for edit in without_overlaps(edits):
        data += found[done : edit.start] + edit.text.encode()
        done = edit.end
    return (bytes(data) + found[done:]).decode()


def without_overlaps(edits: Iterable[Edit]) -> Sequence[Edit]:
    """Return the edits in order. Removals that overlap are joined; of other edits that overlap, the first is kept."""
    kept: list[Edit] = []
    for edit in sorted(set(edits)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
        elif not (edit.text or kept[-1].text):
            kept[-1] = Edit(kept[-1].start, max(kept[-1].end, edit.end))
    return kept
