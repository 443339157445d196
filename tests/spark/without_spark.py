"""
Tests that are the same with every Spark, because they use none: ``.ci/run`` leaves them out when it tests another one.

Each test of this folder runs with every Spark, unless its file is named here. The tests of such a file fail if they
import PySpark, open one of its files or start a program, which could use Spark.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

FILES: Final = frozenset(
    {
        "audit/leaks/test_apart.py",
        "audit/leaks/test_baseline.py",
        "audit/leaks/test_clean_corpus.py",
        "audit/leaks/test_content.py",
        "audit/leaks/test_excepted_values.py",
        "audit/leaks/test_files.py",
        "audit/leaks/test_fingerprints.py",
        "audit/leaks/test_leak_page.py",
        "audit/leaks/test_object_store.py",
        "audit/leaks/test_open_file.py",
        "audit/leaks/test_parquet.py",
        "audit/leaks/test_s3_objects.py",
        "audit/leaks/test_seldom_collected.py",
        "audit/leaks/test_sink.py",
        "audit/leaks/test_small_files.py",
        "audit/leaks/test_split_search.py",
        "audit/leaks/test_stored_path.py",
        "audit/leaks/test_tables.py",
        "audit/leaks/test_tar_members.py",
        "audit/leaks/test_telling_paths.py",
        "audit/leaks/test_tokens.py",
        "audit/records/test_record_pages.py",
        "audit/test_findings_file.py",
        "audit/test_html_page.py",
        "audit/test_quiet_start.py",
        "audit/test_report_file.py",
        "test_delivery.py",
        "test_driver.py",
        "test_driver_configs.py",
        "test_expansion.py",
        "test_exposure.py",
        "test_fidelity.py",
        "test_installed_version.py",
        "test_jvm.py",
        "test_key_notes.py",
        "test_key_versions.py",
        "test_known_keys.py",
        "test_layer_files.py",
        "test_layer_schema.py",
        "test_layer_sources.py",
        "test_redaction.py",
        "test_specification.py",
    }
)
"""The files, as paths from this folder."""

_OF_SPARK: Final = re.compile(r"(?:^|[/\\])(?:pyspark|py4j)[-./\\]")
_PROCESSES: Final = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system"})

_uses: list[str] | None = None
"""What is noted now; None between two tests."""


def _is_of_spark(name: str) -> bool:
    return name.partition(".")[0] in {"pyspark", "py4j"}


class _Finder:
    """Notes the modules of PySpark that are looked for, and does not let them be found."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if _uses is not None and _is_of_spark(name):
            _uses.append(f"it looks for the module {name}")
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return None


def _note(event: str, args: tuple[Any, ...]) -> None:
    """Note files of PySpark that are opened, and every program that is started, because it could use Spark."""
    if _uses is None:
        return
    if event in _PROCESSES:
        _uses.append(f"it starts a program ({event})")
    elif event == "open" and isinstance(args[0], str | bytes) and _OF_SPARK.search(os.fsdecode(args[0])):
        _uses.append(f"it opens {os.fsdecode(args[0])}")


@cache
def _hook() -> None:
    sys.addaudithook(_note)


@contextmanager
def noted_uses() -> Iterator[list[str]]:
    """Yield what notes, until the block ends, how Spark is used. Its modules cannot be imported meanwhile."""
    global _uses  # noqa: PLW0603 - as the hook, which cannot be removed
    _hook()
    loaded = {name: module for name, module in sys.modules.items() if _is_of_spark(name)}
    for name in loaded:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder)
    _uses = []
    try:
        yield _uses
    finally:
        _uses = None
        sys.meta_path.remove(_Finder)
        sys.modules.update(loaded)


def imported_by(module: ModuleType) -> list[str]:
    """Return the names in a module that come from PySpark."""
    homes = {
        name: getattr(value, "__module__", None) or getattr(value, "__name__", "")
        for name, value in vars(module).items()
    }
    return [name for name, home in homes.items() if _is_of_spark(str(home))]
