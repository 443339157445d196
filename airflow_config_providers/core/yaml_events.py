"""The parts of a YAML document, one by one, before it is put together: what is odd is refused early, with its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml


def with_depths(events: Iterable[yaml.Event]) -> Iterator[tuple[yaml.Event, int]]:
    """Yield each event with the number of collections, documents and streams that are open after it."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        yield event, depth


def is_alias(event: yaml.Event) -> bool:
    """Return whether an event refers to a part that is written elsewhere."""
    return type(event).__name__ == "AliasEvent"  # the class itself is slow to import


def line_of(part: yaml.Node | yaml.Event) -> int:
    """Return the line where a part begins, counted from 1."""
    return int(part.start_mark.line) + 1
