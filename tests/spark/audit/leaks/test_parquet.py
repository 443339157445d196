"""Parquet files: every text in them is searched, and nothing else is found."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from pyarrow import parquet

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.decompression import most_content
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, Split, splits_of
from airflow_config_providers.spark.audit.leaks.leak import MOST_LEAKS, Found, FoundLeak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, LeakFinder, Occurrence
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, opened_file
from airflow_config_providers.spark.audit.leaks.parquet_file import LARGEST_ROWS, METADATA, ParquetFile
from airflow_config_providers.spark.audit.leaks.split_search import Search, search_all
from tests.spark.audit.leaks.searching import search

CANARY = "cana-ry.8f7Q2x"
FINDER = LeakFinder([KnownSecret(ConfigVariable("vault", "apps/db", "password"), CANARY)])

Place = tuple[str, int, int]
"""A column, a row counted from 0, and the offset in the value."""


def written(path: Path, table: pa.Table, **options: Any) -> FoundFile:
    parquet.write_table(table, path, **options)
    return found_at(path)


def found_at(path: Path) -> FoundFile:
    return FoundFile(str(path), path.stat().st_size, 1)


def searched(file: FoundFile) -> Found[FoundLeak]:
    return search(Split(file), FINDER)


def places(found: Found[FoundLeak]) -> list[Place]:
    return [(one.column, one.lines, one.occurrence.start) for one in found.leaks]


def one_column(values: Sequence[Any], kind: Any = None) -> pa.Table:
    return pa.table({"message": pa.array(values, kind)})


TEXTS = ["nothing", None, f"password={CANARY}", ""]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.large_binary(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_a_value_is_found_in_each_type_of_text(tmp_path: Path, kind: Any) -> None:
    plain = pa.array(TEXTS).cast(pa.binary() if "binary" in str(kind) else pa.string())
    file = written(tmp_path / "a.parquet", pa.table({"message": plain.cast(kind)}))

    assert places(searched(file)) == [("message", 2, 9)]


def test_a_value_is_found_in_bytes_of_a_fixed_size(tmp_path: Path) -> None:
    values = [b"x" * len(CANARY), CANARY.encode()]

    file = written(tmp_path / "a.parquet", one_column(values, pa.binary(len(CANARY))))

    assert places(searched(file)) == [("message", 1, 0)]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("has_dictionary", [True, False], ids=["dictionary", "plain"])
def test_a_value_is_found_in_each_compression(tmp_path: Path, codec: str, has_dictionary: bool) -> None:
    table = one_column(TEXTS * 100)

    found = searched(written(tmp_path / "a", table, compression=codec, use_dictionary=has_dictionary))

    assert places(found) == [("message", row, 9) for row in range(2, 400, 4)]
    assert not found.problem


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
def test_a_value_is_found_in_deltas(tmp_path: Path, encoding: str) -> None:
    options = {"use_dictionary": False, "column_encoding": {"message": encoding}}

    found = searched(written(tmp_path / "a", one_column([f"passwor{CANARY}", f"password={CANARY}"]), **options))

    assert places(found) == [("message", 0, 7), ("message", 1, 9)]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_value_is_found_in_pages_of_each_version(tmp_path: Path, version: str) -> None:
    found = searched(written(tmp_path / "a", one_column(TEXTS), data_page_version=version))

    assert places(found) == [("message", 2, 9)]


NESTED: Mapping[str, tuple[Any, Sequence[Any], Sequence[Place]]] = {
    "list": (
        pa.list_(pa.string()),
        [None, [], ["a", CANARY], [f"-{CANARY}"]],
        [("message[1]", 2, 0), ("message[0]", 3, 1)],
    ),
    "list-view": (
        pa.list_view(pa.string()),
        [None, [], ["a", CANARY], [f"-{CANARY}"]],
        [("message[1]", 2, 0), ("message[0]", 3, 1)],
    ),
    "large-list-view": (
        pa.large_list_view(pa.string()),
        [None, [], ["a", CANARY], [f"-{CANARY}"]],
        [("message[1]", 2, 0), ("message[0]", 3, 1)],
    ),
    "struct": (
        pa.struct([("n", pa.int64()), ("text", pa.string())]),
        [{"n": 1, "text": "a"}, None, {"n": 2, "text": CANARY}],
        [("message.text", 2, 0)],
    ),
    "map": (
        pa.map_(pa.string(), pa.string()),
        [[("a", "b"), ("c", CANARY)], None, [(CANARY, "d")]],
        [("message.key[0]", 2, 0), ("message.value[1]", 0, 0)],
    ),
    "deep": (
        pa.list_(pa.struct([("tags", pa.map_(pa.string(), pa.list_(pa.string())))])),
        [[], [{"tags": [("a", ["b"])]}, {"tags": [("c", ["d", CANARY])]}]],
        [("message.tags.value[2]", 1, 0)],
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_value_is_found_in_nested_columns(tmp_path: Path, name: str) -> None:
    kind, values, expected = NESTED[name]

    found = searched(written(tmp_path / "a", one_column(values, kind)))

    assert places(found) == list(expected)
    assert not found.problem


def test_a_value_with_line_ends_is_found_in_one_cell(tmp_path: Path) -> None:
    value = "first line of it\nsecond line of it\nthird line"
    finder = LeakFinder([KnownSecret(ConfigVariable("vault", "apps/db", "key"), value)])

    [leak] = search(Split(written(tmp_path / "a", one_column(["x", f"<{value}>"]))), finder).leaks

    assert (leak.lines, leak.occurrence.start, leak.occurrence.end) == (1, 1, 1 + len(value))


@pytest.mark.parametrize("row_group_size", [1, 2])
def test_nothing_is_found_across_cells(tmp_path: Path, row_group_size: int) -> None:
    halves = [CANARY[:7], CANARY[7:]]
    table = pa.table({"a": halves, "b": halves[::-1], "c": [halves, halves]})

    found = searched(written(tmp_path / "a", table, row_group_size=row_group_size))

    assert not found.leaks
    assert not found.problem


def test_rows_are_counted_across_row_groups_and_values_are_found_at_their_ends(tmp_path: Path) -> None:
    values = [CANARY if row % 10 in {0, 9} else "nothing" for row in range(50)]

    found = searched(written(tmp_path / "a", one_column(values), row_group_size=10))

    assert [row for _, row, _ in places(found)] == [row for row in range(50) if row % 10 in {0, 9}]


def test_each_row_group_belongs_to_one_split(tmp_path: Path) -> None:
    values = [f"{CANARY} {row:0100}" for row in range(500)]
    file = written(tmp_path / "a", one_column(values), row_group_size=7, use_dictionary=False, compression="none")

    found = [search(split, FINDER) for split in splits_of(file, size=9_000)]

    assert len(found) > 5
    assert sorted(row for one in found for _, row, _ in places(one)) == list(range(500))


def test_a_hole_in_a_file_costs_no_row_group(tmp_path: Path) -> None:
    values = ["\0" * 300_000 if row < 9 else CANARY for row in range(10)]
    path = tmp_path / "a"
    written(
        path, one_column(values), row_group_size=1, use_dictionary=False, compression="none", write_statistics=False
    )
    content = path.read_bytes()
    with path.open("wb") as sparse:
        for start in range(0, len(content), 4096):
            block = content[start : start + 4096]
            if block.strip(b"\0"):
                sparse.seek(start)
                sparse.write(block)

    with Search(FINDER, lambda octets: None) as search_one:
        found = [search_one(split) for split in splits_of(found_at(path), size=10_000)]

    assert path.read_bytes() == content
    assert [row for one in found for _, row, _ in places(one)] == [9]


def test_values_in_metadata_are_found_once_in_a_file_of_several_splits(tmp_path: Path) -> None:
    table = one_column(["nothing" * 10] * 1000)
    with parquet.ParquetWriter(tmp_path / "a", table.schema, use_dictionary=False, compression="none") as writer:
        writer.add_key_value_metadata({"by": f"user:{CANARY}"})
        writer.write_table(table)

    found = [search(split, FINDER) for split in splits_of(found_at(tmp_path / "a"), size=20_000)]

    assert len(found) > 2
    assert [(one.column, one.lines) for each in found for one in each.leaks] == [(METADATA, -1)]


def test_values_in_the_metadata_of_a_column_are_found(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("message", pa.string(), metadata={"comment": f"made with {CANARY}"})])

    found = searched(written(tmp_path / "a", pa.table({"message": ["x"]}, schema=schema)))

    assert {(one.column, one.lines) for one in found.leaks} == {(METADATA, -1)}


def test_a_column_whose_name_is_a_value_is_found_and_shown_as_its_reference(tmp_path: Path) -> None:
    file = written(tmp_path / "a", pa.table({CANARY: ["x", CANARY]}), store_schema=False)

    found = searched(file)

    assert [(one.column, one.lines) for one in found.leaks] == [(METADATA, -1), ("${vault:apps/db:password}", 1)]


@pytest.mark.parametrize("names", [["a.b", "a"], ["a", "a"], ["", "x"]], ids=str)
def test_columns_with_odd_names_are_searched(tmp_path: Path, names: Sequence[str]) -> None:
    table = pa.table([pa.array([CANARY]), pa.array([f"-{CANARY}"])], names=names)

    found = searched(written(tmp_path / "a", table))

    assert places(found) == [(names[0], 0, 0), (names[1], 0, 1)]


def test_numbers_and_moments_are_not_read(tmp_path: Path) -> None:
    finder = LeakFinder([KnownSecret(ConfigVariable("vault", "apps/db", "pin"), "8675309123")])
    table = pa.table({"number": [8675309123], "text": ["8675309123"]})

    [leak] = search(Split(written(tmp_path / "a", table)), finder).leaks

    assert leak.column == "text"


def test_a_small_file_is_searched_among_others(tmp_path: Path) -> None:
    (tmp_path / "b").write_text(CANARY)
    files = [written(tmp_path / "a", one_column(TEXTS), compression="gzip"), found_at(tmp_path / "b")]

    [some] = search_all(map(Split, files), FINDER, lambda octets: None)

    assert [len(one.leaks) for one in some] == [1, 1]


@pytest.mark.parametrize("rows", [0, 3], ids=["no-rows", "no-columns"])
def test_a_file_without_texts_is_searched_as_a_whole(tmp_path: Path, rows: int) -> None:
    table = one_column([], pa.string()) if not rows else pa.table({"a": [1, 2, 3]})

    found = searched(written(tmp_path / "a", table))

    assert not found.leaks
    assert not found.problem


def test_many_leaks_are_not_all_listed(tmp_path: Path) -> None:
    found = searched(written(tmp_path / "a", one_column([CANARY] * (MOST_LEAKS + 5))))

    assert len(found.leaks) == MOST_LEAKS
    assert "no more are listed" in found.problem


@pytest.mark.parametrize("cut", [5, 40, 200])
def test_a_broken_file_is_named_and_its_bytes_are_searched(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a"
    written(path, one_column([CANARY] * 20), compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes()[:-cut])

    found = searched(found_at(path))

    assert "cannot be read as Parquet" in found.problem
    assert found.leaks


def test_a_text_that_begins_like_parquet_is_named_and_searched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(f"PAR1 is how it begins\n{CANARY}\n")

    found = searched(found_at(path))

    assert "Only its bytes as they are were searched." in found.problem
    assert places(found) == [("", 1, 22)]


def test_a_broken_row_group_is_named_and_the_others_are_searched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    values = [f"{row} {CANARY}" for row in range(40)]
    written(path, one_column(values), row_group_size=10, compression="zstd")
    start = parquet.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 60] = b"\xff" * 60
    path.write_bytes(content)

    found = searched(found_at(path))

    assert [row for _, row, _ in places(found)] == [*range(10), *range(20, 40)]
    assert "row group 2 cannot be read" in found.problem
    assert CANARY not in found.problem


def test_a_file_with_a_good_footer_and_no_rows_that_can_be_read_is_also_searched_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    written(path, one_column(["nothing"] * 9))
    path.write_bytes(f"PAR1\npassword={CANARY}\n".encode() + path.read_bytes())  # all offsets in the footer are wrong

    found = searched(found_at(path))

    assert places(found) == [("", 1, 14)]
    assert "Its bytes as they are were searched, too." in found.problem


@dataclass(frozen=True)
class BrokenInside:
    """A file on a disk that reads only what is before ``begin`` or after ``end``."""

    content: bytes
    begin: int
    end: int
    is_far = False

    def read(self, at: int, size: int) -> bytes:
        if at < self.end and at + size > self.begin:
            raise ContentError("It cannot be read: Input/output error.")
        return self.content[at : at + size]


@pytest.mark.parametrize("groups", [1, 9])
def test_bytes_that_cannot_be_read_are_named_however_many_row_groups_cannot_be_read(
    tmp_path: Path, groups: int
) -> None:
    values = [str(row) * 90_000 for row in range(groups)]
    file = written(tmp_path / "a", one_column(values), row_group_size=1, use_dictionary=False, compression="none")
    broken = BrokenInside(Path(file.path).read_bytes(), 1_000, file.size - 2**16)  # all but the footer

    with Search(FINDER, lambda octets: None) as search_one:
        found = search_one(Split(file), lambda path, size: nullcontext(broken))

    assert "Its bytes as they are were searched, too. It cannot be read: Input/output error." in found.problem


def test_rows_are_counted_alike_after_a_split_that_was_searched_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    values = ["\n" * 20_000, CANARY]
    written(path, one_column(values), row_group_size=1, use_dictionary=False, compression="none")
    content = bytearray(path.read_bytes())
    content[4:24] = b"\xff" * 20
    path.write_bytes(content)

    found = [search(split, FINDER) for split in splits_of(found_at(path), size=len(content) // 2 - 2)]

    assert [(one.column, one.lines) for each in found for one in each.leaks if one.column] == [("message", 1)]
    assert not any(one.lines for one in found)
    assert found[0].problem


def test_an_encrypted_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PARE\x40\x00\x00\x00" + bytes(100) + b"PARE")

    assert "encrypted Parquet, is not supported" in searched(found_at(path)).problem


@pytest.mark.slow
def test_a_short_dictionary_that_stands_for_a_long_text_does_not_fill_the_memory(tmp_path: Path) -> None:
    cell = "x" * 3_000_000
    table = pa.table({"message": pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array([cell]))})
    file = written(tmp_path / "a", table, compression="zstd")  # 60 GB of text
    before = pa.total_allocated_bytes()

    found = searched(file)

    assert "times as large: only its beginning was read" in found.problem
    assert found.octets < most_content(file.size) + 2**28
    assert pa.total_allocated_bytes() - before < 2**20


def test_lists_of_long_texts_are_decoded_a_few_rows_at_a_time(tmp_path: Path) -> None:
    texts = ["x" * 100_000, "y" * 100_000]
    path = written(tmp_path / "a", one_column([texts * 50] * 30), compression="zstd").path  # 10 MB a row
    size = Path(path).stat().st_size

    with opened_file(path) as source:
        file = ParquetFile.open(source, size)
        [group] = file.groups(Split(FoundFile(path, size, 1)))
        table = next(file.tables(group)).table

    assert table.nbytes < 1.1 * LARGEST_ROWS


@pytest.mark.slow
def test_long_lists_of_the_same_text_do_not_fill_the_memory(tmp_path: Path) -> None:
    starts = pa.array(range(0, 30_000_001, 100_000), pa.int64())
    lists = pa.LargeListArray.from_arrays(starts, pa.repeat("a", 30_000_000))
    path = written(tmp_path / "a", pa.table({"message": lists})).path  # some kilobytes
    size, usual = Path(path).stat().st_size, pa.default_memory_pool()
    pa.set_memory_pool(counted := pa.proxy_memory_pool(usual))
    try:
        with opened_file(path) as source:
            file = ParquetFile.open(source, size)
            [group] = file.groups(Split(FoundFile(path, size, 1)))
            next(file.tables(group))
    finally:
        pa.set_memory_pool(usual)

    assert 0 < counted.max_memory() < 120_000_000


def test_a_file_with_a_wrong_bit_in_its_footer_does_no_harm(tmp_path: Path) -> None:
    """Arrow ends the process if it is asked for some parts of such a footer."""
    written(tmp_path / "a", one_column([f"text {row}" for row in range(40)]), row_group_size=20)
    content = (tmp_path / "a").read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")

    with Search(FINDER, lambda octets: None) as search_one:
        for chance in map(Random, range(300)):
            wrong = bytearray(content)
            wrong[chance.randrange(footer, len(content) - 4)] ^= 1 << chance.randrange(8)
            (tmp_path / "a").write_bytes(wrong)
            found = search_one(Split(found_at(tmp_path / "a")))
            assert not found.leaks
            assert "ended without a result" not in found.problem


def test_a_file_that_ends_the_process_of_its_reader_is_named_and_its_bytes_are_searched(tmp_path: Path) -> None:
    """Arrow ends its process for some broken files."""
    reader = os.getpid()

    class Ending:
        margin = FINDER.margin

        def find(self, content: bytes) -> Iterable[Occurrence]:
            if os.getpid() != reader:
                os.kill(os.getpid(), signal.SIGKILL)
            return FINDER.find(content)

    file = written(tmp_path / "a", one_column([CANARY]), compression="none")
    found = search(Split(file), Ending())

    assert "ended without a result" in found.problem
    assert found.leaks


def wide(columns: int) -> pa.Table:
    """Return a table with a value in its last cell, whose columns are not all read at once."""
    texts = [Random(row).randbytes(100).hex() for row in range(1000)]
    names = [f"column{number}" for number in range(columns)]
    return pa.table([*[texts] * (columns - 1), [*texts[:-1], f"-{CANARY}"]], names=names)


def test_of_many_columns_some_are_decoded_at_a_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a", wide(100), row_group_size=500, use_dictionary=False).path
    size = Path(path).stat().st_size

    with opened_file(path) as source:
        file = ParquetFile.open(source, size)
        read = [rows for group in file.groups(Split(FoundFile(path, size, 1))) for rows in file.tables(group)]

    assert max(rows.table.num_columns for rows in read) < 50
    assert sorted({rows.first for rows in read}) == [0, 500]
    assert sum(rows.table.num_rows * rows.table.num_columns for rows in read) == 100 * 1000
    assert places(searched(found_at(tmp_path / "a"))) == [("column99", 999, 1)]


def test_what_is_broken_in_one_column_does_not_hide_columns_that_are_read_after_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    written(path, wide(100), compression="zstd", use_dictionary=False)
    start = parquet.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 60] = b"\xff" * 60
    path.write_bytes(content)

    found = searched(found_at(path))

    assert places(found) == [("column99", 999, 1)]
    assert "row group 1 cannot be read, or not wholly" in found.problem


def test_of_many_broken_row_groups_a_few_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    written(path, one_column([f"text {row}" for row in range(40)]), row_group_size=1, compression="zstd")
    metadata = parquet.ParquetFile(path).metadata
    content = bytearray(path.read_bytes())
    for number in range(metadata.num_row_groups):
        start = metadata.row_group(number).column(0).dictionary_page_offset
        content[start : start + 20] = b"\xff" * 20
    path.write_bytes(content)

    assert searched(found_at(path)).problem.count("cannot be read") == 5


@pytest.mark.parametrize("has_plain_footer", [True, False], ids=["columns", "columns-and-footer"])
def test_what_is_encrypted_is_named(tmp_path: Path, has_plain_footer: bool) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc]  # pyarrow has no types
        def wrap_key(self, key: bytes, _: str) -> bytes:
            return key.hex().encode()

        def unwrap_key(self, key: bytes, _: str) -> bytes:
            return bytes.fromhex(key.decode())

    config = encryption.EncryptionConfiguration(
        footer_key="a", column_keys={"b": ["message"]}, plaintext_footer=has_plain_footer
    )
    keys = encryption.CryptoFactory(lambda _: Keys())
    properties = keys.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    file = written(tmp_path / "a.parquet", one_column([CANARY]), encryption_properties=properties)

    found = searched(file)

    assert found.problem
    assert not found.leaks


def test_the_rows_of_a_text_that_is_in_many_are_all_found(tmp_path: Path) -> None:
    levels = ["INFO", "WARN", f"pw={CANARY}", None] * 1000

    found = searched(written(tmp_path / "a", one_column(levels)))

    assert places(found) == [("message", row, 3) for row in range(2, 4000, 4)]


def test_numbers_of_bytes_do_not_depend_on_how_often_a_text_is_there(tmp_path: Path) -> None:
    same, other = (searched(written(tmp_path / "a", one_column(texts))) for texts in (["aaaa"] * 9, ["aaab"] * 9))

    assert same.octets == other.octets > 36
