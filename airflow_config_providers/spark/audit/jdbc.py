"""A database that executors read themselves, by JDBC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote, urlencode

from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.spark.audit.spark_failures import failure_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS: Final = "200"
"""How many rows an executor has in memory at a time."""

_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
"""One name or address: in an address of JDBC, what follows a question mark is an option, which can name a class."""


@dataclass(frozen=True, slots=True)
class JdbcDriver:
    """
    A driver that must be given to Spark.

    :param port: the usual one of the database
    :param package: its coordinates, for ``spark.jars.packages``
    :param options: those of an address of SQLAlchemy that the driver has, too
    :param properties: what it needs so that moments are in UTC, or have a time zone
    """

    name: str
    port: int
    package: str
    options: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """Says how a database was read without the driver, and how executors get it."""
        return (
            f"Airflow's database was read by one process, because Spark lacks the driver {self.name}. Executors read "
            f"it with --conf spark.jars.packages={self.package}, or with spark.jars and its file."
        )


DRIVERS: Final[Mapping[str, JdbcDriver]] = {
    "postgresql": JdbcDriver(
        "org.postgresql.Driver", 5432, "org.postgresql:postgresql:42.7.14", ("sslmode", "sslrootcert")
    ),
    "mysql": JdbcDriver(
        "com.mysql.cj.jdbc.Driver",
        3306,
        "com.mysql:mysql-connector-j:9.7.0",
        properties={"sessionVariables": "time_zone='+00:00'"},  # as Airflow itself has it
    ),
}
"""Name of a database, as SQLAlchemy has it -> its driver."""


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    """
    Where a database is, and who reads it.

    :param url: the address, which has neither the user nor the password: Spark shows it in plans
    """

    url: str
    driver: JdbcDriver
    user: str
    password: str = field(repr=False)

    @classmethod
    def of(cls, url: Any) -> Self | None:
        """
        Return the database at an address of SQLAlchemy; None if executors cannot reach it by JDBC.

        That is a file, a socket of this machine, or an address with options that a driver does not have. A host that is
        no name could bring such options, with which a hostile database reads files of executors.
        """
        backend = url.get_backend_name()
        driver = DRIVERS.get(backend)
        has_host = _HOST.fullmatch(url.host or "")
        if driver is None or not has_host or not url.database or set(url.query) - set(driver.options):
            return None
        host = f"[{url.host}]" if ":" in url.host else url.host
        options = f"?{urlencode(url.query)}" if url.query else ""
        address = f"jdbc:{backend}://{host}:{url.port or driver.port}/{quote(url.database, safe='')}{options}"
        return cls(address, driver, url.username or "", str(url.password or ""))

    def read(self, session: SparkSession, query: str, predicates: Sequence[str] = ()) -> DataFrame:
        """
        Return the rows of a query.

        :param predicates: conditions, each of which selects the rows of one task; none for one task
        """
        # Spark redacts the password in what it shows: it is a property, and not a part of the address or the query.
        login = {"user": self.user, "password": self.password, "driver": self.driver.name, "fetchsize": _ROWS}
        options: dict[str, Any] = {"predicates": list(predicates)} if predicates else {}
        properties = {**self.driver.properties, **login}
        return session.read.jdbc(self.url, f"({query}) found", properties=properties, **options)

    def has_driver(self, session: SparkSession) -> bool:
        """
        Return whether Spark has the driver.

        :raises ProviderUnavailableError: the database does not answer, or refuses this user
        """
        try:
            self.read(session, "SELECT 1 AS one")
        except Exception as error:  # noqa: BLE001 - Py4J's errors hold a whole stack of Java
            problem, text = failure_name(error), str(error)
        else:
            return True
        if "ClassNotFoundException" in text and self.driver.name in text:
            return False
        raise ProviderUnavailableError(
            f"The database cannot be read by JDBC ({problem}). This machine and all executors must reach its address, "
            f"and its user must be allowed to read it. Correct the address, or try again later."
        )


def sql_of(statement: Any, url: Any) -> str:
    """Return a statement of SQLAlchemy, with its values, in the language of the database at ``url``."""
    dialect = url.get_dialect()(paramstyle="named")  # with others, a percent sign is written twice
    return str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def predicates(columns: Sequence[str], bounds: Sequence[Sequence[Any]]) -> list[str]:
    """
    Return conditions that divide rows by their key: each row meets exactly one of them.

    :param columns: those of the key
    :param bounds: some of the keys, in order
    """
    key = f"({', '.join(columns)})"
    edges = [f"({', '.join(map(_literal, bound))})" for bound in bounds if all(map(_is_plain, bound))]
    if not edges:
        return []
    within = [f"{key} >= {low} AND {key} < {high}" for low, high in pairwise(edges)]
    return [f"{key} < {edges[0]}", *within, f"{key} >= {edges[-1]}"]


def _is_plain(value: Any) -> bool:
    """Return whether every database reads a literal alike: in MySQL, a backslash means something."""
    return isinstance(value, int) or (isinstance(value, str) and value.isprintable() and "\\" not in value)


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else "'{}'".format(value.replace("'", "''"))
