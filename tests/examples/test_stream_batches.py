"""The batches of the stream example are written once each: real PostgreSQL, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.servers.postgresql import postgresql, postgresql_programs

psycopg2 = pytest.importorskip("psycopg2")
pytest.importorskip("pyspark")
pytestmark = pytest.mark.integration


@dataclass(frozen=True, slots=True)
class Batch:
    """What the job needs of a DataFrame."""

    flights: int

    def collect(self) -> list[dict[str, Any]]:
        """Return its only row."""
        return [{"airport": "EWR", "flights": self.flights}]


@pytest.fixture
def dsn() -> Iterator[str]:
    """Return how to connect to a PostgreSQL with the tables of the example."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql")
    with postgresql(programs) as url:
        found = f"host={url.rpartition('host=')[2]} dbname=postgres user=postgres"
        ask(found, "CREATE TABLE counts (airport text, flights int)")
        ask(found, "CREATE TABLE batches (checkpoint text, number bigint, PRIMARY KEY (checkpoint, number))")
        yield found


def ask(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    with closing(psycopg2.connect(dsn)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def write(dsn: str, flights: int, *, checkpoint: str) -> None:
    """Write a batch with the number 0."""
    from dags_examples.jobs import stream_counts

    configs = {"spark.counts.db.dsn": dsn, "spark.counts.db.password": "", "spark.counts.checkpoint": checkpoint}
    stream_counts.write(Batch(flights), 0, current=lambda: configs)  # type: ignore[arg-type]  # it has what is used


def test_batches_of_two_streams_with_the_same_number_are_both_written(dsn: str) -> None:
    write(dsn, 1, checkpoint="worker-checkpoint")
    write(dsn, 2, checkpoint="driver-checkpoint")

    assert ask(dsn, "SELECT flights FROM counts ORDER BY flights") == [(1,), (2,)]


def test_a_batch_that_is_repeated_is_written_once(dsn: str) -> None:
    write(dsn, 1, checkpoint="worker-checkpoint")
    write(dsn, 1, checkpoint="worker-checkpoint")

    assert ask(dsn, "SELECT flights FROM counts") == [(1,)]
