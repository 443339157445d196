"""The text of rows, searched without Spark."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.jdbc import JdbcDatabase, predicates
from airflow_config_providers.spark.audit.leaks import database_search
from airflow_config_providers.spark.audit.leaks.database_search import SearchedRows, TextTable, search_rows
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, LeakFinder, Occurrence

PASSWORD = ConfigVariable("vault", "apps/db", "password")
VALUE = "c4nary-Pa$$w0rd/of+the=audit"
FINDER = LeakFinder([KnownSecret(PASSWORD, VALUE)])
TABLE = TextTable("xcom", ("dag_id", "key"), ("k0", "k1"), ("key", "value"), "")
AT = "2026-11-25 08:00:00.123+00"


def search(*rows: tuple[Any, ...], finder: LeakFinder = FINDER) -> SearchedRows:
    return search_rows(TABLE, rows, finder)


def test_a_leak_has_the_name_of_its_row_and_its_place_in_the_value() -> None:
    (leak,) = search(("flights", "a", AT, "a", f"first\nx {VALUE}")).leaks

    assert (leak.file, leak.offset, leak.line) == ("database:xcom.value:dag_id=flights/key=a", 8, 2)
    assert (leak.reference, leak.encoding, leak.age) == (str(PASSWORD), "plain", "current")
    assert leak.modified == "2026-11-25T08:00:00+00:00"


@pytest.mark.parametrize("at", [None, "", "infinity"])
def test_a_row_that_does_not_say_when_it_was_written_has_no_time(at: str | None) -> None:
    (leak,) = search(("flights", "a", at, "a", VALUE)).leaks

    assert leak.modified == ""


def test_lines_are_counted_between_the_leaks_of_a_value() -> None:
    found = search(("flights", "a", AT, "a", f"{VALUE}\n{VALUE}\n\n{VALUE}"))

    assert [leak.line for leak in found.leaks] == [1, 2, 4]


def test_rows_without_a_leak_are_counted() -> None:
    found = search(("flights", "a", AT, "a", "12345"), ("flights", "b", None, "b", None))

    assert (found.rows, found.octets, found.leaks) == (2, 7, [])


def test_no_leak_is_made_of_two_values_that_follow_each_other() -> None:
    found = search(("flights", "a", AT, VALUE[:14], VALUE[14:]))

    assert {leak.encoding for leak in found.leaks} <= {"plain, in part"}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(zlib.compress(VALUE.encode()), id="compressed"),
        pytest.param(bytearray(VALUE.encode()), id="bytes"),
        pytest.param(memoryview(b"\x78\x9c" + VALUE.encode()), id="only begins as if compressed"),
        pytest.param(json.dumps({"a": VALUE}), id="JSON"),
    ],
)
def test_bytes_are_decompressed_if_they_are_compressed(data: Any) -> None:
    assert len(search(("flights", "a", AT, "a", data)).leaks) == 1


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(zlib.compress(b"nothing") + VALUE.encode(), id="after what is compressed"),
        pytest.param(zlib.compress(VALUE.encode() + b"x" * 999)[:-6], id="cut"),
        pytest.param(b"x\x01\x00" + bytes([200, 0, 55, 255]) + VALUE.encode(), id="stored and cut"),
        pytest.param(b"x^" + b"\xed\xbd" + VALUE.encode(), id="looks compressed"),
    ],
)
def test_bytes_that_are_compressed_in_part_are_searched_as_a_whole(data: bytes) -> None:
    assert str(PASSWORD) in {leak.reference for leak in search(("flights", "a", AT, "a", data)).leaks}


@pytest.mark.parametrize("level", [0, 9])
def test_a_value_in_damaged_bytes_is_one_leak_whether_they_are_stored_or_compressed(level: int) -> None:
    data = zlib.compress(f"{VALUE} and more".encode(), level)[:-6]

    assert len(search(("flights", "a", AT, "a", data)).leaks) == 1


@pytest.mark.parametrize("at", ["0001-01-01 00:00:00+05", "9999-12-31 23:59:59-05", "infinity", "0044-03-15 BC"])
def test_a_row_of_an_impossible_year_is_searched(at: str) -> None:
    assert len(search(("flights", "a", at, "a", VALUE)).leaks) == 1


def test_a_value_in_the_key_is_a_leak_and_not_shown() -> None:
    found = search(("flights", VALUE, AT, VALUE, f"x {VALUE}"))

    key = f"dag_id=flights/key={PASSWORD}"
    assert [leak.file for leak in found.leaks] == [f"database:xcom.key:{key}", f"database:xcom.value:{key}"]


def test_control_characters_in_a_key_are_escaped() -> None:
    (leak,) = search(("a\n\x1b[31m", "b", AT, "b", VALUE)).leaks

    assert leak.file == "database:xcom.value:dag_id=a\\n\\x1b[31m/key=b"


class BrokenAtOne(LeakFinder):
    """A finder with a defect that one text meets."""

    def find(self, data: bytes) -> Iterator[Occurrence]:
        if b"odd" in data:
            raise IndexError("never shown")
        yield from super().find(data)


def test_a_row_that_breaks_the_search_ends_it_for_the_rows_around_it_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_search, "BLOCK", 1)
    broken = BrokenAtOne([KnownSecret(PASSWORD, VALUE)])

    found = search(("flights", "a", AT, "a", "odd"), ("flights", "b", AT, "b", VALUE), finder=broken)

    assert found.unread == {"database:xcom": "Some rows could not be searched (IndexError)."}
    assert len(found.leaks) == 1


def test_a_value_with_too_many_leaks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_search, "MOST_LEAKS", 3)
    found = search(("flights", "a", AT, "a", f"{VALUE} " * 5))

    assert len(found.leaks) == 3
    assert list(found.unread) == ["database:xcom.value:dag_id=flights/key=a"]


def test_a_compressed_value_that_is_too_large_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_search, "LARGEST_VALUE", 1000)
    found = search(("flights", "a", AT, "a", zlib.compress(bytes(100_000))))

    assert found.octets == 1001
    assert list(found.unread) == ["database:xcom.value:dag_id=flights/key=a"]


def test_what_follows_a_compressed_value_of_the_largest_size_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_search, "LARGEST_VALUE", 1000)
    found = search(("flights", "a", AT, "a", zlib.compress(bytes(1000)) + VALUE.encode()))

    assert (len(found.leaks), found.unread) == (1, {})


COMPRESSED = zlib.compress(f"some {VALUE}".encode())
LONG = zlib.compress((VALUE + Random(1).randbytes(20_000).hex()).encode())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(COMPRESSED[:-1] + bytes([COMPRESSED[-1] ^ 1]), id="checksum"),
        pytest.param(LONG[:9_000] + b"\xff" * 99 + LONG[9_099:], id="middle"),
        pytest.param(COMPRESSED[:-3], id="cut"),
    ],
)
def test_what_comes_before_the_damage_of_a_compressed_value_is_searched(data: bytes) -> None:
    assert len(search(("flights", "a", AT, "a", data)).leaks) == 1


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(COMPRESSED[:2] + b"\xff" + COMPRESSED[3:], id="at its beginning"),
        pytest.param(COMPRESSED[:-1] + bytes([COMPRESSED[-1] ^ 1]), id="at its end"),
        pytest.param(COMPRESSED[:-3], id="cut"),
    ],
)
def test_a_damaged_compressed_value_is_named(data: bytes) -> None:
    [(name, problem)] = search(("flights", "a", AT, "a", data)).unread.items()

    assert name == "database:xcom.value:dag_id=flights/key=a"
    assert problem.startswith("Its compressed content is damaged, or ends too early")


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"x", b"80", b"8080", b"x = 1", b"HK", b"(Sx", b"x^2 + 1", b"HKSecure", b"HKR 12"),
        *(text.encode() for text in ("x^2 größer", "x^é", "HKé 12", "x^ 日本")),
        *(b"\x80\x04pickle", zlib.compress(b"sound") + b"more"),
    ],
)
def test_bytes_that_are_sound_or_not_compressed_are_not_named(data: bytes) -> None:
    assert search(("flights", "a", AT, "a", data)).unread == {}


def test_a_large_value_that_is_not_compressed_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_search, "LARGEST_VALUE", 100)

    assert search(("flights", "a", AT, "a", "x" * 200)).unread == {}


class TestPredicates:
    def test_each_row_meets_exactly_one(self) -> None:
        sqlite3 = pytest.importorskip("sqlite3")
        rows = [(dag, number) for dag in ("a", "b'c", "d?%:", "é") for number in range(10)]
        with sqlite3.connect(":memory:") as database:
            database.execute("create table t (k0 text, k1 integer)")
            database.executemany("insert into t values (?, ?)", rows)
            selected = [
                row
                for condition in predicates(("k0", "k1"), [rows[5], rows[14], rows[25], rows[39]])
                for row in database.execute(f"select * from t where {condition}")
            ]

        assert sorted(selected) == sorted(rows)

    def test_a_bound_that_databases_read_differently_is_left_out(self) -> None:
        assert predicates(("k0",), [("a\\b",), ("a\0",), (b"a",)]) == []


class TestAddresses:
    @pytest.mark.parametrize(
        ("address", "expected"),
        [
            ("postgresql+psycopg2://u:p%40w@db/airflow", "jdbc:postgresql://db:5432/airflow"),
            ("postgresql://u@[::1]:6432/a b?sslmode=require", "jdbc:postgresql://[::1]:6432/a%20b?sslmode=require"),
            ("mysql+mysqldb://u:p@db/airflow", "jdbc:mysql://db:3306/airflow"),
            ("mysql://u:p@db/airflow?allowLoadLocalInfile=true", None),
            ("postgresql:///airflow?host=/run/postgresql", None),
            ("postgresql://u:p@db/airflow?socketFactory=x", None),
            ("postgresql://u:p@db%3FsocketFactory=x/airflow", None),
            ("sqlite:////airflow.db", None),
        ],
    )
    def test_an_address_of_sqlalchemy_is_one_of_jdbc(self, address: str, expected: str | None) -> None:
        engine = pytest.importorskip("sqlalchemy.engine")

        found = JdbcDatabase.of(engine.make_url(address))

        assert (found and found.url) == expected

    @pytest.mark.parametrize(
        "host",
        [
            "db/x?allowLoadLocalInfile=true&y=",
            "db:3306/x?autoDeserialize=true#",
            "db,other",
            "(host=db)",
            "db@x",
            "::1/x",
        ],
    )
    @pytest.mark.parametrize("name", ["postgresql", "mysql"])
    def test_a_host_brings_no_options(self, name: str, host: str) -> None:
        engine = pytest.importorskip("sqlalchemy.engine")

        assert JdbcDatabase.of(engine.URL.create(name, "u", "p", host, 3306, "airflow")) is None

    def test_the_password_is_not_shown(self) -> None:
        engine = pytest.importorskip("sqlalchemy.engine")

        found = JdbcDatabase.of(engine.make_url("postgresql://u:p%40w@db/airflow"))

        assert found is not None
        assert found.password == "p@w"
        assert "p@w" not in repr(found)
