"""Progress on a terminal, by a clock that the test moves."""

from __future__ import annotations

import io
import os

import pytest
from rich.console import Console

from airflow_config_providers.cli.audit_common import (
    Counted,
    ProgressLines,
    data_size,
    files_progress,
    number,
    octets_progress,
)
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


def test_a_short_audit_shows_nothing_in_a_file():
    assert shown_files(is_terminal=False) == ""


def lines(counted: Counted, *ticks: tuple[float, int, int], unit: str = "") -> list[str]:
    """Return what is written at moments at which so much of all was read; it starts at 0."""
    out, now = io.StringIO(), iter([0.0, *(moment for moment, _, _ in ticks)])
    tick = ProgressLines(out, counted, unit=unit, clock=lambda: next(now))
    for _, done, total in ticks:
        tick(done, total)
    return out.getvalue().splitlines()


def test_a_long_audit_writes_a_plain_line_every_half_minute_to_a_file():
    ticks = [(second / 2, second * 1_000_000, 240_000_000) for second in range(1, 150)]

    assert lines(data_size, *ticks) == [
        "progress: after 0:00:30, 60.0 MB of 240.0 MB read, 2.0 MB/s, 0:01:30 left",
        "progress: after 0:01:00, 120.0 MB of 240.0 MB read, 2.0 MB/s, 0:01:00 left",
    ]


def test_a_long_audit_of_records_says_when_all_are_read():
    assert lines(number, (29, 100, 4_000), (40, 2_000, 4_000), (80, 4_000, 4_000), unit="records") == [
        "progress: after 0:00:40, 2,000 of 4,000 records read, 173/s, 0:00:12 left",
        "progress: after 0:01:20, 4,000 records read",
    ]


def test_as_long_as_nothing_was_read_no_time_is_estimated():
    assert lines(data_size, (30, 0, 4_000), (60, 1_000, 4_000)) == [
        "progress: after 0:00:30, nothing of 4.0 kB read yet",
        "progress: after 0:01:00, 1.0 kB of 4.0 kB read",
    ]


def test_the_time_that_spark_takes_to_start_does_not_count_as_slow_reading():
    assert lines(data_size, (50, 0, 4_000), (60, 1_000, 4_000), (80, 3_000, 4_000))[-1] == (
        "progress: after 0:01:20, 3.0 kB of 4.0 kB read, 100 bytes/s, 0:00:10 left"
    )


def test_in_a_file_the_lines_go_where_a_terminal_would_show_a_bar():
    with octets_progress(Console(file=io.StringIO(), force_terminal=False)) as tick:
        assert isinstance(tick, ProgressLines)


def test_progress_that_nobody_reads_does_not_end_an_audit():
    reader, writer = os.pipe()
    os.close(reader)
    now = iter([0.0, 60.0])
    with os.fdopen(writer, "w", encoding="utf-8") as out:
        ProgressLines(out, number, clock=lambda: next(now))(1, 4)
