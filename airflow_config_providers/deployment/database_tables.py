"""The text in Airflow's database, in its own tables and in others, which the audit searches for known values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, count
from operator import itemgetter
from typing import Any, Final, TypeVar
from uuid import UUID

from airflow_config_providers.airflow_compat import BaseHook
from airflow_config_providers.deployment.records import reading
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.lazy import sa
from airflow_config_providers.spark.audit.batches import batches
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, sql_of
from airflow_config_providers.spark.audit.leaks.database_search import TextDatabase, TextTable

# All text is searched, also where no value is expected, and in tables that a later Airflow, an executor, an auth
# manager or `airflow db clean` adds: a list of columns would be the reason that a leak is missed. Left out is where
# values are kept on purpose, usually encrypted: a reference to a variable or a connection resolves to what is there.
_KEPT_THERE: Final = {
    "variable": ("val",),
    "connection": ("host", "schema", "login", "password", "extra"),
    "connection_test_request": ("host", "schema", "login", "password", "extra"),
}

_NAMES: Final = ("dag_id", "run_id", "task_id")
"""The columns that name a row for people, before the rest of its primary key."""

_WRITTEN: Final = ("updated_at", "last_updated", "timestamp", "dttm", "created_at", "created_date", "start_date")
"""The columns that say when a row was written; the first that a table has is used."""

_WITHOUT_TEXT: Final = (
    *(sa.Boolean, sa.Integer, sa.Numeric, sa.Float, sa.Uuid, sa.Enum),
    *(sa.Date, sa.DateTime, sa.Time, sa.Interval),
)
"""The types whose values have no text that code has chosen."""

_PAGE: Final = 500
"""How many rows are read at a time by this process. No transaction is open between two of these times."""

_LARGE_PAGE: Final = 10 * _PAGE
"""The same for a table without a primary key, which is sorted each time."""

_BATCH: Final = 32 * 1024 * 1024
"""About how many characters are given to executors at a time."""

_PART: Final = 20_000
"""How many rows a task reads by JDBC."""

_DRIVERS: Final = {
    "postgresql": {"psycopg2": "psycopg2-binary", "psycopg": "psycopg[binary]"},
    "mysql": {"MySQLdb": "mysqlclient", "pymysql": "pymysql"},
}
"""Name of a database -> module of a driver -> package that has it; the first that is installed is used."""

FetchRows = Callable[[Any], Sequence[Any]]
"""Returns the rows of a query."""

_Answer = TypeVar("_Answer")

_GONE: Final = "It was deleted before it was searched. Run the audit again."

_PARTITIONS: Final = """
select child.relname from pg_inherits
join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
join pg_namespace namespace on namespace.oid = child.relnamespace and namespace.oid = parent.relnamespace
where child.relispartition and namespace.nspname = :schema
"""
"""The partitions of tables in the same schema: a query of the table returns their rows, too."""


def airflow_database() -> TextDatabase:
    """
    Return the text in the database of this deployment, for a process that may read it: a task of Airflow may not.

    :raises ProviderUnavailableError: the database is unavailable
    """
    url, (tables, unread) = reading(lambda session: (session.get_bind().url, _tables(session.connection())))
    return _database(url, tables, unread, lambda query: reading(lambda session: session.execute(query).all()))


def database_of_connection(conn_id: str) -> TextDatabase:
    """
    Return the text in the database of Airflow that a connection names, for a task.

    :param conn_id: a connection to PostgreSQL or MySQL, or to SQLite, whose host is then the path of the file
    :raises AirflowNotFoundException: there is no such connection
    :raises ProviderUnavailableError: the database is unavailable, or this process lacks its driver
    """
    found = BaseHook.get_connection(conn_id)
    if found.conn_type == "sqlite":
        url = sa.engine.URL.create("sqlite", database=found.host)
    else:
        name = _with_driver(str(found.conn_type))
        url = sa.engine.URL.create(name, found.login, found.password, found.host, found.port, found.schema)
    tables, unread = _ask_once(url, _tables)
    return _database(url, tables, unread, lambda query: _ask_once(url, lambda database: database.execute(query).all()))


def _with_driver(conn_type: str) -> str:
    """Return the name of a database, and of a driver that is installed: SQLAlchemy's default differs by version."""
    name = "postgresql" if conn_type == "postgres" else conn_type
    drivers = _DRIVERS.get(name)
    if drivers is None:
        return name
    if module := next(filter(find_spec, drivers), ""):
        return f"{name}+{module.lower()}"
    raise ProviderUnavailableError(
        f"The database of the connection cannot be read, because no Python driver of it is installed. Install "
        f"{' or '.join(drivers.values())} where this runs."
    )


def _ask_once(url: Any, ask: Callable[[Any], _Answer]) -> _Answer:
    try:
        with sa.create_engine(url, poolclass=sa.pool.NullPool).connect() as connection:
            return ask(connection)
    except (sa.exc.SQLAlchemyError, ImportError) as error:
        problem = type(error).__name__
    raise ProviderUnavailableError(f"The database of the connection cannot be read ({problem}). Correct it.")


def _tables(connection: Any) -> tuple[list[Any], Mapping[str, str]]:
    """Return Airflow's own tables and all others, such as the results of Celery, and why some others are missing."""
    from airflow.models import import_all_models  # noqa: PLC0415 - heavy
    from airflow.models.base import Base  # noqa: PLC0415 - heavy

    import_all_models()  # type: ignore[no-untyped-call] # Airflow's own
    own = Base.metadata
    others, unread = other_tables(connection, own.schema, {table.name for table in own.tables.values()})
    return [*others, *own.tables.values()], unread


def _database(url: Any, found: Sequence[Any], unread: Mapping[str, str], read: FetchRows) -> TextDatabase:
    untyped = sa.Text if url.get_backend_name() == "postgresql" else sa.LargeBinary
    queries = {table.name: _Query.of(table, untyped) for table in found}
    searched = {name: query for name, query in sorted(queries.items()) if query.columns}
    tables = [query.table(name, url) for name, query in searched.items()]
    return TextDatabase(
        tables,
        lambda table: _batches(searched[table.name], read),
        JdbcDatabase.of(url),
        unread,
        lambda table: _bounds(searched[table.name], read),
    )


@dataclass(frozen=True, slots=True)
class _Query:
    """
    How the text of a table is read.

    :param labels: name -> column that names a row
    :param key: the primary key; empty without one, as in what ``airflow db clean`` archives
    :param columns: name -> its text or bytes
    :param at: when a row was written
    """

    labels: Mapping[str, Any]
    key: Sequence[Any]
    columns: Mapping[str, Any]
    at: Any = field(repr=False)

    @classmethod
    def of(cls, table: Any, untyped: Any) -> _Query:
        """
        Return the query for a table of SQLAlchemy.

        :param untyped: the type as which values are read whose type SQLAlchemy does not know
        """
        names = [*(name for name in _NAMES if name in table.c), *(column.name for column in table.primary_key)]
        left_out = _KEPT_THERE.get(table.name, ())
        texts = {column.name: _text(column, untyped) for column in table.c if column.name not in left_out}
        written = next((table.c[name] for name in _WRITTEN if name in table.c), sa.null())
        return cls(
            {name: table.c[name] for name in dict.fromkeys(names)},
            list(table.primary_key),
            {name: text for name, text in texts.items() if text is not None},
            sa.cast(written, sa.Text),
        )

    def select(self) -> Any:
        """Return the statement that selects all rows."""
        labels = (column.label(f"k{place}") for place, column in enumerate(self.labels.values()))
        texts = (column.label(f"c{place}") for place, column in enumerate(self.columns.values()))
        return sa.select(*labels, self.at.label("at"), *texts)

    def bounds(self) -> Any:
        """Return the statement that selects the key and the number of one row in many thousands. An index has both."""
        key = [column.label(name) for column, name in zip(self.key, self.key_names(), strict=True)]
        number = sa.func.row_number().over(order_by=self.key).label("number")
        rows = sa.select(*key, number).subquery("numbered")
        return sa.select(*(rows.c[name] for name in self.key_names()), rows.c.number).where(rows.c.number % _PART == 0)

    def key_names(self) -> list[str]:
        """Return the columns of the key, as the statements name them."""
        names = list(self.labels)
        return [f"k{names.index(column.name)}" for column in self.key]

    def table(self, name: str, url: Any) -> TextTable:
        """Return the table with its query in the language of the database at ``url``."""
        return TextTable(name, list(self.labels), self.key_names(), list(self.columns), sql_of(self.select(), url))


def _text(column: Any, untyped: Any) -> Any:
    """Return the text or the bytes in a column, also if SQLAlchemy does not know its type; None if it has neither."""
    kind = column.type
    while isinstance(kind, sa.types.TypeDecorator):
        kind = kind.impl_instance
    if _is_binary(kind):
        return sa.type_coerce(column, sa.LargeBinary)  # and not the objects that Airflow makes of them
    if isinstance(kind, sa.types.NullType):
        return sa.cast(column, untyped)  # SQLite can read bytes that are not valid text only as bytes
    return None if isinstance(kind, _WITHOUT_TEXT) else sa.cast(column, sa.Text)


def _is_binary(kind: Any) -> bool:
    with suppress(NotImplementedError):  # for types without a type of Python
        return bool(kind.python_type is bytes)  # MySQL's binary types are not subclasses of LargeBinary
    return False


def _bounds(query: _Query, read: FetchRows) -> list[Sequence[Any]]:
    """Return keys with numbers and strings, as the database has them: a UUID is one of these in each."""
    numbered = sorted(read(query.bounds()), key=itemgetter(-1))
    return [[value.hex if isinstance(value, UUID) else value for value in key] for *key, _ in numbered]


def _batches(query: _Query, read: FetchRows) -> Iterator[list[Sequence[Any]]]:
    for pages in batches(_pages(query, read), _characters, least=_BATCH):
        yield list(chain.from_iterable(pages))


def _characters(rows: Iterable[Sequence[Any]]) -> int:
    return sum(len(value) for row in rows for value in row if isinstance(value, str | bytes))


def _pages(query: _Query, read: FetchRows) -> Iterator[list[Sequence[Any]]]:
    return _pages_by_key(query, read) if query.key else _pages_by_number(query, read)


def _pages_by_number(query: _Query, read: FetchRows) -> Iterator[list[Sequence[Any]]]:
    statement = query.select().order_by(*query.labels.values(), *query.columns.values()).limit(_LARGE_PAGE)
    for place in count(step=_LARGE_PAGE):
        page = read(statement.offset(place))
        yield [tuple(row) for row in page]
        if len(page) < _LARGE_PAGE:
            return


def _pages_by_key(query: _Query, read: FetchRows) -> Iterator[list[Sequence[Any]]]:
    statement = query.select().order_by(*query.key).limit(_PAGE)
    page = read(statement)
    places = [int(name[1:]) for name in query.key_names()]
    while page:
        yield [tuple(row) for row in page]
        if len(page) < _PAGE:
            return
        last = (sa.literal(page[-1][place], column.type) for place, column in zip(places, query.key, strict=True))
        page = read(statement.where(sa.tuple_(*query.key) > sa.tuple_(*last)))


def other_tables(connection: Any, schema: str | None, own: Collection[str]) -> tuple[list[Any], dict[str, str]]:
    """
    Return the tables of a database that are not among ``own``; without the partitions of others.

    :param schema: where they are; None for the usual one of the connection
    """
    inspector, is_sqlite = sa.inspect(connection), connection.dialect.name == "sqlite"
    left_out = {*own, *_partitions(connection, schema or inspector.default_schema_name)}
    found: list[Any] = []
    unread: dict[str, str] = {}
    for name in inspector.get_table_names(schema):
        if name in left_out:
            continue
        try:
            table = sa.Table(name, sa.MetaData(schema=schema), autoload_with=inspector, resolve_fks=False)
        except sa.exc.NoSuchTableError:
            unread[name] = _GONE
        except sa.exc.UnreflectableTableError as error:
            unread[name] = f"The database does not say which columns it has ({type(error).__name__})."
        else:
            found.append(_without_types(table) if is_sqlite else table)
    return found, unread


def _without_types(table: Any) -> Any:
    """Return a table of SQLite whose columns have no type: each value has its own, whatever its column was declared."""
    for column in table.c:
        column.type = sa.types.NullType()
    return table


def _partitions(connection: Any, schema: str | None) -> Collection[str]:
    if connection.dialect.name != "postgresql":
        return ()
    return set(connection.execute(sa.text(_PARTITIONS), {"schema": schema}).scalars())
