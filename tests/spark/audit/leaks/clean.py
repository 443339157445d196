"""Searches texts that contain none of the values, as the audit does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing, splits_of
from airflow_config_providers.spark.audit.leaks.leak import SplitLeaks
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, LeakFinder
from benchmarks.innocent import values
from tests.spark.audit.leaks.searching import search


def searched(folder: Path) -> Sequence[SplitLeaks]:
    """Search all files below ``folder`` for values of the kinds that secret stores have."""
    typical = values(210, random.Random(7))
    finder = LeakFinder(KnownSecret(ConfigVariable("v", "", f"k{place}"), value) for place, value in enumerate(typical))
    splits = (split for file in FileListing.of([str(folder)]).files for split in splits_of(file))
    return [SplitLeaks(split, search(split, finder)) for split in splits]


def false_alarms(results: Sequence[SplitLeaks]) -> list[tuple[str, int, str]]:
    """Return the file, the offset and the encoding of each place."""
    return [
        (one.split.file.path, leak.occurrence.start, leak.occurrence.encoding)
        for one in results
        for leak in one.found.leaks
    ]
