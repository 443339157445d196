"""Spark's History Server over the event logs of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.leaks.observer import UI_ANSWERS
from tests.servers.spark_cluster import Daemon, SparkEnvironment, read_url

PAGES = ("jobs/", "stages/", "environment/", "executors/", "SQL/")


@contextmanager
def history_server(folder: Path, events: Path) -> Iterator[Daemon]:
    """Run a History Server for the event logs in ``events``, and end it."""
    options = {
        "spark.history.fs.logDirectory": f"file://{events}",
        "spark.history.ui.port": "0",
        "spark.history.fs.update.interval": "1s",
    }
    words = " ".join(f"-D{key}={value}" for key, value in options.items())
    spark = SparkEnvironment.of(SPARK_HISTORY_OPTS=words, TMPDIR=str(folder))
    command = [spark.script("spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
    server = Daemon("history", command, spark.variables, folder)
    try:
        yield server
    finally:
        server.close()


def shown(server: Daemon) -> Iterator[tuple[str, str]]:
    """Return page -> text for all applications."""
    base = server.page.rstrip("/")
    listed = read_url(f"{base}/api/v1/applications")
    yield "applications", listed
    for application in json.loads(listed):
        name = application["id"]
        for answer in UI_ANSWERS:
            yield answer, read_url(f"{base}/api/v1/applications/{name}/{answer}")
        for page in PAGES:
            yield page, read_url(f"{base}/history/{name}/{page}")
