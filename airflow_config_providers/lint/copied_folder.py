"""A copy of a folder: where the files of one are in the other, and links that lead to the same files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def moved(path: str, before: Path, after: Path) -> str:
    """Return ``path`` below ``after`` if it is below ``before``, also if it goes there through links."""
    for one in (os.path.abspath(path), os.path.realpath(path)):  # noqa: PTH100 - links stay as they are
        if Path(one).is_relative_to(before):
            return str(after / Path(one).relative_to(before))
    return path


def lead_as_before(before: Path, copy: Path) -> None:
    """Let links in ``copy`` lead to files of the copy, if they lead into ``before``, or to the same files outside."""
    for link in _links(copy):
        led_to = str(Path(before, link.relative_to(copy).parent, link.readlink()))
        leads_to = moved(led_to, before, copy)
        if os.path.lexists(leads_to) or not os.path.lexists(led_to):  # what was not copied stays where it is
            with suppress(OSError):  # a folder in which nothing can be changed
                link.unlink()
                link.symlink_to(leads_to)


def _links(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from filter(Path.is_symlink, (Path(place, name) for name in (*folders, *files)))
