"""Which tests of this folder use Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import without_spark

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--uses-spark", action="store_true", help="leave out the tests that are the same with every Spark")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("--uses-spark", default=False) and is_without_spark(collection_path) else None


def is_without_spark(path: Path) -> bool:
    return path.is_relative_to(HERE) and path.relative_to(HERE).as_posix() in without_spark.FILES


@pytest.fixture(autouse=True)
def _uses_no_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test fail that uses Spark although its file says that it uses none."""
    if not is_without_spark(request.path):
        yield
        return
    with without_spark.noted_uses() as uses:
        yield
    uses += [f"its module imports {name}" for name in without_spark.imported_by(request.module)]
    assert not uses, "This test uses Spark. Remove its file from FILES in tests/spark/without_spark.py."
