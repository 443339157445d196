"""Known values are found wherever they are, whatever the splits and blocks."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.encodings import ENCODINGS, forms
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_blocks import BLOCK, hash_of_ends
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, Split, splits_of
from airflow_config_providers.spark.audit.leaks.leak import MOST_LEAKS
from airflow_config_providers.spark.audit.leaks.leak_finder import (
    CURRENT,
    EARLIER,
    KnownSecret,
    LeakFinder,
    Occurrence,
    searchable,
)
from airflow_config_providers.spark.audit.leaks.open_file import ContentError
from airflow_config_providers.spark.audit.leaks.split_search import Search
from tests.spark.audit.leaks.compressing import COMPRESSED
from tests.spark.audit.leaks.searching import QUIET, log_with, search

PASSWORD = ConfigVariable("vault", "apps/db", "password")
TOKEN = ConfigVariable("vault", "apps/web", "token")
VALUE, OLD, OTHER = 'k9#Qv"7/wZ&é\\x2', "0ld-pass-w0rd", "t0ken-of-the-web"
FINDER = LeakFinder([KnownSecret(PASSWORD, VALUE), KnownSecret(PASSWORD, OLD, EARLIER), KnownSecret(TOKEN, OTHER)])


def found(path: Path, *, size: int = 1 << 30, block: int = 4096) -> list[tuple[int, int, str, str, bool]]:
    """Return offset, line, reference, encoding and age of what is found with splits and blocks of these sizes."""
    status = path.stat()
    rows, lines = [], 0
    for split in splits_of(FoundFile(str(path), status.st_size, 0), size=size):
        result = search(split, FINDER, block=block)
        assert result.problem == ""
        for leak in result.leaks:
            one = leak.occurrence
            rows.append((one.start, lines + leak.lines + 1, one.reference, one.encoding, one.age))
        lines += result.lines
    return rows


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_each_encoding_is_found_and_named(tmp_path: Path, encoding: str) -> None:
    for number, form in enumerate(dict.fromkeys(forms(VALUE, (encoding,)))):
        file = tmp_path / str(number)
        file.write_bytes(QUIET * 2 + b"value=" + form + b" end\n")

        [(offset, line, reference, _, age)] = found(file)

        assert file.read_bytes()[offset:].startswith(form[:4])
        assert (line, reference, age) == (3, str(PASSWORD), CURRENT)


@pytest.mark.parametrize(
    ("form", "encoding"),
    [
        pytest.param(VALUE.encode(), "plain", id="plain"),
        pytest.param(json.dumps(VALUE)[1:-1].encode(), "JSON", id="JSON"),
        pytest.param(quote(VALUE).encode(), "URL", id="URL"),
        pytest.param(base64.b64encode(VALUE.encode()), "base64", id="base64"),
        pytest.param(VALUE.encode().hex().encode(), "hex", id="hex"),
        pytest.param(OTHER[:13].encode() + b"...", "plain, in part", id="part"),
        pytest.param(b"t0ken-of-\x1b[1mthe-web", "escaped or coloured", id="coloured"),
    ],
)
def test_the_encoding_is_named(form: bytes, encoding: str) -> None:
    [one] = FINDER.find(QUIET + form + b"\n")

    assert one.encoding == encoding


def test_an_earlier_value_is_told_from_the_current_one() -> None:
    ages = [one.age for one in FINDER.find(f"{OLD} {VALUE} {OTHER}".encode())]

    assert ages == [EARLIER, CURRENT, CURRENT]


def test_a_reference_is_no_leak() -> None:
    assert list(FINDER.find(f"{PASSWORD} and {TOKEN}".encode())) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    places=st.lists(st.tuples(st.integers(0, 20_000), st.sampled_from([VALUE, OLD, OTHER])), min_size=1, max_size=6),
    size=st.integers(500, 9_000),
    block=st.integers(1, 9_000),
)
def test_splits_and_blocks_make_no_difference(
    tmp_path: Path, places: list[tuple[int, str]], size: int, block: int
) -> None:
    (tmp_path / "log").write_bytes(log_with(places))

    whole = found(tmp_path / "log")

    assert len(whole) == len(places)
    assert found(tmp_path / "log", size=size, block=block) == whole


def test_a_value_at_each_place_around_a_seam_is_found_once(tmp_path: Path) -> None:
    for place in range(980, 1010):
        (tmp_path / "log").write_bytes(b"x" * place + VALUE.encode() + b"y" * 1500)

        assert [row[0] for row in found(tmp_path / "log", size=1000, block=100)] == [place]


@pytest.mark.parametrize("name", COMPRESSED)
def test_values_in_compressed_files_have_offsets_of_the_content(tmp_path: Path, name: str) -> None:
    content = QUIET * 900 + VALUE.encode() + b"\n" + QUIET * 900
    (tmp_path / "log").write_bytes(COMPRESSED[name](content))

    assert found(tmp_path / "log", size=1000) == [(len(QUIET) * 900, 901, str(PASSWORD), "plain", CURRENT)]


def test_what_could_be_read_of_a_broken_file_is_searched(tmp_path: Path) -> None:
    content = COMPRESSED["gzip"](VALUE.encode() + b"\n" + QUIET * 5)
    (tmp_path / "log.gz").write_bytes(content[:-12])

    result = search(Split(FoundFile(str(tmp_path / "log.gz"), len(content), 0)), FINDER)

    assert len(result.leaks) == 1
    assert result.problem == "Its compressed content ends too early."


def test_a_file_that_has_vanished_is_a_problem_of_its_own(tmp_path: Path) -> None:
    result = search(Split(FoundFile(str(tmp_path / "gone"), 10, 0)), FINDER)

    assert (result.leaks, result.problem) == ((), "It cannot be opened: No such file or directory.")


def test_binary_content_is_searched(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 40 + OTHER.encode() + b"\xff\xfe\x00")

    assert [row[0] for row in found(tmp_path / "binary")] == [256 * 40]


def test_a_long_line_takes_no_more_memory_than_its_blocks(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 3_000_000 + OTHER.encode() + b"x" * 3_000_000)

    assert [row[:2] for row in found(tmp_path / "log", block=65_536)] == [(3_000_000, 1)]


def test_what_is_too_short_or_too_common_is_not_searched_for() -> None:
    secrets = [KnownSecret(PASSWORD, VALUE), KnownSecret(TOKEN, "abc"), KnownSecret(TOKEN, "password")]

    assert searchable(secrets) == ([secrets[0]], [str(TOKEN)])


def test_a_secret_does_not_show_its_value() -> None:
    assert VALUE not in repr(KnownSecret(PASSWORD, VALUE))


def test_a_file_full_of_a_value_does_not_fill_the_memory(tmp_path: Path) -> None:
    (tmp_path / "full.log").write_text(f"{OTHER}\n" * (MOST_LEAKS + 10))
    [split] = splits_of(FoundFile(str(tmp_path / "full.log"), (tmp_path / "full.log").stat().st_size, 0))

    result = search(split, FINDER)

    assert len(result.leaks) == MOST_LEAKS
    assert result.lines == MOST_LEAKS + 10
    assert result.problem == "It has 10,000 leaks in one place: no more are listed of that."


@pytest.mark.slow
def test_a_value_of_a_megabyte_is_found(tmp_path: Path) -> None:
    value = "9kQ/" * 250_000
    (tmp_path / "a.log").write_text(f"x{value}y")
    finder = LeakFinder([KnownSecret(PASSWORD, value)])

    result = search(Split(FoundFile(str(tmp_path / "a.log"), len(value) + 2, 0)), finder)

    assert [(one.occurrence.start, one.occurrence.end) for one in result.leaks] == [(1, 1 + len(value))]


def test_a_value_at_the_end_of_a_line_of_two_gigabytes_is_found(tmp_path: Path) -> None:
    size, path = 1 << 31, tmp_path / "line"
    with path.open("wb") as file:  # sparse: the splits in the hole are left out
        file.seek(size)
        file.write(OTHER.encode())

    assert found(path, size=1 << 26) == [(size, 1, str(TOKEN), "plain", CURRENT)]


@pytest.mark.slow
def test_a_bomb_is_named_and_stops_no_other_file(tmp_path: Path) -> None:
    bomb, other = tmp_path / "bomb", tmp_path / "other"
    bomb.write_bytes(bz2.compress(VALUE.encode()) + bz2.compress(bytes(16 * 1024 * 1024)) * 70)
    other.write_text(VALUE)

    results = [search(Split(FoundFile(str(path), path.stat().st_size, 0)), FINDER) for path in (bomb, other)]

    assert [len(one.leaks) for one in results] == [1, 1]
    assert [one.problem for one in results] == [
        "Its content is more than 1,100 times as large: only its beginning was read.",
        "",
    ]
    assert results[0].octets <= 1_000_000_000


@pytest.mark.parametrize("inner", [gzip.compress(b"text"), b"PAR1\x15"], ids=["gzip", "parquet"])
def test_what_is_compressed_twice_is_named(tmp_path: Path, inner: bytes) -> None:
    data = gzip.compress(inner)
    (tmp_path / "a.gz").write_bytes(data)

    result = search(Split(FoundFile(str(tmp_path / "a.gz"), len(data), 0)), FINDER)

    assert result.problem == "Its content is compressed again: only its bytes as they are were searched."


def test_a_file_that_was_divided_and_is_compressed_now_is_named(tmp_path: Path) -> None:
    data = gzip.compress(VALUE.encode())
    (tmp_path / "a.log").write_bytes(data)

    result = search(Split(FoundFile(str(tmp_path / "a.log"), len(data), 0), 0, len(data)), FINDER)

    assert result.problem == (
        "It is compressed, and was not before the search. Only its bytes as they are were searched."
    )


@dataclass
class Rewritten:
    """A file that another program writes anew, in place, when its end has been reached."""

    path: Path
    size: int
    is_far: bool = False

    def read(self, at: int, size: int) -> bytes:
        data = self.path.read_bytes()[at : at + size]
        if at == self.size:
            self.path.write_bytes(OTHER.encode().ljust(self.size, b"."))
        return data


def test_the_ends_of_a_file_that_is_rewritten_while_it_is_searched_are_those_before(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(QUIET * 3000)
    file = FoundFile(str(path), len(QUIET) * 3000, 0)

    with Search(FINDER, lambda octets: None) as one:
        result = one(Split(file), lambda path, size: nullcontext(Rewritten(Path(path), size)))

    assert result.ends == hash_of_ends(QUIET * 3000)


class BrokenAfterFirstBlock:
    """A file on a disk that fails after its first block."""

    is_far = False

    def read(self, at: int, size: int) -> bytes:
        if at + size > BLOCK:
            raise ContentError("It cannot be read: Input/output error.")
        return (VALUE.encode() + b"." * BLOCK)[at : at + size]


def test_a_file_whose_end_cannot_be_read_is_searched_before_it() -> None:
    with Search(FINDER, lambda octets: None) as one:
        result = one(Split(FoundFile("/log", BLOCK + 100, 0)), lambda path, size: nullcontext(BrokenAfterFirstBlock()))

    assert (len(result.leaks), result.problem, result.ends) == (1, "It cannot be read: Input/output error.", "")


class Broken(LeakFinder):
    """A finder with a defect."""

    def find(self, data: bytes) -> Iterator[Occurrence]:
        raise IndexError("never shown")


def test_a_finder_that_breaks_on_a_file_is_a_problem_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(QUIET)

    result = search(Split(FoundFile(str(tmp_path / "a.log"), len(QUIET), 0)), Broken([KnownSecret(PASSWORD, VALUE)]))

    assert result.problem == "It could not be searched (IndexError)."
