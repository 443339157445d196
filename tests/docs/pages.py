"""The fenced blocks of the documentation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def snippets(page: Path) -> Iterator[Snippet]:
    """Return the fenced blocks of ``page``, in order."""
    source = page.read_text()
    for match in FENCE.finditer(source):
        title = re.search(r'title="([^"]*)"', match[3])
        line = source.count("\n", 0, match.start()) + 2
        yield Snippet(page, line, match[2], title[1] if title else "", textwrap.dedent(match[4]))
