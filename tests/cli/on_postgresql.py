"""A deployment whose database is PostgreSQL, with the records of ``tests.cli.recorded`` in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg2

from tests.cli.conftest import Deployment
from tests.cli.recorded import Records
from tests.servers.ports import free_port
from tests.servers.postgresql import postgresql

PASSWORD: Final = "c4nary-0f/the+database"

_COLUMNS: Final = """
select ordinal_position, column_name, upper(data_type), is_nullable = 'NO', column_default, false
from information_schema.columns where table_name = %s
"""


class Connected:
    """A connection to PostgreSQL that understands what records say to SQLite."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg2.connect(address)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        cursor = self._connection.cursor()
        if table := re.fullmatch(r"pragma table_info\((\w+)\)", sql):
            cursor.execute(_COLUMNS, [table[1]])
        else:
            cursor.execute(sql.replace("?", "%s"), list(values))
        return cursor

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


_MAPPED: Final = """
insert into xcom (dag_run_id, dag_id, task_id, run_id, map_index, key, value, timestamp)
select 1, 'flights', 'report', 'r', n, keys[which], to_jsonb(texts[which]), now()
from (select ?::int[] as places, ?::text[] as keys, ?::text[] as texts) given,
    generate_series(1, ?) n, lateral (select 1 + (n = any(places))::int as which) chosen
"""


_COPIED: Final = """
insert into task_state_store (dag_run_id, dag_id, task_id, run_id, map_index, key, value, updated_at)
select n, 'flights', 'report', 'r' || n, -1, ?, ?, now() from generate_series(1, ?) n
"""

_FAILING: Final = """
create function fails(place int, bad int) returns boolean language plpgsql as $$
begin
    if place = bad and position('c0' in current_query()) > 0 then raise exception 'a page is broken'; end if;
    return true;
end $$;
create policy broken on xcom using (fails(map_index, %s));
alter table xcom enable row level security, force row level security;
"""
"""With this, a query that reads the columns of ``xcom`` ends when it comes to an instance."""

_MENDED: Final = """
alter table xcom disable row level security, no force row level security;
drop policy broken on xcom;
drop function fails;
"""


class OnPostgresql:
    """
    The deployment.

    :param port: where its database listens
    :param superuser: an address for the superuser
    """

    def __init__(self, home: Path, port: int, superuser: str) -> None:
        self.deployment = Deployment(home)
        self.superuser = superuser
        self.url = f"postgresql+psycopg2://airflow:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{port}/airflow"
        self.deployment.environ |= {
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.url,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC": "sqlite+aiosqlite://",  # no command uses it
        }

    def mapped_xcoms(self, count: int, *, at: Sequence[int], keys: Sequence[str], values: Sequence[str]) -> None:
        """
        Put the XComs of many instances of a task into the database; ``records`` removes them.

        :param at: the instances that have the second of ``keys`` and ``values``, and not the first
        """
        self.execute(_MAPPED, [list(at), list(keys), list(values), count])

    def copies_of_records(self, entries: Mapping[str, Any], *, count: int) -> None:
        """Put the same record into the state of a task in many runs; ``records`` removes them."""
        for key, value in entries.items():
            self.execute(_COPIED, [key, json.dumps(value), count])

    @contextmanager
    def failing_at(self, map_index: int) -> Iterator[None]:
        """Let a search of XComs end when it comes to an instance of a mapped task."""
        self.execute(_FAILING % map_index)
        try:
            yield
        finally:
            self.execute(_MENDED)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Change the database as a superuser does, for whom rows need not belong to others."""
        with closing(Connected(self.superuser)) as database:
            database.execute("set session_replication_role = replica")
            database.execute(sql, values)
            database.commit()

    @contextmanager
    def records(self) -> Iterator[Records]:
        """Yield what puts records into the database; afterwards, it has none."""
        with closing(Connected(self.superuser)) as database:
            database.execute("set session_replication_role = replica")  # rows need not belong to others
            yield Records(database)  # type: ignore[arg-type]
            for table in ("task_state_store", "xcom", "rendered_task_instance_fields", "dag_run", "log"):
                database.execute(f"delete from {table}")
            database.commit()


@contextmanager
def on_postgresql(programs: Path, home: Path) -> Iterator[OnPostgresql]:
    """Yield the deployment, migrated, whose user has a password."""
    port = free_port()
    with postgresql(programs, port) as url:
        folder = url.partition("host=")[2].partition("&")[0]
        superuser = f"host={folder} port={port} user=postgres dbname="
        with closing(psycopg2.connect(f"{superuser}postgres")) as database:
            database.autocommit = True
            cursor = database.cursor()
            cursor.execute(f"create role airflow login password '{PASSWORD}'")
            cursor.execute("create database airflow owner airflow")
        found = OnPostgresql(home, port, f"{superuser}airflow")
        done = found.deployment.airflow("db", "migrate")
        assert done.code == 0, done.err
        yield found
