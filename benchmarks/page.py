"""Opens the page in Airflow in Chromium, with a few keys and with 10,000."""

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
from tests.plugins.serving import Server, serving

KEYS = 10_000
OURS = f"{KEYS:,} keys"
FLOOR = "10 keys"
SHOWN = "//*[@id='panel' and @aria-busy='false']"


@contextmanager
def opened() -> Iterator[tuple[Server, Browser]]:
    """Yield a server with a record of each size, and a browser that is signed in."""
    with tempfile.TemporaryDirectory() as folder:
        deployment = made(Path(folder))
        with records_in(deployment) as records, serving(deployment, "page") as server, browser() as window:
            for name, keys in ((OURS, KEYS), (FLOOR, 10)):
                records({f"spark.app.key{number:05}": "x" * 20 for number in range(keys)}, run=name)
            window.open(f"{server.address}/config-providers/page/style.css")
            window.add_cookie("_token", server.token("admin"))
            yield server, window
        driver_of(deployment).end()


def milliseconds(server: Server, window: Browser, run: str) -> float:
    """Return the time from opening the page to the first rows, as the browser measures it."""
    window.open(f"{server.address}/config-providers/page/?dag=flights&task=report&run={quote(run)}")
    window.text(SHOWN)
    return float(window.run("return performance.getEntriesByName('rows')[0].startTime"))


def run(effort: Effort) -> list[Report]:
    with opened() as (server, window):
        milliseconds(server, window, OURS)  # what the server makes once
        times = {
            name: statistics.median(milliseconds(server, window, name) for _ in range(effort.fewest))
            for name in (FLOOR, OURS)
        }
    return [
        Report(
            f"Open the page of a run that had {KEYS:,} keys",
            "Chromium measures from opening the page to its first rows: the files of the page, the questions to "
            "Airflow's API server, which reads the record from SQLite, and drawing. Server and browser share "
            f"{os.cpu_count()} cores.",
            ("", "ms", "times ours"),
            compared(times, OURS),
            [Aim(f"the first rows of {KEYS:,} keys", 300, times[OURS])],
        )
    ]
