"""The batches of the stream example are written once each, to a real PostgreSQL."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.postgresql import postgresql, required_postgresql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    programs = required_postgresql()
    with postgresql(programs) as url:
        found = f"host={url.rpartition('host=')[2]} dbname=postgres user=postgres"
        ask(found, "CREATE TABLE counts (airport text, flights int)")
        ask(found, "CREATE TABLE batches (query text, number bigint, PRIMARY KEY (query, number))")
        yield found


def ask(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    with closing(psycopg2.connect(dsn)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def write(dsn: str, flights: int, *, query: str) -> None:
    """Write a batch with the number 0."""
    from dags_examples.jobs import stream_counts

    configs = {"spark.counts.db.dsn": dsn, "spark.counts.db.password": ""}
    stream_counts.write(Batch(flights), 0, query=query, current=lambda: configs)  # type: ignore[arg-type]  # it has what is used


def test_batches_of_two_streams_with_the_same_number_are_both_written(dsn: str) -> None:
    write(dsn, 1, query="worker")
    write(dsn, 2, query="driver")

    assert ask(dsn, "SELECT flights FROM counts ORDER BY flights") == [(1,), (2,)]


def test_a_batch_that_is_repeated_is_written_once(dsn: str) -> None:
    write(dsn, 1, query="worker")
    write(dsn, 1, query="worker")

    assert ask(dsn, "SELECT flights FROM counts") == [(1,)]


@dataclass(frozen=True, slots=True)
class BatchInThread:
    """A batch, in a thread of Spark's with local properties or, if threads are not pinned, in one without."""

    properties: dict[str, str]

    @property
    def sparkSession(self) -> BatchInThread:  # noqa: N802 - Spark calls it so
        return self

    @property
    def sparkContext(self) -> BatchInThread:  # noqa: N802 - as above
        return self

    def getLocalProperty(self, name: str) -> str | None:  # noqa: N802 - as above
        return self.properties.get(name)


def query_of(**properties: str) -> str:
    from dags_examples.jobs import stream_counts

    batch = BatchInThread({f"sql.streaming.{name}": value for name, value in properties.items()})
    return stream_counts.query_of(batch)  # type: ignore[arg-type]  # it has what is used


def test_a_batch_knows_the_id_of_its_query() -> None:
    assert query_of(queryId="0f-1a") == "0f-1a"


def test_a_batch_that_does_not_know_the_id_of_its_query_is_refused_with_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"Remove PYSPARK_PIN_THREAD from the environment of the driver"):
        query_of()


@dataclass(frozen=True, slots=True)
class Job:
    """The job of the example, which ends as soon as it has written what has arrived in ``home``."""

    spark: SparkSession
    home: Path
    dsn: str

    @property
    def checkpoint(self) -> Path:
        return self.home / "checkpoint"

    def write(self, flights: int) -> None:
        """Run the job with one new file."""
        from dags_examples.jobs import stream_counts

        arriving = self.home / "arriving"
        arriving.mkdir(exist_ok=True)
        (arriving / f"{flights}.json").write_text(json.dumps({"airport": "EWR", "flights": flights}))
        (self.home / "stop").touch()
        configs = {"source": arriving, "checkpoint": self.checkpoint, "stop": self.home / "stop"}
        database = {"db.dsn": self.dsn, "db.password": ""}
        given = {f"spark.counts.{key}": str(value) for key, value in {**configs, **database}.items()}
        stream_counts.run(self.spark, lambda: given)

    def written(self) -> list[int]:
        return [flights for (flights,) in ask(self.dsn, "SELECT flights FROM counts ORDER BY flights")]


@pytest.mark.slow
def test_a_stream_that_is_restarted_writes_each_row_once(spark: SparkSession, tmp_path: Path, dsn: str) -> None:
    job = Job(spark, tmp_path, dsn)
    job.write(1)
    job.write(2)
    last = max(int(one.name) for one in (job.checkpoint / "commits").iterdir() if one.name.isdigit())
    (job.checkpoint / f"commits/{last}").unlink()  # as after a crash: the batch is written, and not committed
    (job.checkpoint / f"commits/.{last}.crc").unlink(missing_ok=True)
    job.write(3)

    assert job.written() == [1, 2, 3]


@pytest.mark.slow
def test_a_new_checkpoint_at_the_same_path_drops_no_row(spark: SparkSession, tmp_path: Path, dsn: str) -> None:
    job = Job(spark, tmp_path, dsn)
    job.write(1)
    shutil.rmtree(job.checkpoint)
    (tmp_path / "arriving/1.json").unlink()
    job.write(2)

    assert job.written() == [1, 2]
