from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.reversal.stream import LONGEST_LINE
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.processes.two_streams import TwoStreams
from tests.descriptors import open_descriptors
from tests.limits import LONGEST

VALUE = "Zq8-s3cr3t/val+1"
REVERSERS = (ReverseTransformer({}, {ConfigVariable("v", "", "a"): VALUE}),)


@contextmanager
def started(script, *words, stdin=subprocess.PIPE):
    """Start Python as Airflow's hooks start spark-submit; give the streams and the process."""
    with TwoStreams() as streams:
        command = streams.command([sys.executable, "-uc", script, *words])
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, **pipes, text=True, pass_fds=streams.pass_fds)
        with process:
            yield streams, process


WRITE = """
import fcntl, os, termios, time

def write(descriptor, data):
    os.write(descriptor, data)
    while any(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))):
        time.sleep(0.001)
"""
"""Writes, and waits until that has been read."""


def lines_of(script, *words, reversers=REVERSERS):
    with started(WRITE + script, *words) as (streams, process):
        return list(streams.lines(process.stdout, reversers))


def in_turn(*writes):
    """Return a script that writes to file descriptors in turn, each after the previous output was read."""
    return "\n".join(f"write({descriptor}, {text.encode()!r})" for descriptor, text in writes)


def test_no_line_of_one_stream_ends_up_within_a_line_of_the_other():
    lines = lines_of(in_turn((1, "one "), (2, "logged\n"), (1, "line\n")))

    assert lines == ["logged\n", "one line\n"]


def test_a_value_that_the_other_stream_would_cut_in_two_is_hidden():
    lines = lines_of(in_turn((1, f"is {VALUE[:8]}"), (2, "logged\n"), (1, f"{VALUE[8:]}\n")))

    assert lines == ["logged\n", "is ${v:a}\n"]


def test_a_value_on_two_lines_with_one_of_the_other_stream_between_them_is_hidden():
    lines = lines_of(in_turn((1, f"is {VALUE[:8]}\n"), (2, "logged\n"), (1, f"{VALUE[8:]}\n")))

    assert lines == ["logged\n", "is ${v:a}\n"]


def test_both_streams_are_reversed():
    assert sorted(lines_of(in_turn((1, f"out {VALUE}\n"), (2, f"err {VALUE}\n")))) == ["err ${v:a}\n", "out ${v:a}\n"]


def test_lines_come_while_the_child_runs():
    with started("import sys; print('ready', file=sys.stderr); sys.stdin.read()") as (streams, process):
        lines = streams.lines(process.stdout, REVERSERS)

        assert next(lines) == "ready\n"
        assert process.poll() is None
        process.kill()


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        pytest.param(b"a\r\nb\n", ["a\n", "b\n"], id="CR LF"),
        pytest.param(b"\r[Stage 0]\r[Stage 1]\n", ["\n", "[Stage 0]\n", "[Stage 1]\n"], id="progress"),
        pytest.param(b"last", ["last"], id="no line end"),
        pytest.param(b"\xc3\xbc \xff\n", ["\u00fc \\xff\n"], id="no text"),
        pytest.param(b"", [], id="nothing"),
    ],
)
@pytest.mark.parametrize("descriptor", [1, 2])
def test_what_is_a_line(descriptor, written, lines):
    assert lines_of(f"os.write({descriptor}, {written!r})") == lines


def test_a_letter_may_come_in_two_pieces():
    assert lines_of("write(1, b'\\xc3'); write(1, b'\\xbc\\n')") == ["\u00fc\n"]


def test_much_comes_whole():
    script = "import sys\nfor n in range(20_000):\n    print(n, file=sys.stderr if n % 3 else sys.stdout)"

    assert sorted(map(int, lines_of(script))) == list(range(20_000))


def test_the_child_is_the_process_that_was_started():
    with started("import os; print(os.getpid())") as (streams, process):
        assert list(streams.lines(process.stdout, ())) == [f"{process.pid}\n"]


DAEMON = f"""
import subprocess, sys
nothing = {{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
command = ["sh", "-c", 'sleep {LONGEST:g}; touch "$0"', sys.argv[1]]
print(subprocess.Popen(command, close_fds=False, start_new_session=True, **nothing).pid)
"""
"""Leaves a process behind that has all descriptors except the streams, and prints its id."""


@pytest.mark.parametrize("open_files", [0, 20], ids=["few open files", "many open files"])
def test_the_lines_end_with_the_child_though_a_daemon_of_it_goes_on(open_files, tmp_path):
    with ExitStack() as stack:
        for _ in range(open_files):
            stack.enter_context(Path(os.devnull).open())
        lines = lines_of(DAEMON, tmp_path / "ended")
    os.killpg(int(lines[0]), signal.SIGKILL)

    assert not (tmp_path / "ended").exists()


@pytest.mark.parametrize("open_files", [0, 20], ids=["few open files", "many open files"])
def test_a_variable_whose_name_is_no_identifier_arrives(open_files, monkeypatch):
    monkeypatch.setenv("my.var", "here")
    with ExitStack() as stack:
        for _ in range(open_files):
            stack.enter_context(Path(os.devnull).open())
        assert lines_of("import os; print(os.environ['my.var'])") == ["here\n"]


def test_the_lines_go_on_while_a_descendant_has_standard_error():
    script = "import subprocess; subprocess.Popen(['sh', '-c', 'read line; echo late >&2'], stdout=subprocess.DEVNULL)"
    with started(script) as (streams, process):
        process.wait(LONGEST)
        process.stdin.close()

        assert list(streams.lines(process.stdout, ())) == ["late\n"]


def test_no_startup_file_of_the_shell_runs(tmp_path, monkeypatch):
    (tmp_path / ".bashrc").write_text("echo bashrc\n")
    (tmp_path / "environment").write_text("echo environment\n")
    for name, value in {"HOME": tmp_path, "BASH_ENV": tmp_path / "environment"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("SHLVL", raising=False)  # bash reads .bashrc only at the first two levels
    ours, theirs = socket.socketpair()  # Airflow's tasks have one as their standard input
    with ours, theirs, started("print(1)", stdin=theirs) as (streams, process):
        assert list(streams.lines(process.stdout, ())) == ["1\n"]


def test_without_bash_the_streams_are_kept_apart_too(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert lines_of(in_turn((1, "one "), (2, "logged\n"), (1, "line\n"))) == ["logged\n", "one line\n"]


@pytest.mark.parametrize("word", ["a b", "$(false)", "'", '"', "*", "-c", "", "\x01\x7f"])
def test_words_arrive_as_they_are(word):
    assert lines_of("import sys; print(repr(sys.argv[1]))", word) == [f"{word!r}\n"]


@pytest.mark.parametrize("path", [os.defpath, ""], ids=["bash", "sh"])
def test_a_command_shows_its_own_words(path, monkeypatch):
    monkeypatch.setenv("PATH", path)
    with TwoStreams() as streams:
        assert TwoStreams.words(streams.command(["spark-submit", "job.py"])) == ["spark-submit", "job.py"]


def test_another_command_is_left_alone():
    assert TwoStreams.words(["sh", "job.sh"]) == ["sh", "job.sh"]


def test_nothing_stays_open():
    before = open_descriptors()
    lines_of("print(1)")
    with TwoStreams():
        pass

    assert open_descriptors() == before


LONG = "import sys\nsys.stdout.write('x' * int(sys.argv[1]) + sys.argv[2] + 'y' * 1_000_000)"


def test_a_line_without_an_end_comes_in_parts():
    parts = lines_of(LONG, "1000000", VALUE)

    assert "".join(parts) == "x" * 1_000_000 + "${v:a}" + "y" * 1_000_000
    assert max(map(len, parts)) < 3 * LONGEST_LINE


@pytest.mark.parametrize("place", [*range(1, len(VALUE)), 0, len(VALUE)])
def test_a_value_between_two_parts_of_a_line_is_hidden(place):
    begin = LONGEST_LINE - place

    assert "".join(lines_of(LONG, str(begin), VALUE)) == "x" * begin + "${v:a}" + "y" * 1_000_000


def test_lines_after_a_long_one_come_one_by_one():
    lines = lines_of(f"write(1, b'x' * {LONGEST_LINE}); write(1, b'x' * {LONGEST_LINE} + b'\\nnext\\nlast')")

    assert "".join(lines[:-2]) == "x" * 2 * LONGEST_LINE + "\n"
    assert lines[-2:] == ["next\n", "last"]


def test_a_reading_that_was_interrupted_goes_on_with_the_next_line():
    script = "import sys\n" + WRITE + "write(1, b'one\\ntwo\\nth'); sys.stdin.read(); write(1, b'ree\\n')"
    with started(script) as (streams, process):
        first = streams.lines(process.stdout, REVERSERS)
        assert next(first) == "one\n"
        first.close()
        process.stdin.close()

        assert list(streams.lines(process.stdout, REVERSERS)) == ["two\n", "three\n"]


def test_a_reading_that_was_interrupted_hides_a_value_that_had_begun():
    script = f"import sys\nsys.stdout.write('one\\n{VALUE[:8]}'); sys.stdin.read(); sys.stdout.write('{VALUE[8:]}')"
    with started(script) as (streams, process):
        first = streams.lines(process.stdout, REVERSERS)
        next(first)
        first.close()
        process.stdin.close()

        assert list(streams.lines(process.stdout, REVERSERS)) == ["${v:a}"]


def test_a_reading_that_has_ended_has_no_more_lines():
    with started("print(1)") as (streams, process):
        assert list(streams.lines(process.stdout, ())) == ["1\n"]

        assert list(streams.lines(process.stdout, ())) == []
