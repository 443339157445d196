"""The tables of Airflow's database in which the audit looks for values."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import chain

import pytest

from airflow_config_providers.deployment.database_tables import database_of_connection
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

    assert table.columns == ["dag_id", "log_chunk_data"]
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

    assert sorted(row[-1] for row in rows) == sorted(texts)


def test_each_row_of_a_table_with_a_key_of_two_columns_is_searched_once(made):
    lines = [(f"dag {number % 2}", number, f"line {number}") for number in range(1_001)]
    database = made(
        "create table edge_logs (dag_id varchar(250), number integer, line text, primary key (dag_id, number))",
        rows=[("insert into edge_logs values (?, ?, ?)", lines)],
    )
    rows = chain.from_iterable(database.batches(table_of(database, "edge_logs")))

    assert sorted(row[-1] for row in rows) == sorted(line for *_, line in lines)


def test_a_table_without_text_is_left_out(made):
    database = made("create table numbers (id integer primary key, at timestamp, number real)")

    assert "numbers" not in [table.name for table in database.tables]


def test_a_column_without_a_known_type_is_searched(made):
    database = made(
        "create table others (id integer primary key, bare, at timestamp, number real)",
        rows=[("insert into others (bare) values (?)", [("a text",)])],
    )
    table = table_of(database, "others")

    assert table.columns == ["bare"]
    assert "a text" in chain.from_iterable(*database.batches(table))


def test_airflows_own_tables_leave_out_where_values_are_kept_on_purpose(made):
    database = made("create table connection (id integer primary key, password text)")

    assert "password" not in table_of(database, "connection").columns


def test_a_database_that_cannot_be_asked_for_its_tables_is_not_searched_in_part(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_OF_AUDIT", json.dumps({"conn_type": "sqlite", "host": "/nowhere/airflow.db"}))

    with pytest.raises(ProviderUnavailableError, match="cannot be read"):
        database_of_connection("of_audit")
