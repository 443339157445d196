"""Which tests of this folder use Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

_SIGNS: Final = re.compile(r"pyspark|py4j|\bjvm\b|session|subprocess|SPARK_HOME|spark_submit|installed_")
"""What a file contains whose tests use Spark, or start a program that may use it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--uses-spark", action="store_true", help="leave out the files whose tests use no Spark")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--uses-spark", default=False) or collection_path.suffix != ".py":
        return None
    return True if not _SIGNS.search(collection_path.read_text("utf-8")) else None
