"""The search finds a secret wherever it is put, and says where without showing it."""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

import javaproperties
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dags_examples.demo.sampler import Sampler
from dags_examples.demo.search import Finding, Search, Secret, forms_of, longest_plain_part
from tests.limits import eventually

CANARY = "k3/+&=% \"\u00fc'x9:q"


@pytest.fixture
def search() -> Search:
    return Search([Secret.of("canary", CANARY)])


WAYS = [
    pytest.param(lambda value: value.encode(), id="raw"),
    pytest.param(lambda value: value.encode("utf-16-le"), id="utf-16-le"),
    pytest.param(lambda value: value.encode("utf-16-be"), id="utf-16-be"),
    pytest.param(lambda value: quote(value, safe="").encode(), id="url"),
    pytest.param(lambda value: quote(value).encode(), id="url-with-slashes"),
    pytest.param(lambda value: quote_plus(value).encode(), id="form"),
    pytest.param(lambda value: json.dumps({"password": value}).encode(), id="json"),
    pytest.param(lambda value: html.escape(value).encode(), id="html"),
    pytest.param(lambda value: value.encode().hex().encode(), id="hex"),
    pytest.param(lambda value: value.encode().hex().upper().encode(), id="upper-hex"),
    pytest.param(lambda value: base64.b64encode(value.encode()), id="base64"),
    pytest.param(lambda value: base64.urlsafe_b64encode(value.encode()), id="urlsafe-base64"),
    pytest.param(lambda value: base64.b64encode(f"u:{value}@h".encode()), id="base64-shifted-by-two"),
    pytest.param(lambda value: base64.b64encode(f"u{value}@host".encode()), id="base64-shifted-by-one"),
]


@pytest.mark.parametrize("write", WAYS)
def test_a_secret_is_found_however_it_is_written(search: Search, write: Callable[[str], bytes]) -> None:
    search.content("here", b"before " + write(CANARY) + b" after")

    assert [finding.place for finding in search.found] == ["here"]


def test_a_secret_in_java_properties_is_found() -> None:
    value = "k3/+&=%x9:q!#"
    search = Search([Secret.of("canary", value)])

    search.content("here", javaproperties.dumps({"password": value}).encode())

    assert search.found == [Finding("here", "canary", "properties")]


@given(
    value=st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=8, max_size=40),
    before=st.binary(max_size=5),
    after=st.binary(max_size=5),
)
def test_a_secret_inside_a_base64_text_is_found_at_every_alignment(value: str, before: bytes, after: bytes) -> None:
    search = Search([Secret.of("canary", value)])

    search.content("here", base64.b64encode(before + value.encode() + after))

    assert search.found


def test_any_way_of_escaping_leaves_the_plain_part_of_a_secret(search: Search) -> None:
    value = "0123456789abcdef/+&="
    search = Search([Secret.of("canary", value)])

    search.content("here", json.dumps(json.dumps(value + '"')).replace("/", "\\u002f").encode())

    assert search.found == [Finding("here", "canary", "a part of it")]


def test_a_plain_part_that_is_short_is_no_form() -> None:
    assert longest_plain_part("abc/def") == ""


def test_a_short_secret_is_refused_and_not_shown() -> None:
    with pytest.raises(ValueError, match="canary is shorter than 8") as error:
        Secret.of("canary", "hunter2")

    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("text", ["", "an innocent text", CANARY[:-1], CANARY.swapcase()])
def test_what_is_no_secret_is_not_found(search: Search, text: str) -> None:
    search.content("here", text.encode())

    assert search.found == []


PACKERS = [
    pytest.param(gzip.compress, id="gzip"),
    pytest.param(bz2.compress, id="bzip2"),
    pytest.param(lzma.compress, id="xz"),
    *(pytest.param(partial(zlib.compress, level=level), id=f"zlib-{level}") for level in (0, 3, 6, 9)),
    pytest.param(lambda content: gzip.compress(gzip.compress(content)), id="gzip-in-gzip"),
]


@pytest.mark.parametrize("pack", PACKERS)
def test_a_packed_file_is_unpacked(search: Search, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "events").write_bytes(pack(CANARY.encode()))

    search.tree(tmp_path)

    assert search.found[-1].place.endswith("unpacked")


def test_the_members_of_a_zip_archive_are_searched(search: Search, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.txt", CANARY)

    search.tree(tmp_path)

    assert [finding.place for finding in search.found] == [f"{tmp_path / 'a.zip'}, member inner.txt"]


def test_a_damaged_member_of_a_zip_archive_is_told_and_the_others_are_searched(search: Search, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("damaged", "text" * 999)
        archive.writestr("sound", CANARY)
        start = archive.getinfo("sound").header_offset - archive.getinfo("damaged").compress_size
    content = bytearray((tmp_path / "a.zip").read_bytes())
    content[start : start + 4] = b"\xff" * 4
    (tmp_path / "a.zip").write_bytes(content)

    search.tree(tmp_path)

    assert search.unread == [f"{tmp_path / 'a.zip'}, member damaged (damaged)"]
    assert [finding.place for finding in search.found] == [f"{tmp_path / 'a.zip'}, member sound"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x28\xb5\x2f\xfd....", id="zstd"),
        pytest.param(b"LZ4Block....", id="lz4"),
        pytest.param(gzip.compress(b"text" * 99)[:-20], id="damaged-gzip"),
        pytest.param(bz2.compress(b"text" * 99)[:-5], id="truncated-bzip2"),
        pytest.param(b"PK\x03\x04....", id="damaged-zip"),
    ],
)
def test_what_cannot_be_unpacked_is_told(search: Search, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sealed").write_bytes(content)

    search.tree(tmp_path)

    assert [place.split(" (")[0] for place in search.unread] == [str(tmp_path / "sealed")]


def test_unpacking_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "foreign.zst").write_bytes(b"\x28\xb5\x2f\xfd....")
    search = Search([], unpacks=False)

    search.tree(tmp_path)

    assert (search.files, search.unread) == (1, [])


def test_files_below_are_searched_and_counted(search: Search, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/log").write_text(f"password={CANARY}")
    (tmp_path / "a/other").write_text("nothing")

    search.tree(tmp_path)

    assert (search.files, search.size) == (2, len(f"password={CANARY}".encode()) + 7)
    assert [finding.place for finding in search.found] == [str(tmp_path / "a/b/log")]


def test_a_file_with_huge_holes_is_searched_without_them(search: Search, tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"beginning")
        file.seek(1 << 40)
        file.write(CANARY.encode())
        file.truncate(1 << 41)

    search.tree(tmp_path)

    assert [finding.place for finding in search.found] == [str(path)]


def test_what_is_left_out_is_not_searched(search: Search, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/db").write_text(CANARY)

    search.tree(tmp_path, leave_out={tmp_path / "secrets"})

    assert (search.files, search.found) == (0, [])


def test_only_files_that_are_new_enough_are_searched(search: Search, tmp_path: Path) -> None:
    for name, age in (("old", 100), ("new", 0)):
        (tmp_path / name).write_text(CANARY)
        os.utime(tmp_path / name, (time.time() - age,) * 2)

    search.tree(tmp_path, since=time.time() - 50)

    assert [finding.place for finding in search.found] == [str(tmp_path / "new")]


def test_a_secret_in_the_name_of_a_file_is_found_and_not_repeated(tmp_path: Path) -> None:
    search = Search([Secret.of("canary", "correct-horse")])
    (tmp_path / "token=correct-horse.txt").touch()

    search.tree(tmp_path)

    assert [finding.place for finding in search.found] == [f"the name of a file in {tmp_path}"]


def test_a_folder_that_cannot_be_listed_is_unread(search: Search, tmp_path: Path) -> None:
    unlisted = tmp_path / ("x" * 300)

    search.tree(unlisted)

    assert search.unread == [f"{unlisted} (File name too long)"]


def test_a_folder_that_is_gone_is_not_unread(search: Search, tmp_path: Path) -> None:
    search.tree(tmp_path / "gone")

    assert search.unread == []


def test_a_pipe_is_not_waited_for(search: Search, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    search.tree(tmp_path)

    assert search.files == 0


@pytest.mark.parametrize(
    "cell", [pytest.param(CANARY, id="text"), pytest.param(zlib.compress(CANARY.encode()), id="packed-bytes")]
)
def test_every_column_of_a_database_is_searched(search: Search, tmp_path: Path, cell: str | bytes) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE first (id INTEGER, note TEXT)")
        connection.execute('CREATE TABLE "the second" (id INTEGER, "rendered fields" BLOB)')
        connection.execute("INSERT INTO first VALUES (1, NULL)")
        connection.execute('INSERT INTO "the second" VALUES (7, ?)', (cell,))
        connection.commit()

    search.database(tmp_path / "a.db")

    assert (search.tables, search.rows) == (2, 2)
    assert [finding.place.split(", unpacked")[0] for finding in search.found] == [
        "table the second, column rendered fields"
    ]


def sleeping(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(command, env={**os.environ, **environment}, **pipes)
    process.stdout.readline()
    return process


@pytest.mark.parametrize(
    ("arguments", "environment", "place"),
    [
        pytest.param(("--password", CANARY), {}, "arguments", id="arguments"),
        pytest.param((), {"TOKEN": CANARY}, "environment", id="environment"),
    ],
)
def test_a_secret_in_a_process_is_found(
    search: Search, arguments: tuple[str, ...], environment: dict[str, str], place: str
) -> None:
    with sleeping(*arguments, **environment) as process:
        Sampler(search).look()
        process.stdin.close()

    assert [finding.place.split(", ")[1] for finding in search.found] == [place]


def test_a_secret_in_the_performance_data_of_a_jvm_is_found(
    search: Search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with sleeping() as process:
        data = tmp_path / f"hsperfdata_{psutil.Process(process.pid).username()}/{process.pid}"
        data.parent.mkdir()
        data.write_bytes(b"java.command\0" + CANARY.encode())
        Sampler(search).look()
        process.stdin.close()

    assert [finding.place for finding in search.found] == [str(data)]


def test_what_a_process_shows_is_searched_once(search: Search) -> None:
    sampler = Sampler(search)
    with sleeping("--password", CANARY) as process:
        sampler.look()
        sampler.look()
        process.stdin.close()

    assert len(search.found) == 1


def test_the_sampler_looks_while_the_work_is_done(search: Search) -> None:
    with Sampler(search, interval=0.01) as sampler, sleeping() as process:
        assert eventually(lambda: sampler.looks > 2)
        process.stdin.close()

    assert sampler.processes >= 1
    assert search.found == []


def test_a_sampler_that_failed_on_the_way_is_no_proof() -> None:
    class Broken(Sampler):
        def look(self) -> None:
            raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"), Broken(Search([])):
        pass


def test_forms_that_look_alike_are_counted_once() -> None:
    forms = list(forms_of("plainletters").values())

    assert len(forms) == len(set(forms))
