"""The bytes of files, whole or broken."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from airflow_config_providers.spark.audit.leaks.file_blocks import blocks, ends_hash, hash_of_ends
from airflow_config_providers.spark.audit.leaks.open_file import ContentError, LoadedFile, opened_file


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    """Opening it would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ContentError, match="no regular file"), opened_file(str(tmp_path / "pipe")):
        pass


def test_a_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")

    with pytest.raises(ContentError, match="cannot be opened"), opened_file(str(tmp_path / "link")):
        pass


def test_a_file_that_becomes_shorter_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")

    with opened_file(str(tmp_path / "a")) as source, pytest.raises(ContentError, match="shorter"):
        list(blocks(source, 0, 10))


@pytest.mark.parametrize("size", [0, 1, 4_095, 4_096, 4_097, 8_192, 9_000])
def test_the_hash_of_both_ends_is_that_of_a_file_that_has_only_grown(size: int) -> None:
    content = os.urandom(size)

    assert ends_hash(LoadedFile(content + b"more"), size) == ends_hash(LoadedFile(content), size)
    assert ends_hash(LoadedFile(content), size) == hash_of_ends(content)


@pytest.mark.parametrize("place", [0, 4_095, 5_000, 8_999], ids=["first", "beginning", "end", "last"])
def test_another_beginning_or_end_has_another_hash(place: int) -> None:
    content = b"a" * place + b"b" + b"a" * (8_999 - place)

    assert ends_hash(LoadedFile(content + b"more"), 9_000) != ends_hash(LoadedFile(b"a" * 9_000), 9_000)


def test_what_has_become_shorter_or_is_compressed_has_no_hash_of_its_ends() -> None:
    assert ends_hash(LoadedFile(b"a" * 8_999), 9_000) == ""
    assert ends_hash(LoadedFile(b"a" * 3), 4) == ""
    assert ends_hash(LoadedFile(gzip.compress(b"a")), 1) == ""


def test_a_folder_that_became_a_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.log").write_text("x")
    (tmp_path / "logs").symlink_to(tmp_path / "elsewhere")

    with (
        pytest.raises(ContentError, match="It cannot be opened"),
        opened_file(str(tmp_path.resolve() / "logs" / "a.log")),
    ):
        pass


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/etc/passwd")], ids=["pipe", "link"])
def test_a_file_that_became_something_else_is_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.log")

    with pytest.raises(ContentError), opened_file(str(tmp_path.resolve() / "a.log")):
        pass
