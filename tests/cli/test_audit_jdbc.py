"""The audit of Airflow's database in PostgreSQL, which executors read by JDBC."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
pytest.importorskip("psycopg2")

from airflow_config_providers.job.record import TaskTry
from tests.cli.conftest import Ended
from tests.cli.on_postgresql import PASSWORD, OnPostgresql, on_postgresql
from tests.cli.recorded import RUN, Records
from tests.servers.jdbc_driver import jdbc_driver
from tests.servers.postgresql import postgresql_programs

pytestmark = [pytest.mark.integration, pytest.mark.slow]

VALUE = "c4nary-Pa$$w0rd/of+the=audit"
TASK = TaskTry("flights", "report", RUN, -1, 1)

PART = 20_000
"""How many rows a task of Spark reads."""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnPostgresql]:
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql")
    with on_postgresql(programs, tmp_path_factory.mktemp("jdbc") / "home") as found:
        yield found


@pytest.fixture
def records(there: OnPostgresql) -> Iterator[Records]:
    with there.records() as found:
        yield found


class Leaks:
    """Runs ``audit leaks --database``."""

    def __init__(self, there: OnPostgresql, folder: Path) -> None:
        self._there = there
        self._secrets = folder / "secrets"
        self._secrets.mkdir()
        (self._secrets / "password").write_text(VALUE)
        self.reference = f"${{dir:{self._secrets}:password}}"
        self._references = folder / "references"
        self._references.write_text(self.reference)
        self.jdbc = ("--conf", f"spark.jars={jdbc_driver()}")

    def __call__(self, *words: str, url: str = "") -> Ended:
        extra = {
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": str(self._secrets),
        }
        environ = {
            "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": extra})
        }
        if url:
            environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = url
        given = ("--database", "--references", str(self._references), "--no-records", "--output", "json")
        return self._there.deployment.airflow(
            "config-providers", "audit", "leaks", *given, "--master", "local[2]", *words, **environ
        )

    def rows(self, *words: str) -> list[Any]:
        done = self(*words)
        assert done.code in {0, 1}, done.err
        return sorted((json.loads(line) for line in done.out.splitlines()), key=lambda row: row["id"])


@pytest.fixture
def leaks(there: OnPostgresql, tmp_path: Path) -> Leaks:
    return Leaks(there, tmp_path)


def plant(records: Records) -> None:
    records.conf({"password": VALUE})
    records.xcoms(TASK, {"result": {"url": f"é\n{VALUE}"}})
    records.entries(TASK, {"cursor": VALUE})
    records.rendered(TASK, {"env_vars": f"PW={VALUE}"})
    records.event(f"tasks run {VALUE}")


PLANTED = {
    "xcom.value",
    "task_state_store.value",
    "rendered_task_instance_fields.rendered_fields",
    "dag_run.conf",
    "log.extra",
}


def test_a_clean_database_has_no_leaks(leaks: Leaks) -> None:
    done = leaks(*leaks.jdbc)

    assert (done.code, done.out, done.notes) == (0, "", [])


def test_executors_find_what_one_process_finds(leaks: Leaks, records: Records) -> None:
    plant(records)
    by_jdbc, by_pages = leaks.rows(*leaks.jdbc), leaks.rows()

    assert {row["file"].split(":")[1] for row in by_jdbc} == PLANTED
    assert [row["id"] for row in by_jdbc] == [row["id"] for row in by_pages]


def test_without_the_driver_a_note_names_it(leaks: Leaks) -> None:
    done = leaks()

    assert done.code == 0
    assert [note for note in done.notes if "spark.jars.packages=org.postgresql:postgresql:" in note]


def test_neither_values_nor_the_password_of_the_database_are_shown(
    leaks: Leaks, records: Records, there: OnPostgresql, tmp_path: Path
) -> None:
    plant(records)
    there.mapped_xcoms(PART + 1, at=[PART], keys=["k", VALUE], values=["quiet", "quiet"])
    (tmp_path / "events").mkdir()
    events = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{tmp_path}/events",
    }

    done = leaks(*leaks.jdbc, *(word for key, value in events.items() for word in ("--conf", f"{key}={value}")))

    logged = b"".join(path.read_bytes() for path in (tmp_path / "events").rglob("*") if path.is_file())
    assert len(done.out.splitlines()) == 6
    assert b"JDBCRelation" in logged
    for shown in (done.out.encode(), done.err.encode(), logged):
        assert VALUE.encode() not in shown
        assert PASSWORD.encode() not in shown


def test_each_row_of_a_large_table_is_read_once(leaks: Leaks, records: Records, there: OnPostgresql) -> None:
    marked = [1, PART, PART + 1, 2 * PART + 100]
    there.mapped_xcoms(2 * PART + 100, at=marked, keys=["a%'?"] * 2, values=["quiet", VALUE])

    found = leaks.rows(*leaks.jdbc)

    assert sorted(int(row["file"].partition("map_index=")[2].partition("/")[0]) for row in found) == marked


def test_a_compressed_dag_is_searched(leaks: Leaks, records: Records) -> None:
    records.compressed_dag(zlib.compress(json.dumps({"dag": VALUE}).encode()))

    (row,) = leaks.rows(*leaks.jdbc)

    assert row["file"].startswith("database:serialized_dag.data_compressed:dag_id=flights/id=")


def test_a_wrong_password_is_named_and_not_shown(leaks: Leaks, there: OnPostgresql) -> None:
    done = leaks(*leaks.jdbc, url=there.url.replace("c4nary", "wr0ng"))

    assert done.code not in {0, 1}
    assert "wr0ng" not in done.out + done.err
