"""
Changes of a source text at the places of its nodes, which leave everything else as it is.

A patch of them never shows a secret, and still applies.
"""

from __future__ import annotations

import ast
import difflib
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final


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


_OPENING, _CLOSING, _COMMA = (re.compile(rb"(?:\s|#[^\n]*\n)*" + sign) for sign in (rb"\(", rb"\)", rb","))
"""An opening parenthesis, a closing one and a comma, each with what can be before it."""


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
        index = next(index for index, one in enumerate(mapping.keys) if one is key)
        value, end = mapping.values[index], self._past_entry(mapping.values[index])
        before = self._past_entry(mapping.values[index - 1]) if index else self.span(mapping)[0] + 1
        parenthesis = _OPENING.match(self._bytes, before, self.span(key)[0])
        start = parenthesis.end() - 1 if parenthesis else self.span(key)[0]
        if self._is_alone(start, end):
            return Edit(self._line_start(start), self._line_end(end))
        if value is not mapping.values[-1]:
            return Edit(start, self._past_blanks(end))
        return Edit(len(self._bytes[:start].rstrip(b" \t")), end)

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

    def _past_entry(self, value: ast.expr) -> int:
        """Return the end of an entry with its comma, and with parentheses around its value, which no node has."""
        place = self.span(value)[1]
        while found := _CLOSING.match(self._bytes, place):
            place = found.end()
        comma = _COMMA.match(self._bytes, place)
        return comma.end() if comma else place

    def _past_blanks(self, place: int) -> int:
        rest = self._bytes[place:]
        return place + len(rest) - len(rest.lstrip(b" \t"))

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


_CONTEXT: Final = 3
"""How many unchanged lines a hunk shows before and after a change, as ``diff -u`` does."""

_PLAIN: Final = frozenset(map(chr, range(32, 127))) - {'"', "\\"}

_NO_END: Final = "\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class FileChange:
    """
    A file before and after.

    :param path: its path in the patch, with ``/``
    :param before: its text; None for a new file
    :param blocks: the lines that change, in order
    :param hidden: the numbers of the lines of ``before`` that must not be shown around a change
    """

    path: str
    before: str | None = field(repr=False)
    blocks: Sequence[ChangedLines]
    hidden: Collection[int] = ()

    @classmethod
    def new(cls, path: str, text: str) -> FileChange:
        """Return the change that creates a file."""
        return cls(path, None, [ChangedLines(0, 0, tuple(split_lines(text)))])


def patch(changes: Sequence[FileChange]) -> str:
    """
    Return a unified diff for ``patch -p1`` and ``git apply --unidiff-zero``.

    A line that must not be shown is in no hunk, unless it changes: the lines around a change end before it.
    """
    return "".join(line for change in changes for line in _of_file(change))


def _of_file(change: FileChange) -> Iterator[str]:
    lines = split_lines(change.before or "")
    groups = list(_grouped(change.blocks, change.hidden))
    if groups:
        yield "--- /dev/null\n" if change.before is None else f"--- {_name(f'a/{change.path}')}\n"
        yield f"+++ {_name(f'b/{change.path}')}\n"
    grown = 0
    for group in groups:
        yield from _hunk(group, lines, change.hidden, grown)
        grown += sum(len(block.lines) - (block.end - block.first) for block in group)


def _name(path: str) -> str:
    """Return a path as git and patch read it: one with a space ends with a tab, one with odd characters is quoted."""
    if path.isprintable() and not set(path) & set('"\\'):
        return f"{path}\t" if " " in path else path
    octets = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(one) if chr(one) in _PLAIN else f"\\{one:03o}" for one in octets) + '"'


def _grouped(blocks: Sequence[ChangedLines], hidden: Collection[int]) -> Iterator[list[ChangedLines]]:
    """Yield the changes that are so near to each other that they share a hunk."""
    group: list[ChangedLines] = []
    for block in blocks:
        between = range(group[-1].end, block.first) if group else range(0)
        if group and (len(between) > 2 * _CONTEXT or _shown(between, hidden) < len(between)):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _shown(lines: range, hidden: Collection[int]) -> int:
    """Return how many of ``lines``, counted from 0, come before the first that must not be shown."""
    return next((count for count, line in enumerate(lines) if line + 1 in hidden), len(lines))


def _hunk(group: Sequence[ChangedLines], lines: Sequence[str], hidden: Collection[int], grown: int) -> Iterator[str]:
    first, last = group[0].first, group[-1].end
    above = _shown(range(first - 1, max(-1, first - 1 - _CONTEXT), -1), hidden)
    below = _shown(range(last, min(len(lines), last + _CONTEXT)), hidden)
    if not ((above == first and above <= below) or (last + below == len(lines) and below <= above)):
        above = below = min(above, below)  # otherwise patch takes the shorter side for an end of the file
    start, end = first - above, last + below
    more = sum(len(block.lines) - (block.end - block.first) for block in group)
    yield f"@@ -{_range(start, end)} +{_range(start + grown, end + grown + more)} @@\n"
    done = start
    for block in group:
        yield from _marked(" ", lines[done : block.first])
        yield from _changed(lines[block.first : block.end], block.lines)
        done = block.end
    yield from _marked(" ", lines[done:end])


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from _marked(" ", before[i:j])
        else:
            yield from _marked("-", before[i:j])
            yield from _marked("+", after[k:m])


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_END}"


def _range(start: int, end: int) -> str:
    """Return lines as a unified diff counts them: nothing is after the line before it."""
    count = end - start
    return f"{start + 1 if count else start},{count}"
