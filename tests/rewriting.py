"""
Each test file of a new checkout is rewritten for ``assert`` by one worker.

pytest keeps what it has rewritten in ``__pycache__``. All workers read the same files in the same order and at the same
time, so without this each would rewrite all of them, which takes as long as to read them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir


def rewrite_share(config: pytest.Config, is_left_out: Callable[[Path, pytest.Config], bool | None]) -> None:
    """Rewrite what is this worker's of the files that the run was asked for."""
    if worker := getattr(config, "workerinput", None):
        files = [file for file in asked_for(config) if not is_left_out(file, config)]
        rewrite(files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]], config)


def asked_for(config: pytest.Config) -> list[Path]:
    """Return the test files at and below the arguments, in an order that is the same for all workers."""
    places = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return sorted({file for place in places for file in _files(place)})


def rewrite(files: Iterable[Path], config: pytest.Config) -> None:
    """Rewrite the files that are not rewritten yet, unless Python may write no bytecode."""
    for file in files:
        rewritten = get_cache_dir(file) / f"{file.stem}{PYC_TAIL}"
        if not rewritten.exists() and not sys.dont_write_bytecode:
            rewritten.parent.mkdir(parents=True, exist_ok=True)
            source_hash, code = _rewrite_test(file, config)
            _write_pyc(config.stash[assertstate_key], code, source_hash, rewritten)


def _files(place: Path) -> Iterator[Path]:
    return place.rglob("test_*.py") if place.is_dir() else iter([place])
