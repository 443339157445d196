"""The tables in Airflow's database that are not Airflow's own, such as the logs of edge_logs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.lazy import sa

_GONE: Final = "It was deleted before it was searched. Run the audit again."

_PARTITIONS: Final = """
select child.relname from pg_inherits
join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
join pg_namespace namespace on namespace.oid = child.relnamespace and namespace.oid = parent.relnamespace
where child.relispartition and namespace.nspname = :schema
"""
"""The partitions of tables in the same schema: a query of the table returns their rows, too."""


@dataclass(frozen=True, slots=True)
class OtherTables:
    """
    The tables, as SQLAlchemy has them.

    :param unread: name -> why a table is missing in ``tables``
    """

    tables: Sequence[Any]
    unread: Mapping[str, str]


def other_tables(connection: Any, schema: str | None, own: Collection[str]) -> OtherTables:
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
    return OtherTables(found, unread)


def _without_types(table: Any) -> Any:
    """Return a table of SQLite whose columns have no type: each value has its own, whatever its column was declared."""
    for column in table.c:
        column.type = sa.types.NullType()
    return table


def _partitions(connection: Any, schema: str | None) -> Collection[str]:
    if connection.dialect.name != "postgresql":
        return ()
    return set(connection.execute(sa.text(_PARTITIONS), {"schema": schema}).scalars())
