from __future__ import annotations

import io
import itertools
import os
import sys
import threading
from functools import partial

import pytest

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.reversal.stream import LONGEST_LINE
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log import reversing_guards
from airflow_config_providers.log.reversing_guards import GuardedStream
from tests.limits import LONGEST, eventually

VALUE = "Zq8 s3cr3t/val+1"
REVERSER = ReverseTransformer({}, {ConfigVariable("v", "", "a"): VALUE})


class Screen(io.StringIO):
    """Remembers each write by itself."""

    def __init__(self):
        super().__init__()
        self.writes = []
        self.flushes = 0

    def write(self, text):
        self.writes.append(text)
        return super().write(text)

    def flush(self):
        self.flushes += 1


@pytest.fixture
def active():
    active = ActiveReversers()
    active.add(REVERSER)
    return active


@pytest.fixture
def screen():
    return Screen()


@pytest.fixture
def stream(screen, active):
    return GuardedStream(screen, active, line_end="\n")


def test_a_value_in_a_line_is_reversed(stream, screen):
    print("password", VALUE, file=stream)

    assert screen.getvalue() == "password ${v:a}\n"


def test_a_value_that_comes_in_pieces_is_reversed(stream, screen):
    for piece in VALUE:
        print(piece, end="", file=stream)
    stream.flush()

    assert screen.getvalue() == "${v:a}"


def test_a_line_is_held_back_until_it_ends(stream, screen):
    stream.write("one\ntwo")
    assert screen.getvalue() == "one\n"

    stream.write("\n")
    assert screen.getvalue() == "one\ntwo\n"


def test_flush_writes_what_is_held_back_and_flushes(stream, screen):
    stream.write("prompt> ")

    stream.flush()

    assert (screen.getvalue(), screen.flushes) == ("prompt> ", 1)


def test_an_endless_line_is_not_held_back_for_ever(stream, screen):
    for _ in range(200):
        stream.write("x" * 1_000)

    assert len(screen.getvalue()) > 100_000


def test_several_lines_in_one_write_are_searched_together(screen, active):
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "pem"): "first line\nsecond line\n"}))
    stream = GuardedStream(screen, active, line_end="\n")

    stream.write("first line\nsecond line\n")

    assert screen.getvalue() == "${v:pem}"


def test_writelines_reverses(stream, screen):
    stream.writelines([f"{VALUE}\n", "x\n"])

    assert screen.getvalue() == "${v:a}\nx\n"


def test_write_gives_the_number_of_characters_it_was_given(stream):
    assert stream.write(VALUE) == len(VALUE)


def test_without_reversers_everything_passes_at_once(stream, screen, active):
    stream.write("held")
    active.remove(REVERSER)

    stream.write(VALUE)

    assert screen.getvalue() == f"held{VALUE}"


def test_without_reversers_a_line_that_was_held_back_is_written_before_what_follows(stream, screen, active):
    stream.write(f"{VALUE[:9]}\n")
    active.remove(REVERSER)

    stream.write("more\n")

    assert screen.getvalue() == f"{VALUE[:9]}\nmore\n"


def test_half_of_a_surrogate_pair_is_written(stream, screen):
    stream.write("\ud800\n")

    assert screen.getvalue() == "\ud800\n"


def test_the_binary_stream_below_writes_each_line_at_once(active):
    octets = io.BytesIO()
    stream = GuardedStream(io.TextIOWrapper(octets), active, line_end="\n")

    stream.buffer.write(b"a\nb")

    assert octets.getvalue() == b"a\n"


def test_the_binary_stream_below_is_guarded_too(active):
    octets = io.BytesIO()
    stream = GuardedStream(io.TextIOWrapper(octets), active, line_end="\n")

    stream.buffer.write(bytearray(VALUE.encode()))
    stream.flush()

    assert octets.getvalue() == b"${v:a}"


def test_other_attributes_are_those_of_the_stream(stream, screen):
    assert (stream.isatty(), stream.readable(), stream.closed) == (screen.isatty(), screen.readable(), screen.closed)


def test_text_of_the_wrong_kind_is_refused_and_does_no_lasting_harm(stream, screen):
    with pytest.raises(TypeError):
        stream.write(b"octets")
    stream.write("text\n")

    assert screen.getvalue() == "text\n"


def test_a_buffer_that_is_filled_anew_while_its_text_is_held_back_is_written_as_it_was(active):
    below = io.BytesIO()
    stream = GuardedStream(below, active, line_end=b"\n")
    buffer = bytearray(3)
    for piece in (b"one", b"two", b"end"):
        buffer[:] = piece
        stream.write(memoryview(buffer))

    stream.flush()

    assert below.getvalue() == b"onetwoend"


def test_what_is_held_back_is_written_before_the_stream_is_closed(tmp_path, active):
    stream = GuardedStream((tmp_path / "out").open("w"), active, line_end="\n")
    stream.write(f"password {VALUE}")

    stream.close()

    assert (tmp_path / "out").read_text() == "password ${v:a}"


def test_what_is_held_back_does_not_keep_a_stream_open(active):
    inner = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    stream = GuardedStream(inner, active, line_end="\n")
    stream.write("é")

    with pytest.raises(UnicodeEncodeError):
        stream.close()

    assert inner.closed


def test_lines_of_threads_stay_whole(stream, screen):
    def work(name):
        for number in range(200):
            stream.write(f"{name}-{number}\n")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(screen.getvalue().splitlines()) == sorted(f"{name}-{n}" for name in "abcd" for n in range(200))


def test_a_value_that_is_broken_over_two_lines_is_reversed(stream, screen):
    stream.write(f"is {VALUE[:8]}\n")
    assert screen.getvalue() == ""

    stream.write(f"{VALUE[8:]} so\n")
    assert screen.getvalue() == "is ${v:a} so\n"


def test_a_line_that_a_value_could_go_on_from_is_written_at_the_latest_at_the_end(stream, screen):
    stream.write(f"is {VALUE[:8]}\n")

    stream.release()

    assert screen.getvalue() == f"is {VALUE[:8]}\n"


@pytest.mark.parametrize("value", ["Zq8-s3cr3t/val+1", "пароль-Zq8-s3"])
@pytest.mark.parametrize("letter", ["x", "ж", "日", "\N{GRINNING FACE}"])
@pytest.mark.parametrize("rest", ["", "and more\n" * 10_000], ids=["at-the-end", "more"])
def test_a_long_text_in_any_script_is_written_whole_wherever_it_is_cut(screen, value, letter, rest):
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): value}))
    stream = GuardedStream(screen, active, line_end="\n")
    margin = active.reversers[0].finder.margin
    for behind in range(margin - 24, margin + 24):  # some 64 KiB are cut so far before their end
        text = f"{letter * (LONGEST_LINE // len(letter.encode()))}{value}{'x' * behind}"
        screen.seek(0)
        screen.truncate()

        stream.write(text)
        stream.write(f"{rest}\n")
        stream.flush()

        assert screen.getvalue() == f"{text}{rest}\n".replace(value, "${v:a}")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of os.fork amid threads, from Python 3.12 on
def test_a_child_writes_although_it_was_forked_while_another_thread_was_writing(active):
    entered, left = threading.Event(), threading.Event()

    class Slow(io.StringIO):
        def write(self, text):
            if "slow" in text:
                entered.set()
                left.wait(LONGEST)
            return super().write(text)

    screen = Slow()
    stream = GuardedStream(screen, active, line_end="\n")
    stream.write("of the parent")
    thread = threading.Thread(target=stream.write, args=("\nslow\nheld back",))
    thread.start()
    assert entered.wait(LONGEST)
    child = os.fork()
    if not child:
        stream.write(f"{VALUE}\n")
        os._exit(0 if screen.getvalue() == "${v:a}\n" else 1)
    ended = []
    assert eventually(lambda: ended.append(os.waitpid(child, os.WNOHANG)) or ended[-1][0])
    left.set()
    thread.join()
    stream.flush()

    assert os.waitstatus_to_exitcode(ended[-1][1]) == 0
    assert screen.getvalue() == "of the parent\nslow\nheld back"


def test_a_value_in_what_is_written_to_a_detached_stream_is_reversed(active):
    below = io.BytesIO()
    detached = GuardedStream(io.TextIOWrapper(below), active, line_end="\n").detach()

    detached.write(f"password {VALUE}\n".encode())

    assert below.getvalue() == b"password ${v:a}\n"


def test_what_is_held_back_is_written_before_a_stream_is_detached(active):
    below = io.BytesIO()
    stream = GuardedStream(io.TextIOWrapper(below), active, line_end="\n")
    stream.write(f"password {VALUE}")

    stream.detach()

    assert below.getvalue() == b"password ${v:a}"


def test_a_value_in_what_is_written_to_a_raw_stream_is_reversed(tmp_path, active):
    with (tmp_path / "out").open("w") as file:
        GuardedStream(file, active, line_end="\n").buffer.raw.write(f"password {VALUE}\n".encode())

    assert (tmp_path / "out").read_bytes() == b"password ${v:a}\n"


def test_a_value_in_what_is_written_to_a_new_buffer_above_a_raw_stream_is_reversed(tmp_path, active):
    raw = GuardedStream((tmp_path / "out").open("w"), active, line_end="\n").detach().detach()
    stream = io.TextIOWrapper(io.BufferedWriter(raw))
    stream.write(f"password {VALUE}\nthe end")

    stream.close()

    assert (tmp_path / "out").read_bytes() == b"password ${v:a}\nthe end"


def test_a_stream_without_a_raw_one_has_none(stream):
    assert not hasattr(stream, "raw")


class FlushingScreen(io.StringIO):
    """Flushes after each write with the ``flush`` that it finds by that name."""

    def write(self, text):
        length = super().write(text)
        self.flush()
        return length


def test_a_stream_that_flushes_itself_after_each_write_shows_no_beginning_of_a_value(active):
    screen = FlushingScreen()
    stream = GuardedStream(screen, active, line_end="\n")
    stream.take_over()

    stream.write(f"first\n{VALUE[:6]}")
    shown = screen.getvalue()
    stream.write(f"{VALUE[6:]}\n")

    assert (shown, screen.getvalue()) == ("first\n", "first\n${v:a}\n")


def _interrupted(call, *, by, at):
    """Call ``by`` at one line of the guard that ``call`` runs, as a signal can; return whether it runs so many."""
    lines = itertools.count(1)

    def trace(frame, event, arg):
        if event == "line" and frame.f_code.co_filename == reversing_guards.__file__ and next(lines) == at:
            by()
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        call()
    finally:
        sys.settrace(before)
    return next(lines) > at


@pytest.mark.parametrize("flush", [False, True], ids=["not flushed", "flushed"])
def test_what_a_signal_handler_prints_within_a_write_is_shown_once_beside_that(active, flush):
    seen = set()
    for at in itertools.count(1):
        stream = GuardedStream(screen := io.StringIO(), active, line_end="\n")
        handler = partial(print, "handled", VALUE, file=stream, flush=flush)
        if not _interrupted(partial(stream.write, f"written {VALUE}\n"), by=handler, at=at):
            break
        stream.flush()
        seen.add(tuple(sorted(screen.getvalue().splitlines())))

    assert seen == {("handled ${v:a}", "written ${v:a}")}
