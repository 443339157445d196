"""A test whose file says that it uses no Spark is seen when it uses some."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from tests.spark.without_spark import FILES, imported_by, noted_uses

pytest.importorskip("pyspark")


def import_it() -> None:
    import pyspark  # noqa: F401 - it is imported by the test


def start_a_program() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(import_it, id="import"),
        pytest.param(lambda: importlib.util.find_spec("pyspark.sql"), id="look"),
        pytest.param(lambda: importlib.metadata.version("pyspark"), id="version"),
        pytest.param(start_a_program, id="program"),
    ],
)
def test_a_use_is_noted(use: Callable[[], object]) -> None:
    with noted_uses() as uses, suppress(ModuleNotFoundError):
        use()

    assert uses


def test_a_use_is_noted_of_a_module_that_is_loaded_and_stays_the_same() -> None:
    import pyspark

    before = sys.modules["pyspark"]
    with noted_uses() as uses, suppress(ModuleNotFoundError):
        import_it()

    assert uses
    assert sys.modules["pyspark"] is before is pyspark


def test_nothing_else_is_noted(tmp_path: Path) -> None:
    with noted_uses() as uses:
        (tmp_path / "a").write_text("x")
        import_another = importlib.util.find_spec("json")

    assert import_another
    assert uses == []


def test_names_that_a_module_has_from_pyspark_are_seen() -> None:
    from pyspark import SparkConf

    module = ModuleType("tests_of_something")
    module.Conf = SparkConf  # type: ignore[attr-defined]
    module.other = Path  # type: ignore[attr-defined]

    assert imported_by(module) == ["Conf"]


def test_each_file_is_there() -> None:
    assert [name for name in sorted(FILES) if not (Path(__file__).parent / name).is_file()] == []
