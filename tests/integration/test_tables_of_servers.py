"""The tables of others than Airflow in the databases of servers, as a task of the audit reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain

import pytest

pytest.importorskip("airflow")
pytest.importorskip("psycopg2")

from sqlalchemy import create_engine, text

from airflow_config_providers.deployment.database_tables import database_of_connection
from tests.servers.mysql import emptied, mysql, mysql_server
from tests.servers.ports import free_port
from tests.servers.postgresql import postgresql, required_postgresql

pytestmark = [pytest.mark.integration, pytest.mark.slow]

_PARTITIONED = """
create table celery_results (id int, made date, result text, primary key (id, made)) partition by range (made);
create table celery_results_1 partition of celery_results for values from ('2026-01-01') to ('2026-07-01');
create table celery_results_2 partition of celery_results for values from ('2026-07-01') to ('2027-01-01')
    partition by range (made);
create table celery_results_3 partition of celery_results_2 default;
create schema elsewhere;
create table elsewhere.unseen (id int primary key, result text) partition by range (id);
create table of_another_schema partition of elsewhere.unseen default;
insert into celery_results values (1, '2026-03-01', 'a line'), (2, '2026-11-01', 'another line');
insert into elsewhere.unseen values (1, 'a third line');
"""


_OF_ANY_TYPE = """
create table airflow.celery_results (id int, result longblob, short varbinary(20), place geometry, line mediumtext);
insert into airflow.celery_results values (1, x'80046109ff', x'ff61', point(1, 2), 'a line');
"""


@pytest.fixture
def postgres() -> Iterator[tuple[str, int]]:
    """The address for the superuser, and the port."""
    programs = required_postgresql()
    port = free_port()
    with postgresql(programs, port) as url:
        yield url, port


@pytest.fixture
def mariadb() -> Iterator[tuple[str, int]]:
    """The address for the superuser, and the port. MySQL itself cannot listen without passwords."""
    pytest.importorskip("pymysql", reason="PyMySQL is missing: pip install pymysql")
    program = mysql_server()
    if program is None or not program.endswith("mariadbd"):
        pytest.skip("MariaDB is missing: apt-get install mariadb-server")
    port = free_port()
    with mysql(program, port) as url:
        yield emptied(url), port


def run_all(url: str, *statements: str) -> None:
    engine = create_engine(url)
    with engine.begin() as database:
        for statement in statements:
            database.execute(text(statement))
    engine.dispose()


def test_each_row_of_a_partitioned_table_is_searched_once(postgres, monkeypatch):
    url, port = postgres
    run_all(url, "create role auditor login superuser password 'auditor'", _PARTITIONED)
    names = {"login": "auditor", "password": "auditor", "schema": "postgres"}
    there = {"conn_type": "postgres", "host": "127.0.0.1", "port": port, **names}
    monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps(there))

    database = database_of_connection("of_audit")
    tables = [table for table in database.tables if re.match("celery_results|of_another", table.name)]
    rows = chain.from_iterable(chain.from_iterable(database.batches(table) for table in tables))

    assert sorted(row[-1] for row in rows) == ["a line", "a third line", "another line"]


def test_bytes_and_values_of_unknown_types_in_mysql_are_searched(mariadb, monkeypatch):
    url, port = mariadb
    run_all(url, *_OF_ANY_TYPE.strip().splitlines())
    there = {"conn_type": "mysql", "host": "127.0.0.1", "port": port, "login": "root", "schema": "airflow"}
    monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps(there))

    database = database_of_connection("of_audit")
    [table] = (table for table in database.tables if table.name == "celery_results")
    [[row]] = database.batches(table)

    assert {name: row[1 + place] for place, name in enumerate(table.columns)} == {
        "result": b"\x80\x04a\t\xff",
        "short": b"\xffa",
        "place": row[3],
        "line": "a line",
    }
    assert isinstance(row[3], bytes)
