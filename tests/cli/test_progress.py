"""Progress on a terminal, by a clock that the test moves."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from airflow_config_providers.cli.output import progress


def shown(seconds: float, *, is_terminal: bool) -> str:
    out, times = io.StringIO(), iter([0.0, 0.0, seconds, seconds])
    console = Console(file=out, force_terminal=is_terminal, width=80)
    with progress(3, console=console, clock=lambda: next(times)) as tick:
        for _ in range(3):
            tick()
    return out.getvalue()


def test_a_terminal_shows_the_number_of_files_after_two_seconds():
    assert "DAG files" in shown(2.1, is_terminal=True)
    assert "3/3" in shown(2.1, is_terminal=True)


@pytest.mark.parametrize(
    ("seconds", "is_terminal"), [pytest.param(1.9, True, id="quick"), pytest.param(60, False, id="file")]
)
def test_nothing_is_shown(seconds: float, is_terminal: bool):
    assert shown(seconds, is_terminal=is_terminal) == ""
