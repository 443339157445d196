"""A patch that never shows a secret, and that still applies."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_config_providers.adoption.edits import ChangedLines, split_lines

_CONTEXT: Final = 3

_PLAIN: Final = frozenset(map(chr, range(32, 127))) - {'"', "\\"}

_NO_END: Final = "\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class FileChange:
    """
    A file before and after.

    :param path: its path in the patch, with ``/``
    :param before: its text; None for a new file
    :param blocks: the lines that change, in order
    :param hidden: the numbers of the lines of ``before`` that must not be shown; none of them changes
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

    A line that must not be shown is in no hunk: the lines around a change end before it.
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
