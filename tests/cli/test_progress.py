"""Progress on a terminal, by a clock that the test moves."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from airflow_config_providers.cli.audited import files_progress, octets_progress
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


def shown_files(*, is_terminal: bool) -> str:
    out = io.StringIO()
    with files_progress(Console(file=out, force_terminal=is_terminal, width=80)) as tick:
        if tick:
            tick(1_000, 4_000)
            tick(4_000, 4_000)
    return out.getvalue()


def test_an_audit_shows_how_many_records_it_has_read():
    assert "records" in shown_files(is_terminal=True)
    assert "4000/4000" in shown_files(is_terminal=True)


def test_an_audit_shows_how_many_bytes_it_has_read():
    out = io.StringIO()

    with octets_progress(Console(file=out, force_terminal=True, width=80)) as tick:
        tick(1_000_000, 4_000_000)

    assert "1.0/4.0 MB" in out.getvalue()


def test_an_audit_shows_nothing_in_a_file():
    assert shown_files(is_terminal=False) == ""
