"""Opens the page in Airflow in Chromium, with a few keys and with 10,000, of a run and of the next submit."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import airflow.models.task_state_store  # noqa: F401 - records of this benchmark are there, since Airflow 3.3

from benchmarks.measure import Aim, Effort, Report, compared
from tests.cli.conftest import driver_of, made
from tests.cli.recorded import records_in
from tests.integration.browser import Browser, browser
from tests.plugins.serving import Server, policies, serving, set_

KEYS = 10_000
OF_RUN = f"{KEYS:,} keys of a run"
NOW = f"{KEYS:,} keys of the next submit"
FLOOR = "10 keys of a run"
PAGES = {
    FLOOR: f"task=report&run={quote(FLOOR)}",
    OF_RUN: f"task=report&run={quote(OF_RUN)}",
    NOW: "task=copy",
}
"""Name -> what the address of the page asks for."""

AT_ONCE = 1000
"""The most keys that one request may change."""

ALL_THERE = "//*[@class='count' and not(starts-with(., 'Loading'))]"
"""Wait for it, so that the server does not work for one page while the next is measured."""


@contextmanager
def opened() -> Iterator[tuple[Server, Browser]]:
    """Yield a server with a configuration of each size, and a browser that is signed in."""
    with tempfile.TemporaryDirectory() as folder:
        deployment = made(Path(folder))
        policies(deployment).write_text("policies: []\n")
        with records_in(deployment) as records, serving(deployment, "page") as server, browser() as window:
            for name, keys in ((OF_RUN, KEYS), (FLOOR, 10)):
                records({key(number): "x" * 20 for number in range(keys)}, run=name)
            for start in range(0, KEYS, AT_ONCE):
                some = (set_(key(number), "x" * 20) for number in range(start, start + AT_ONCE))
                server.alter("admin", "/dags/flights/tasks/copy", *some).raise_for_status()
            window.open(f"{server.address}/config-providers/page/style.css")
            window.add_cookie("_token", server.token("admin"))
            yield server, window
        driver_of(deployment).end()


def key(number: int) -> str:
    return f"spark.app.key{number:05}"


def milliseconds(server: Server, window: Browser, name: str) -> float:
    """Return the time from opening the page until its first rows were painted, as the browser measures it."""
    window.open(f"{server.address}/config-providers/page/?dag=flights&{PAGES[name]}")
    window.text(ALL_THERE)
    return float(window.run("return performance.getEntriesByName('rows')[0].startTime"))


def run(effort: Effort) -> list[Report]:
    with opened() as (server, window):
        for name in PAGES:
            milliseconds(server, window, name)  # what the server makes once
        times = {
            name: statistics.median(milliseconds(server, window, name) for _ in range(effort.fewest)) for name in PAGES
        }
    return [
        Report(
            f"Open the page with {KEYS:,} keys",
            "Chromium measures from opening the page until its first rows are painted: the files of the page, the "
            "questions to Airflow's API server, which reads the record or the dynamic configuration from SQLite, and "
            f"drawing. Server and browser share {os.cpu_count()} cores.",
            ("", "ms", "times ours"),
            compared(times, OF_RUN),
            [Aim(f"the first rows of {name}", 300, times[name]) for name in (OF_RUN, NOW)],
        )
    ]
