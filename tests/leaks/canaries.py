"""Which secrets a run has: one for each way in which one gets in, and for each place where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from secrets import choice
from string import ascii_lowercase, digits
from typing import Final

STRANGE: Final = " \"q'\\<&/+%=\u00fc$z>"
"""What JSON, Python, URLs, XML, shells and properties files each write in another way."""


class Column(StrEnum):
    """Who submits, and where the secret comes from."""

    OURS = "ours"
    UNEDITED = "no DAG edits"
    VARIABLE = "{{ var.value.x }}"
    CONNECTION = "{{ conn.x.password }}"
    LITERAL = "literal"

    @property
    def key(self) -> str:
        """Return a name that can be part of identifiers."""
        return self.name.lower()

    @property
    def is_ours(self) -> bool:
        """Return whether it is our operator, with references, and not the stock operator."""
        return self in {Column.OURS, Column.UNEDITED}


SUBMITTED: Final = ("local", "standalone", "killed", "console")
"""How tasks of ``SparkSubmitOperator`` behave."""

OURS: Final = (Column.OURS, Column.UNEDITED)
TEMPLATED: Final = (Column.VARIABLE, Column.CONNECTION)


@dataclass(frozen=True, slots=True)
class Slot:
    """
    The place of a secret in the operator.

    :param name: its name for people
    :param key: the key of the Spark configuration, if it is one
    :param text: the text around the secret
    :param hows: the behaviours of the tasks that have it
    :param columns: the columns that have it
    """

    name: str
    key: str = ""
    text: str = "{}"
    hows: tuple[str, ...] = SUBMITTED
    columns: tuple[Column, ...] = tuple(Column)


UNTEMPLATED: Final = (*OURS, Column.LITERAL)
"""Who has what the stock operator renders no template in, such as a properties file and the ``conf`` of some."""

BROKEN: Final = Slot("broken by the job", "spark.app.broken")
EXECUTOR: Final = Slot("printed by executors", "spark.app.executor")
QUERY: Final = Slot("in a query", "spark.app.query")
FILE: Final = Slot("properties file", "spark.app.from.file", columns=UNTEMPLATED)
ENVIRONMENT: Final = Slot("env_vars")
ARGUMENT: Final = Slot(
    "application_args",
    hows=("standalone", "killed"),
    columns=(Column.OURS, *TEMPLATED, Column.LITERAL),  # a DAG that nobody edited cannot allow it, so it is refused
)
TWO_LINES: Final = Slot("two lines", "spark.app.certificate")
CONF: Final = (
    Slot("sensitive key", "spark.app.db.password"),
    Slot("innocent key", "spark.app.label"),
    Slot("JDBC URL", "spark.app.source", "jdbc:postgresql://db/x?user=u&password={}&ssl=true"),
    Slot("URI", "spark.app.uri", "postgresql://u:{}@db/x"),
    Slot("Hadoop's key", "spark.hadoop.fs.s3a.secret.key"),
    TWO_LINES,
    BROKEN,
    EXECUTOR,
    QUERY,
)
SQL_CONF: Final = Slot("conf of SparkSqlOperator", "spark.app.sql", hows=("sql",), columns=UNTEMPLATED)
SQL: Final = Slot("sql of SparkSqlOperator", hows=("sql",), columns=(Column.CONNECTION,))
"""A reference there is refused."""

PYSPARK_CONF: Final = Slot(
    "config_kwargs of @task.pyspark", "spark.app.pyspark", hows=("pyspark",), columns=UNTEMPLATED
)
PYSPARK_ARGUMENT: Final = Slot(
    "argument of @task.pyspark", hows=("pyspark",), columns=(*OURS, Column.VARIABLE, Column.LITERAL)
)
JDBC_CONF: Final = Slot("spark_conf of SparkJDBCOperator", "spark.app.jdbc", hows=("jdbc",), columns=OURS)
JDBC_PASSWORD: Final = Slot("password of a JDBC connection", hows=("jdbc",), columns=(*OURS, Column.CONNECTION))
DYNAMIC: Final = Slot("dynamic configuration", "spark.app.dynamic.password", hows=("console",), columns=(Column.OURS,))
"""Written out in a file of ``alter``."""

LIVY: Final = Slot("conf of LivyOperator", "spark.app.livy", hows=("deferred",))
LIVY_LOG: Final = Slot("printed by a deferred batch of Livy", "spark.app.printed", hows=("deferred",))
OTHERS: Final = (SQL_CONF, SQL, PYSPARK_CONF, PYSPARK_ARGUMENT, JDBC_CONF, JDBC_PASSWORD, DYNAMIC, LIVY, LIVY_LOG)
SLOTS: Final = (*CONF, FILE, ENVIRONMENT, ARGUMENT, *OTHERS)
SLOTS_OF_OURS: Final = tuple(slot for slot in SLOTS if set(OURS) & set(slot.columns))


@dataclass(frozen=True, slots=True)
class Canary:
    """A random secret, and the one place where it was put."""

    column: Column
    slot: Slot
    value: str = field(repr=False)

    @property
    def text(self) -> str:
        """Return what the job must get."""
        return self.slot.text.format(self.value)

    @property
    def name(self) -> str:
        """Return a name that no other canary of the run has."""
        return f"{self.column.key}_{SLOTS.index(self.slot)}"


def new_canaries(columns: Iterable[Column] = Column) -> list[Canary]:
    """Return the secrets of a run."""
    return [Canary(column, slot, _value(slot)) for column in columns for slot in SLOTS if column in slot.columns]


def _value(slot: Slot) -> str:
    between = "\n" if slot == TWO_LINES else ""
    return f"c{_digits_and_letters()}{STRANGE}{between}k{_digits_and_letters()}"


def _digits_and_letters() -> str:
    """Return a text that does not look like a number; some hexadecimal ones do, and a part of them may be shown."""
    return "".join(choice(digits) + choice(ascii_lowercase) for _ in range(8))
