"""The audits of Airflow's database in PostgreSQL, which executors read by JDBC."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
pytest.importorskip("psycopg2")
pytest.importorskip("pyarrow")

from pyarrow import dataset

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.job.records.entries import LARGEST_ENTRY, PREFIX, packed, record_key
from airflow_config_providers.job.records.record import TaskTry
from airflow_config_providers.spark.audit.records.past_records import CONFIGS
from tests.cli.conftest import Driver, Ended
from tests.cli.on_postgresql import PASSWORD, OnPostgresql, on_postgresql
from tests.cli.recorded import RUN, Records
from tests.servers.jdbc_driver import jdbc_driver
from tests.servers.postgresql import required_postgresql
from tests.spark.audit.records.past import QUICK, record_of

pytestmark = [pytest.mark.integration, pytest.mark.slow]

VALUE = "c4nary-Pa$$w0rd/of+the=audit"
TASK = TaskTry("flights", "report", RUN, -1, 1)

PART = 20_000
"""How many rows a task of Spark reads."""

ENTRIES = 5_000
"""How many entries of records a task of Spark reads."""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnPostgresql]:
    programs = required_postgresql()
    with on_postgresql(programs, tmp_path_factory.mktemp("jdbc") / "home") as found:
        yield found


def with_driver() -> tuple[str, str]:
    """Return the words that give Spark the driver of PostgreSQL."""
    return ("--conf", f"spark.jars={jdbc_driver()}")


@dataclass(frozen=True)
class Commands:
    """
    Runs commands one after the other in a process, or, if what Java prints matters, each in one of its own.

    A JVM keeps each driver that it has once loaded. So commands without one have another process.

    :param printed: the file with what the process that has the driver prints, and its JVM
    """

    there: OnPostgresql
    with_jar: Driver
    without_jar: Driver
    printed: Path

    def __call__(self, *words: str, alone: bool = False, **environ: str) -> Ended:
        quick = [word for key, value in QUICK.items() for word in ("--conf", f"{key}={value}")]
        given = ("config-providers", "audit", *words, "--output", "json", "--master", "local[2]", *quick)
        if alone:
            return self.there.deployment.airflow(*given, **environ)
        driver = self.with_jar if set(with_driver()) <= set(words) else self.without_jar
        return driver.airflow(*given, environ=environ)

    @contextmanager
    def logging_events(self, folder: Path) -> Iterator[None]:
        """Have Spark log its events into ``folder``, in a session that ends with the block."""
        folder.mkdir()
        events = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file:{folder}",
        }
        with self.with_jar.session({**session_configs(), **events}):
            yield
        self.with_jar.ask({"session": session_configs()})

    def shown_by(self, done: Ended) -> str:
        """Return all that a command with the driver has shown."""
        return done.out + done.err + self.printed.read_text()


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def session_configs() -> dict[str, str]:
    """Return the configuration of the session whose executors read by JDBC."""
    return {**CONFIGS, **QUICK, "spark.jars": str(jdbc_driver())}


@pytest.fixture(scope="module")
def commands(there: OnPostgresql, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    printed = tmp_path_factory.mktemp("printed") / "with_jar"
    with printed.open("w") as log:
        drivers = [Driver(there.deployment, log), Driver(there.deployment)]
    with drivers[0].session(session_configs()), drivers[1].session({**CONFIGS, **QUICK}):
        yield Commands(there, *drivers, printed)
    for driver in drivers:
        driver.end()


@pytest.fixture
def records(there: OnPostgresql) -> Iterator[Records]:
    with there.records() as found:
        yield found


class Leaks:
    """Runs ``audit leaks --database``."""

    def __init__(self, commands: Commands, folder: Path) -> None:
        self._commands = commands
        self._secrets = folder / "secrets"
        self._secrets.mkdir()
        (self._secrets / "password").write_text(VALUE)
        self.reference = f"${{dir:{self._secrets}:password}}"
        self._references = folder / "references"
        self._references.write_text(self.reference)
        self.jdbc = with_driver()

    def __call__(self, *words: str, alone: bool = False, **environ: str) -> Ended:
        extra = {
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": str(self._secrets),
        }
        environ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"] = json.dumps({"conn_type": "config_providers", "extra": extra})
        given = ("--database", "--references", str(self._references), "--no-records")
        return self._commands("leaks", *given, *words, alone=alone, **environ)

    def rows(self, *words: str) -> list[Any]:
        done = self(*words)
        assert done.code in {0, 1}, done.err
        return sorted((json.loads(line) for line in done.out.splitlines()), key=lambda row: row["id"])


@pytest.fixture
def leaks(commands: Commands, tmp_path: Path) -> Leaks:
    return Leaks(commands, tmp_path)


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
    leaks: Leaks, commands: Commands, records: Records, there: OnPostgresql, tmp_path: Path
) -> None:
    plant(records)
    there.mapped_xcoms(PART + 1, at=[PART], keys=["k", VALUE], values=["quiet", "quiet"])

    with commands.logging_events(tmp_path / "events"):
        done = leaks(*leaks.jdbc)

    assert len(done.out.splitlines()) == 6
    logged = content_of(tmp_path / "events")
    assert b"JDBCRelation" in logged
    for shown in (commands.shown_by(done).encode(), logged):
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
    url = there.url.replace("c4nary", "wr0ng")

    done = leaks(*leaks.jdbc, alone=True, AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=url)

    assert done.code not in {0, 1}
    assert "wr0ng" not in done.out + done.err


class RecordAudits:
    """Runs commands that audit the records in the database."""

    def __init__(self, commands: Commands, folder: Path) -> None:
        self._commands = commands
        self.folder = folder
        self.jdbc = with_driver()

    def __call__(self, *words: str, alone: bool = False) -> Ended:
        return self._commands(*words, alone=alone)

    def kept(self, *words: str) -> list[Any]:
        """Return the rows of all records that an audit with ``--parquet`` keeps."""
        folder = self.folder / uuid4().hex
        done = self("references", "--parquet", str(folder), *words)
        assert done.code == 0, done.err
        (table,) = (folder / "records-1").iterdir()
        return sorted(dataset.dataset(table, partitioning="hive").to_table().to_pylist(), key=lambda row: row["file"])

    def runs(self, *words: str) -> dict[str, int]:
        """Return reference -> how many runs used it."""
        done = self("references", *words)
        assert done.code == 0, done.err
        return {row["reference"]: row["runs"] for row in map(json.loads, done.out.splitlines())}


@pytest.fixture
def audits(commands: Commands, tmp_path: Path) -> RecordAudits:
    return RecordAudits(commands, tmp_path)


def secret(name: str) -> str:
    return f"${{vault:apps/{name}:password}}"


def conf(name: str) -> dict[str, str]:
    return {"spark.app.password": secret(name)}


def entries_of(task: TaskTry, name: str, **fields: Any) -> dict[str, Any]:
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", conf(name))
    return packed(record_of([layer], run=task.run_id, number=task.try_number, **fields))


def of_run(run: str, number: int = 1) -> TaskTry:
    return TaskTry("flights", "report", run, -1, number)


def plant_records(records: Records) -> None:
    """Put records of many kinds into the database, and what is none."""
    for number in (1, 2):
        records(conf("tries"), run="tries", number=number, job="app-1")
    records({f"spark.app.{n}": sha256(str(n).encode()).hexdigest() * 60 for n in range(50)}, run="large")
    records(conf("mapped"), run="mapped", map_index=3)
    records(conf("named"), run="é%'_" + "x" * 200, task="a.b-c")
    records.xcoms(of_run("xcom"), entries_of(of_run("xcom"), "xcom"))
    both, broken, foreign, long = map(of_run, ("both", "broken", "foreign", "long"))
    records.entries(both, entries_of(both, "state"))
    records.xcoms(both, entries_of(both, "shadowed"))
    records.entries(broken, {**entries_of(broken, "lost"), record_key(1): "[" * 50_000})
    records.xcoms(broken, entries_of(broken, "second"))
    records.entries(foreign, {record_key(1): {"__airflow_state_ref__": "s3://x"}})
    records.entries(long, {record_key(1): "x" * (LARGEST_ENTRY + 1), f"{record_key(1)}_part2": "x"})
    records.entries(of_run("none"), {f"{PREFIX}_x": 1, f"{PREFIX}_0": 1, f"{PREFIX}_1_part2": "x", "other": 1})


def test_executors_read_the_same_records_as_one_process(audits: RecordAudits, records: Records) -> None:
    plant_records(records)
    by_jdbc, by_pages = audits.kept(*audits.jdbc), audits.kept()

    assert by_jdbc == by_pages
    assert {row["run"] for row in by_jdbc if not row["problem"]} >= {"tries", "large", "mapped", "xcom", "both"}
    assert sum(bool(row["problem"]) for row in by_jdbc) == 2


def test_the_state_of_a_task_counts_before_its_xcoms(audits: RecordAudits, records: Records) -> None:
    plant_records(records)

    assert set(audits.runs(*audits.jdbc)) == {
        secret(name) for name in ("tries", "mapped", "named", "xcom", "state", "second")
    }


def test_only_records_since_a_day_are_read_by_executors(audits: RecordAudits, records: Records) -> None:
    records(conf("day"))

    assert audits.runs(*audits.jdbc, "--since", "2026-11-23") == {secret("day"): 1}
    assert audits.runs(*audits.jdbc, "--since", "2026-11-24") == {}


def test_executors_read_only_records_that_are_new(
    audits: RecordAudits, records: Records, there: OnPostgresql, tmp_path: Path
) -> None:
    words = (*audits.jdbc, "--parquet", str(tmp_path / "parquet"))
    records(conf("first"), run="r1")
    before = audits.runs(*words)
    there.execute("update task_state_store set value = '1'")  # it would be noticed if it was read again
    records(conf("second"), run="r2")

    assert before == {secret("first"): 1}
    assert audits.runs(*words) == {secret("first"): 1, secret("second"): 1}


def test_each_of_many_records_is_read_once(audits: RecordAudits, records: Records, there: OnPostgresql) -> None:
    there.copies_of_records(entries_of(of_run("r"), "many"), count=ENTRIES * 2 + 100)

    assert audits.runs(*audits.jdbc) == {secret("many"): ENTRIES * 2 + 100}


def test_policies_and_history_are_about_records_that_executors_read(
    audits: RecordAudits, records: Records, tmp_path: Path
) -> None:
    records({"spark.executor.memory": "4g"}, run="r1", at="2026-11-23T17:00:00.000+00:00")
    records({"spark.executor.memory": "8g"}, run="r2", at="2026-11-23T18:00:00.000+00:00")
    policies = tmp_path / "tomorrow.yaml"
    policies.write_text("policies: [{name: small, class: bounds, params: {spark.executor.memory: {max: 4g}}}]")

    stopped = audits("policies", str(policies), *audits.jdbc)
    changed = audits("history", "--kind", "between-runs", *audits.jdbc)

    assert (stopped.code, len(stopped.out.splitlines())) == (1, 1)
    assert [json.loads(line)["key"] for line in changed.out.splitlines()] == ["spark.executor.memory"]


def test_without_the_driver_a_note_says_how_executors_read_records(audits: RecordAudits, records: Records) -> None:
    records(conf("noted"))

    done = audits("references")

    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert [note for note in done.notes if "spark.jars.packages=org.postgresql:postgresql:" in note]


def test_where_only_this_process_reaches_the_database_it_reads_records(audits: RecordAudits, records: Records) -> None:
    records(conf("near"))
    by_proxy = "-DsocksProxyHost=127.0.0.1 -DsocksProxyPort=1 -DsocksNonProxyHosts="

    done = audits("references", *audits.jdbc, "--conf", f"spark.driver.extraJavaOptions={by_proxy}", alone=True)

    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert [note for note in done.notes if note.startswith("The database cannot be read by JDBC (")]


def test_a_failure_of_executors_is_told_without_what_they_read(
    audits: RecordAudits, commands: Commands, records: Records
) -> None:
    records(conf("unkept"))

    done = audits("references", *audits.jdbc, "--parquet", "/proc/nowhere")

    assert (done.code, done.out) == (5, "")
    assert "Spark could not read the records in Airflow's database by JDBC, or not keep them (" in done.err
    assert "unkept" not in commands.shown_by(done)
    assert PASSWORD not in commands.shown_by(done)


def test_an_audit_of_records_does_not_show_the_password_of_the_database(
    audits: RecordAudits, commands: Commands, records: Records, there: OnPostgresql, tmp_path: Path
) -> None:
    there.copies_of_records(entries_of(of_run("r"), "many"), count=ENTRIES + 1)

    with commands.logging_events(tmp_path / "events"):
        done = audits("references", *audits.jdbc)

    logged = content_of(tmp_path / "events")
    assert b"JDBCRelation" in logged
    for shown in (commands.shown_by(done).encode(), logged):
        assert PASSWORD.encode() not in shown


def test_what_was_found_in_a_table_before_a_part_of_it_failed_is_kept(
    leaks: Leaks, records: Records, there: OnPostgresql
) -> None:
    count = 3 * PART
    there.mapped_xcoms(count, at=range(1, count, PART // 2), keys=["k", "k"], values=["quiet", VALUE])
    with there.failing_at(count):
        done = leaks(*leaks.jdbc)

    assert done.code == 2
    assert done.out
    assert [note for note in done.notes if note.startswith("database:xcom was not searched, or not all of it: ")]
