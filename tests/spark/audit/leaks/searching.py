"""Logs in which values are planted, and searches of one split."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK
from airflow_config_providers.spark.audit.leaks.file_listing import Split
from airflow_config_providers.spark.audit.leaks.leak import Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.sought import OccurrenceFinder
from airflow_config_providers.spark.audit.leaks.split_search import Search


def search(
    split: Split,
    finder: OccurrenceFinder,
    tick: Callable[[int], None] = lambda octets: None,
    *,
    block: int = BLOCK,
) -> Found[FoundLeak]:
    """Search ``split``; see ``Search``."""
    with Search(finder, tick, block=block) as one:
        return one(split)


QUIET = b"2026-11-25T08:00:00 INFO a line of a log that shows nothing\n"


def log_with(places: Iterable[tuple[int, str]]) -> bytes:
    """Return quiet lines with values at these places; a value moves those behind it."""
    content = QUIET * 350
    for place, value in sorted(places, reverse=True):
        content = content[:place] + b" " + value.encode() + b" " + content[place:]
    return content
