from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from airflow_config_providers.spark.private_file import has_anonymous_files, private_file, write_new
from tests.limits import LONGEST

CANARY = b"spark.k=canary-7f3a\n"

both_ways = pytest.mark.parametrize("anonymous", [pytest.param(True, id="memory"), pytest.param(False, id="named")])


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def read_in_child(path: str, pass_fds: tuple[int, ...], times: int = 1) -> bytes:
    script = f"cat {path};" * times
    return subprocess.run(["sh", "-c", script], pass_fds=pass_fds, check=True, capture_output=True).stdout


@both_ways
@pytest.mark.parametrize("content", [b"", CANARY, bytes(range(256)) * 1024], ids=["empty", "short", "256 KiB"])
def test_a_child_reads_the_content(content: bytes, anonymous: bool) -> None:
    with private_file(content, anonymous=anonymous) as file:
        assert read_in_child(file.path, file.pass_fds) == content


@both_ways
def test_it_can_be_read_more_than_once(anonymous: bool) -> None:
    with private_file(CANARY, anonymous=anonymous) as file:
        assert read_in_child(file.path, file.pass_fds, times=2) == CANARY * 2


def test_the_system_chooses_memory_where_it_has_it(temp: Path) -> None:
    with private_file(CANARY) as file:
        assert file.path == f"/dev/fd/{file.pass_fds[0]}"
        assert list(temp.iterdir()) == []


def failing_with(number: int) -> Callable[[str, int], int]:
    def create(name: str, flags: int) -> int:
        raise OSError(number, os.strerror(number))

    return create


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EINVAL])
def test_a_call_that_the_system_lacks_or_forbids_is_no_support(number: int) -> None:
    assert not has_anonymous_files(failing_with(number))


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_a_system_that_is_short_of_something_is_not_taken_for_one_without_support(number: int) -> None:
    with pytest.raises(OSError, match=os.strerror(number)):
        has_anonymous_files(failing_with(number))


def test_a_child_that_is_not_handed_the_memory_does_not_get_it() -> None:
    with private_file(CANARY, anonymous=True) as file:
        found = subprocess.run(["cat", file.path], check=False, capture_output=True)

    assert CANARY not in found.stdout


def test_the_memory_cannot_be_changed() -> None:
    with private_file(CANARY, anonymous=True) as file, pytest.raises(PermissionError):
        os.write(file.pass_fds[0], b"x")


@both_ways
def test_attack_28_nothing_is_left(anonymous: bool, temp: Path) -> None:
    with private_file(CANARY, anonymous=anonymous) as file:
        pass

    assert not Path(file.path).exists()
    assert list(temp.iterdir()) == []


@both_ways
def test_attack_28_nothing_is_left_after_an_exception(anonymous: bool, temp: Path) -> None:
    with pytest.raises(RuntimeError), private_file(CANARY, anonymous=anonymous) as file:
        raise RuntimeError

    assert not Path(file.path).exists()
    assert list(temp.iterdir()) == []


def test_a_block_can_succeed_though_something_else_has_removed_the_folder(temp: Path) -> None:
    with private_file(CANARY, anonymous=False) as file:
        shutil.rmtree(Path(file.path).parent)

    assert list(temp.iterdir()) == []


def test_the_error_of_a_block_is_kept_though_something_else_has_removed_the_folder(temp: Path) -> None:
    def fail() -> None:
        with private_file(CANARY, anonymous=False) as file:
            shutil.rmtree(Path(file.path).parent)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()


def test_a_folder_that_was_removed_is_no_reason_for_a_warning(temp: Path, caplog: pytest.LogCaptureFixture) -> None:
    with private_file(CANARY, anonymous=False):
        pass

    assert caplog.messages == []


def test_a_folder_that_cannot_be_removed_is_reported(temp: Path, caplog: pytest.LogCaptureFixture) -> None:
    with private_file(CANARY, anonymous=False) as file:
        folder = Path(file.path).parent
        folder.rename(temp / "moved")
        folder.symlink_to(temp / "moved")  # rmtree refuses a link, even to root

    assert caplog.messages == [f"{folder} cannot be removed. It can contain a file with resolved values: remove it."]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_attack_28_only_the_owner_can_read_a_named_file_whatever_the_umask(umask: int) -> None:
    before = os.umask(umask)
    try:
        with private_file(CANARY, anonymous=False) as file:
            assert stat.S_IMODE(Path(file.path).stat().st_mode) == 0o600
            assert stat.S_IMODE(Path(file.path).parent.stat().st_mode) & 0o077 == 0
    finally:
        os.umask(before)


def test_attack_28_the_name_cannot_be_foreseen() -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(private_file(CANARY, anonymous=False)) for _ in range(64)]
        tails = [Path(file.path).parent.name.rpartition("-")[2] for file in files]

    assert len(set(tails)) == 64
    assert all(len(set(place)) > 8 for place in zip(*tails, strict=True))  # no counter, clock or process id
    assert len(tails[0]) >= 8


@pytest.mark.parametrize("kind", ["link", "dangling link", "file"])
def test_attack_48_nothing_is_written_through_what_is_there_already(kind: str, tmp_path: Path) -> None:
    path, target = tmp_path / "spark.properties", tmp_path / "target"
    if kind != "dangling link":
        target.write_bytes(b"before")
    path.hardlink_to(target) if kind == "file" else path.symlink_to(target)

    with pytest.raises(FileExistsError):
        write_new(path, CANARY)

    assert kind == "dangling link" or target.read_bytes() == b"before"
    assert kind != "dangling link" or not target.exists()


@pytest.mark.parametrize(("anonymous", "left"), [(True, 0), (False, 1)], ids=["memory", "named"])
def test_attack_28_kill_9_leaves_no_memory_file(anonymous: bool, left: int, tmp_path: Path) -> None:
    script = f"""
        import time
        from airflow_config_providers.spark.private_file import private_file
        with private_file({CANARY!r}, anonymous={anonymous}) as file:
            print(file.path, flush=True)
            time.sleep({LONGEST})
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)

    assert sum(CANARY in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()) == left
    assert holder.returncode == -signal.SIGKILL


def test_the_description_does_not_hold_the_content() -> None:
    with private_file(CANARY, anonymous=True) as file:
        assert "canary" not in repr(file)
