"""A record of a try as a row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class Content(NamedTuple):
    """
    A file with records, one a line.

    :param modified: when it was modified, in microseconds since 1970
    :param length: how many bytes it has
    :param content: the bytes; None if they are too many
    """

    file: str
    modified: int
    length: int
    content: bytes | None


class ValueRow(NamedTuple):
    """
    A value that a layer had for a key.

    :param rank: 0 for the winner, then in order of precedence
    :param value: the string with its references; None for a plaintext secret
    :param name: the name that the layer has for the key
    :param winner: the source of the winner
    """

    key: str
    rank: int
    source: str
    origin: str
    value: str | None
    name: str
    winner: str


class RecordRow(NamedTuple):
    """
    A record, or what could not be read as one: then ``problem`` says why, and the rest is empty.

    :param file: where it was read
    :param modified: when the file was modified, in microseconds since 1970
    :param length: of the file, in bytes
    :param day: the day of its folder or, outside of such a folder, of the record itself
    :param at: when the configuration was settled, in ISO 8601 and UTC
    :param is_later: whether a later version of this package has written it
    :param follows: the try that submitted the job, if this one only follows it
    :param refusals: why the try was refused
    :param bundle_folder: the folder of the version of its DAG bundle; empty if it is not known, or there is none
    """

    file: str
    modified: int
    length: int
    problem: str
    day: str
    dag: str = ""
    task: str = ""
    run: str = ""
    map_index: int = -1
    try_number: int = 0
    at: str = ""
    is_later: bool = False
    follows: int | None = None
    refusals: Sequence[str] = ()
    versions: Mapping[str, str] = {}
    key_id: str = ""
    references: Mapping[str, str | None] = {}
    configs: Sequence[ValueRow] = ()
    bundle_folder: str = ""


_VALUE: Final = "key: string, rank: int, source: string, origin: string, value: string, name: string, winner: string"

TRY: Final = ("dag", "task", "run", "map_index", "try_number")
"""The columns that name a try."""

_FILE: Final = "file string, modified bigint, length bigint"

CONTENT: Final = f"{_FILE}, content binary"
"""The columns of ``Content``, for Spark."""

LISTED: Final = f"{_FILE}, folder string"
"""Those of a file that was not read yet."""

SCHEMA: Final = (
    f"{_FILE}, problem string, day string, dag string, task string, run string, "
    "map_index int, try_number int, at string, is_later boolean, follows int, refusals array<string>, "
    "versions map<string, string>, key_id string, references map<string, string>, "
    f"configs array<struct<{_VALUE}>>, bundle_folder string"
)
"""The columns of ``RecordRow``, for Spark."""
