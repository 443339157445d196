"""Files are opened through no link, one after the other."""

from __future__ import annotations

import errno
import ssl
from contextlib import closing
from pathlib import Path

import pytest

from airflow_config_providers.spark.audit.leaks.open_file import ContentError, OpenFolder, reason
from tests.descriptors import open_descriptors


def test_files_of_several_folders_are_opened_one_after_the_other(tmp_path: Path) -> None:
    paths = [tmp_path / folder / name for folder in ("a", "b") for name in ("1", "2")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(str(path).encode())

    with closing(OpenFolder()) as folder:
        for path in paths:
            with folder.opened(str(path)) as source:
                assert source.read(0, 1_000) == str(path).encode()


def test_after_a_folder_that_is_missing_others_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")

    with closing(OpenFolder()) as folder:
        for _ in range(2):
            with pytest.raises(ContentError, match="No such file"), folder.opened(str(tmp_path / "missing" / "a")):
                pass
            with folder.opened(str(tmp_path / "a")) as source:
                assert source.read(0, 10) == b"x"


def test_a_link_is_not_opened_in_a_folder_that_is_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "a")

    with closing(OpenFolder()) as folder:
        with folder.opened(str(tmp_path / "a")):
            pass
        with pytest.raises(ContentError, match="cannot be opened"), folder.opened(str(tmp_path / "link")):
            pass


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list the open files of a process")
def test_nothing_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    before = open_descriptors()
    with closing(OpenFolder()) as folder, folder.opened(str(tmp_path / "a")):
        assert len(open_descriptors()) == len(before) + 2

    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(PermissionError(errno.EPERM, "c4nary"), "Operation not permitted", id="system"),
        pytest.param(PermissionError("c4nary"), "Permission denied", id="without-a-number"),
        pytest.param(ssl.SSLCertVerificationError(1, "c4nary"), "SSLCertVerificationError", id="tls"),
    ],
)
def test_a_reason_has_no_message_of_a_library(error: Exception, expected: str) -> None:
    assert reason(error) == expected
