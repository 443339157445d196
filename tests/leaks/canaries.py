"""Which secrets a run has: one for each way in which one gets in, and for each place where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from secrets import token_hex
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
        """Give a name that may be part of identifiers."""
        return self.name.lower()

    @property
    def is_ours(self) -> bool:
        """Tell references from what the stock operator has."""
        return self in {Column.OURS, Column.UNEDITED}


@dataclass(frozen=True, slots=True)
class Slot:
    """
    Where a secret stands in the operator.

    :param name: how people are told of it
    :param key: the key in ``conf``, where it is one
    :param text: what stands around the secret
    """

    name: str
    key: str = ""
    text: str = "{}"


BROKEN: Final = Slot("broken by the job", "spark.app.broken")
EXECUTOR: Final = Slot("printed by executors", "spark.app.executor")
QUERY: Final = Slot("in a query", "spark.app.query")
FILE: Final = Slot("properties file", "spark.app.from.file")
ENVIRONMENT: Final = Slot("env_vars")
ARGUMENT: Final = Slot("application_args")
TWO_LINES: Final = Slot("two lines", "spark.app.certificate")
CONF: Final = (
    Slot("key that sounds secret", "spark.app.db.password"),
    Slot("innocent key", "spark.app.label"),
    Slot("JDBC URL", "spark.app.source", "jdbc:postgresql://db/x?user=u&password={}&ssl=true"),
    Slot("URI", "spark.app.uri", "postgresql://u:{}@db/x"),
    Slot("Hadoop's key", "spark.hadoop.fs.s3a.secret.key"),
    TWO_LINES,
    BROKEN,
    EXECUTOR,
    QUERY,
)
SLOTS: Final = (*CONF, FILE, ENVIRONMENT, ARGUMENT)


@dataclass(frozen=True, slots=True)
class Canary:
    """A random secret, and the one place where it was put."""

    column: Column
    slot: Slot
    value: str = field(repr=False)

    @property
    def text(self) -> str:
        """Give what the job has to get."""
        return self.slot.text.format(self.value)

    @property
    def name(self) -> str:
        """Give a name that no other canary of the run has."""
        return f"{self.column.key}_{SLOTS.index(self.slot)}"


def new_canaries(columns: Iterable[Column] = Column) -> list[Canary]:
    """Make the secrets of a run."""
    return [Canary(column, slot, _value(slot)) for column in columns for slot in _slots(column)]


def _slots(column: Column) -> Iterator[Slot]:
    """
    Leave out what does not exist.

    The stock operator renders no template inside a properties file. A reference in ``application_args`` is refused
    where the author does not allow it, and the stock operator has no argument for that.
    """
    left_out = {Column.VARIABLE: FILE, Column.CONNECTION: FILE, Column.UNEDITED: ARGUMENT}
    return (slot for slot in SLOTS if slot != left_out.get(column))


def _value(slot: Slot) -> str:
    between = "\n" if slot == TWO_LINES else ""
    return f"c{token_hex(8)}{STRANGE}{between}k{token_hex(8)}"
