"""Writing the report of an audit."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.html_page import page_of
from airflow_config_providers.spark.audit.report_file import (
    LEAK,
    replace_file,
    require_places,
    require_writable,
    write_findings,
    write_page,
)


def test_a_report_has_the_rights_of_any_new_file(tmp_path: Path):
    (tmp_path / "any").touch()

    write_page(str(tmp_path / "report.html"), "<p>")

    assert (tmp_path / "report.html").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_an_older_report_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path):
    for text in ("old", "new"):
        write_page(str(tmp_path / "report.html"), text)

    assert (tmp_path / "report.html").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_finished_leaves_the_older_one(tmp_path: Path):
    def fail(file: object) -> None:
        raise OSError(28, "No space left on device")

    write_page(str(tmp_path / "report.html"), "old")

    with pytest.raises(ConfigException, match=r"--report .* cannot be written: No space left on device\. Name another"):
        replace_file(str(tmp_path / "report.html"), fail, option="--report")

    assert (tmp_path / "report.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_link_stays_one(tmp_path: Path):
    (tmp_path / "link.html").symlink_to("report.html")

    write_page(str(tmp_path / "link.html"), "new")

    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "report.html").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path: Path):
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    write_page(str(pipe), "new")

    reader.join()
    assert read == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_no_report(tmp_path: Path):
    with pytest.raises(ConfigException, match=r"--report .* cannot be written: Is a directory\. Name another file"):
        write_page(str(tmp_path), "new")


class TestRequireWritable:
    @pytest.mark.parametrize("name", ["new.html", "old.html"])
    def test_a_file_in_a_folder_can_be_written(self, tmp_path: Path, name: str):
        (tmp_path / "old.html").touch()

        require_writable(str(tmp_path / name), option="--report")

        assert [path.name for path in tmp_path.iterdir()] == ["old.html"]

    def test_a_file_of_another_kind_is_not_replaced(self, tmp_path: Path):
        (tmp_path / "a.log").write_text("a log that is searched")

        with pytest.raises(ConfigException, match=r"--report .* cannot be written: A file of another kind is there"):
            require_places(str(tmp_path / "a.log"), None)

        with pytest.raises(ConfigException, match=r"--output-parquet .*: A file of another kind is there"):
            require_places(None, str(tmp_path / "a.log"))

    def test_the_files_of_an_earlier_audit_are_replaced(self, tmp_path: Path):
        page, parquet = tmp_path / "page.html", tmp_path / "rows.parquet"
        write_page(str(page), page_of("nothing"))
        write_findings(str(parquet), [], LEAK)

        require_places(str(page), str(parquet))

    def test_a_device_can_be_written(self):
        require_writable(os.devnull, option="--report")

    def test_no_file_needs_no_place(self):
        require_writable(None, option="--report")

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            pytest.param("", "Is a directory", id="folder"),
            pytest.param("missing/page.html", "No such file or directory", id="missing-folder"),
            pytest.param("file/page.html", "No such file or directory", id="file-as-folder"),
        ],
    )
    def test_what_cannot_be_written_is_refused(self, tmp_path: Path, name: str, problem: str):
        (tmp_path / "file").touch()

        with pytest.raises(ConfigException, match=rf"--report .* cannot be written: {problem}\. Name another file"):
            require_writable(str(tmp_path / name), option="--report")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root can write anywhere")
    def test_a_closed_folder_is_refused(self, tmp_path: Path):
        tmp_path.chmod(0o500)

        with pytest.raises(ConfigException, match="Permission denied"):
            require_writable(str(tmp_path / "page.html"), option="--report")
