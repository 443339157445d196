"""The tables of Airflow's database in which the audit looks for values."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from itertools import chain

import pytest
from sqlalchemy import create_engine, event, text

from airflow_config_providers.deployment.database_tables import database_of_connection, other_tables
from airflow_config_providers.exceptions import ProviderUnavailableError


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a database with tables of others than Airflow: ``made(statements)``."""

    def make(*statements, rows=()):
        path = tmp_path / "airflow.db"
        with closing(sqlite3.connect(path)) as database:
            for statement in statements:
                database.execute(statement)
            for statement, values in rows:
                database.executemany(statement, values)
            database.commit()
        monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps({"conn_type": "sqlite", "host": str(path)}))
        return database_of_connection("of_audit")

    return make


def table_of(database, name):
    [table] = (table for table in database.tables if table.name == name)
    return table


def test_a_table_of_an_executor_is_searched(made):
    """The EdgeExecutor keeps the logs of tasks there."""
    database = made(
        "create table edge_logs (dag_id varchar(250), at timestamp, log_chunk_data text, primary key (dag_id, at))",
        rows=[("insert into edge_logs values (?, ?, ?)", [("flights", "2026-11-29 21:00:00.000000", "a line")])],
    )
    table = table_of(database, "edge_logs")

    assert {"dag_id", "log_chunk_data"} <= set(table.columns)
    assert "a line" in str(list(database.batches(table)))


def test_bytes_of_another_package_are_searched(made):
    """Celery keeps results there."""
    database = made(
        "create table celery_taskmeta (id integer primary key, result blob)",
        rows=[("insert into celery_taskmeta values (?, ?)", [(1, b"\x80\x04pickled")])],
    )

    assert b"\x80\x04pickled" in chain.from_iterable(*database.batches(table_of(database, "celery_taskmeta")))


def test_each_row_of_a_table_without_a_key_is_searched_once(made):
    """``airflow db clean`` archives rows in such tables."""
    texts = [f"line {number}" for number in range(10_001)]
    database = made(
        "create table _airflow_deleted__log (extra text)",
        rows=[("insert into _airflow_deleted__log values (?)", [(text,) for text in texts])],
    )
    rows = chain.from_iterable(database.batches(table_of(database, "_airflow_deleted__log")))

    assert sorted(row[-1].decode() for row in rows) == sorted(texts)


def test_each_row_of_a_table_with_a_key_of_two_columns_is_searched_once(made):
    lines = [(f"dag {number % 2}", number, f"line {number}") for number in range(1_001)]
    database = made(
        "create table edge_logs (dag_id varchar(250), number integer, line text, primary key (dag_id, number))",
        rows=[("insert into edge_logs values (?, ?, ?)", lines)],
    )
    rows = chain.from_iterable(database.batches(table_of(database, "edge_logs")))

    assert sorted(row[-1].decode() for row in rows) == sorted(line for *_, line in lines)


def test_a_large_table_is_divided_where_the_database_has_keys_in_its_order(made):
    """A UUID is text in some databases, and a literal of it has to be what is stored there."""
    keys = [f"{number:032x}" for number in range(40_001)]
    database = made(
        "create table dag_version (id char(32) primary key)",
        rows=[("insert into dag_version values (?)", [(key,) for key in reversed(keys)])],
    )

    assert database.bounds(table_of(database, "dag_version")) == [[keys[19_999]], [keys[39_999]]]


@pytest.mark.parametrize("declared", ["", "xml", "string", "money", "integer", "real", "timestamp", "json", "boolean"])
@pytest.mark.parametrize("value", ["a text", b"a text", b"a text\xff"])
def test_what_sqlite_keeps_in_a_column_of_any_type_is_searched(made, declared, value):
    database = made(
        f"create table others (id integer primary key, given {declared})",
        rows=[("insert into others (given) values (?)", [(value,)])],
    )
    [[row]] = database.batches(table_of(database, "others"))

    assert b"a text" in row[-1]


def test_a_table_that_is_deleted_meanwhile_is_said_not_to_be_searched(tmp_path):
    """``airflow db clean`` deletes archives."""
    engine = create_engine(f"sqlite:///{tmp_path / 'airflow.db'}")
    with engine.begin() as database:
        for table in ("archive", "kept"):
            database.execute(text(f"create table {table} (extra text)"))

    @event.listens_for(engine, "before_cursor_execute")
    def once_listed(connection, cursor, statement, *_):
        if statement.startswith("PRAGMA"):
            cursor.execute("drop table if exists archive")

    with engine.connect() as database:
        tables, unread = other_tables(database, None, ())

    assert [table.name for table in tables] == ["kept"]
    assert unread == {"archive": "It was deleted before it was searched. Run the audit again."}


def test_airflows_own_tables_leave_out_where_values_are_kept_on_purpose(made):
    database = made("create table connection (id integer primary key, password text)")

    assert "password" not in table_of(database, "connection").columns


def test_a_database_that_cannot_be_asked_for_its_tables_is_not_searched_in_part(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps({"conn_type": "sqlite", "host": "/nowhere/airflow.db"}))

    with pytest.raises(ProviderUnavailableError, match="cannot be read"):
        database_of_connection("of_audit")


CLOSED = {"host": "127.0.0.1", "port": 1, "login": "auditor", "schema": "airflow"}
"""Where nothing listens."""


@pytest.mark.parametrize("conn_type", ["postgres", "postgresql", "mysql"])
def test_the_driver_that_is_installed_asks_the_database(monkeypatch, conn_type):
    pytest.importorskip("psycopg2")
    pytest.importorskip("pymysql")
    monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps({"conn_type": conn_type, **CLOSED}))

    with pytest.raises(ProviderUnavailableError, match=r"cannot be read \(OperationalError\)"):
        database_of_connection("of_audit")


@pytest.mark.parametrize(
    ("conn_type", "install"),
    [("postgres", r"psycopg2-binary or psycopg\[binary\]"), ("mysql", "mysqlclient or pymysql")],
)
def test_a_missing_driver_is_said_with_what_to_install(monkeypatch, conn_type, install):
    for module in ("psycopg2", "psycopg", "MySQLdb", "pymysql"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps({"conn_type": conn_type, **CLOSED}))

    with pytest.raises(ProviderUnavailableError, match=f"no Python driver of it is installed. Install {install} where"):
        database_of_connection("of_audit")
