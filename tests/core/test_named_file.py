"""Files and pipes that people name: bounded, and not waited for without a writer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_config_providers.core.named_file import LARGEST_CONFIG_FILE, read_named
from airflow_config_providers.dynamic.policies.policy_file import read_policies
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.layer_files import read_text
from tests.descriptors import open_descriptors


@pytest.fixture
def fifo(tmp_path: Path) -> str:
    os.mkfifo(tmp_path / "fifo")
    return str(tmp_path / "fifo")


@pytest.fixture
def late() -> Iterator[str]:
    """The pipe of a process that begins to write later, as that of ``<(...)`` does."""
    with subprocess.Popen(["sh", "-c", "sleep 0.3; echo a=b"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield f"/dev/fd/{process.stdout.fileno()}"


def test_a_device_without_an_end_is_not_read_on() -> None:
    with pytest.raises(OSError, match=f"it has more than {LARGEST_CONFIG_FILE} bytes"):
        read_named("/dev/zero")


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(b"#" * LARGEST_CONFIG_FILE)

    assert len(read_named(str(tmp_path / "full"))) == LARGEST_CONFIG_FILE


def test_an_empty_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    assert read_named(str(tmp_path / "empty")) == b""


def test_a_process_that_writes_late_is_waited_for(late: str) -> None:
    assert read_named(late) == b"a=b\n"


def test_a_fifo_with_a_writer_is_read(fifo: str) -> None:
    ours = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)  # so that the writer can open it
    Path(fifo).write_bytes(b"a=b\n")

    assert read_named(fifo) == b"a=b\n"
    os.close(ours)


def test_a_fifo_without_a_writer_is_not_waited_for(fifo: str) -> None:
    with pytest.raises(ConfigException, match=r"properties file .* cannot be read: It is a pipe without a writer"):
        read_text(fifo, name=fifo)


def test_nor_is_one_that_should_have_policies(fifo: str) -> None:
    with pytest.raises(ConfigException, match=r"The policies in .* cannot be read: It is a pipe without a writer"):
        read_policies(fifo)


def test_a_folder_is_refused_and_nothing_stays_open(tmp_path: Path) -> None:
    before = open_descriptors()
    with pytest.raises(IsADirectoryError):
        read_named(str(tmp_path))

    assert open_descriptors() == before
