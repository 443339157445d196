"""Searches one split, with a search of its own."""

from __future__ import annotations

from collections.abc import Callable

from airflow_config_providers.spark.audit.leaks.content import BLOCK
from airflow_config_providers.spark.audit.leaks.files import Split
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
