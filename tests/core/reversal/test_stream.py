from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer
from airflow_config_providers.core.reversal.stream import (
    _FARTHEST,
    _LONGEST_CHAIN,
    LONGEST_LINE,
    StreamReverser,
    reverse_chunks,
    reverse_lines,
)
from airflow_config_providers.core.variable import ConfigVariable

VALUE = "Zq8-s3cr3t/val+1"
LOWER = "zq8.s3cr3t.val.1.And.More"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAQEFAASCBKcwggSjAgEAAo\n-----END PRIVATE KEY-----\n"
BREAKS = ["\n", "\r\n", "\n    ", "'\n '", "\\\n", " " * 40 + "\n", " " * 128 + "\n" + " " * 128]


def _reverser(*values):
    return ReverseTransformer({}, {ConfigVariable("v", "", chr(97 + i)): value for i, value in enumerate(values)})


REVERSERS = (_reverser(VALUE),)


def test_lines_without_values_are_given_as_they_come():
    given = []

    def lines():
        for line in ("one\n", "two\n"):
            yield line
            given.append(line)

    shown = reverse_lines(lines(), REVERSERS)

    assert (next(shown), given) == ("one\n", [])
    assert (next(shown), given) == ("two\n", ["one\n"])


def test_lines_may_have_no_line_ends():
    assert list(reverse_lines(["a", f"is {VALUE}", "b"], REVERSERS)) == ["a", "is ${v:a}", "b"]


@pytest.mark.parametrize("line_break", BREAKS, ids=repr)
@pytest.mark.parametrize(("value", "place"), [(value, n) for value in (VALUE, LOWER) for n in range(5, len(value))])
def test_a_value_that_is_broken_over_lines_is_hidden(line_break, value, place):
    text = f"is {value[:place]}{line_break}{value[place:]} so\nmore\n"

    shown = "".join(reverse_lines(text.splitlines(keepends=True), (_reverser(value),)))

    assert shown == "is ${v:a} so\nmore\n"


@pytest.mark.parametrize("value", [VALUE, LOWER])
@pytest.mark.parametrize("place", range(1, 5))
def test_of_a_value_broken_early_the_rest_is_hidden(place, value):
    lines = [f"is {value[:place]}\n", f"{value[place:]} so\n"]

    shown = "".join(reverse_lines(lines, (_reverser(value),)))

    assert shown == f"is {value[:place]}\n${{v:a}} so\n"


PASSPHRASE = "correct-horse-battery-staple-and-purple-meadow-above-the-river"


@pytest.mark.parametrize("feed", ["lines", "blocks"])
@pytest.mark.parametrize("place", range(1, 5))
@pytest.mark.parametrize("count", [2, 3, 4])
def test_of_a_value_broken_early_the_rest_is_hidden_over_any_number_of_lines(count, place, feed):
    size = -(-(len(PASSPHRASE) - place) // (count - 1))
    rest = [PASSPHRASE[start : start + size] for start in range(place, len(PASSPHRASE), size)]
    lines = [f"is {PASSPHRASE[:place]}\n", *(f"{piece}\n" for piece in rest), "\n", "more\n"]

    if feed == "lines":
        shown = "".join(reverse_lines(lines, (_reverser(PASSPHRASE),)))
    else:
        shown = b"".join(reverse_chunks([line.encode() for line in lines], (_reverser(PASSPHRASE),))).decode()

    assert shown == f"is {PASSPHRASE[:place]}\n${{v:a}}\n\nmore\n"


def test_a_line_after_the_first_letter_of_a_value_does_not_wait_for_more():
    arrived = []

    def lines():
        for line in ["c\n", "\n", "other\n"]:
            arrived.append(line)
            yield line

    assert [(line, arrived[-1]) for line in reverse_lines(lines(), (_reverser(PASSPHRASE),))] == [
        ("c\n", "c\n"),
        ("\n", "\n"),
        ("other\n", "other\n"),
    ]


@pytest.mark.parametrize("place", [6, 12, 20, 30])
def test_a_value_with_a_colour_around_each_character_that_is_broken_over_lines_is_hidden(place):
    coloured = [f"\x1b[38;5;{number}m{letter}\x1b[0m" for number, letter in enumerate(PASSPHRASE, 20)]
    lines = ["".join(coloured[:place]) + "\n", "".join(coloured[place:]) + "\n"]

    shown = "".join(reverse_lines(lines, (_reverser(PASSPHRASE),)))

    assert "${v:a}" in shown
    assert "mr" not in shown  # a letter after its colour


def test_a_line_that_ends_as_a_value_begins_waits_for_the_next_one_only():
    lines = iter([f"is {VALUE[:7]}\n", "other\n", "third\n"])
    shown = reverse_lines(lines, REVERSERS)

    assert next(shown) == f"is {VALUE[:7]}\n"
    assert next(lines) == "third\n"


def test_a_line_held_back_is_given_at_the_end():
    assert list(reverse_lines([f"is {VALUE[:7]}\n"], REVERSERS)) == [f"is {VALUE[:7]}\n"]


def test_a_value_that_ends_in_a_line_end_holds_nothing_back():
    reverser = _reverser(f"{VALUE}\n")
    stream = StreamReverser()

    assert stream.feed(f"is {VALUE}\n".encode(), (reverser,)) == b"is ${v:a}"


def test_a_value_of_several_lines_becomes_one_line():
    lines = [*PEM.splitlines(keepends=True), "more\n"]

    assert "".join(reverse_lines(lines, (_reverser(PEM),))) == "${v:a}more\n"


def test_a_line_that_is_no_text_is_hidden_and_the_others_are_not():
    assert list(reverse_lines(["a\n", None, f"{VALUE}\n"], REVERSERS)) == ["a\n", UNCHECKED, "${v:a}\n"]


def test_what_cannot_be_searched_is_hidden():
    class Failing(ReverseTransformer):
        @property
        def finder(self):
            raise RuntimeError("broken")

    failing = Failing({}, {ConfigVariable("v", "", "k"): VALUE})

    assert list(reverse_lines([f"{VALUE}\n"], (failing,))) == [f"{UNCHECKED}\n"]


def test_values_of_two_reversers_are_hidden():
    reversers = (_reverser("abcdef-1"), _reverser("cdef-1-ghijkl"))

    assert list(reverse_lines(["abcdef-1-ghijkl\n"], reversers)) == ["${v:a}\n"]


@given(st.lists(st.text(), max_size=5))
def test_what_holds_no_value_does_not_change(lines):
    assert list(reverse_lines(lines, (_reverser("\0\1" + VALUE),))) == lines


# --- octets -----------------------------------------------------------------------------------------


def _chunks(data, size):
    return [data[place : place + size] for place in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("line_end", [b"\n", b" "], ids=["lines", "one-line"])
def test_octets_may_be_cut_anywhere(size, line_end):
    words = random.Random(7).choices([VALUE.encode(), b"x" * 30, b"Zq8-s", b"word"], k=5_000)
    data = line_end.join(words)
    if size == 1:
        data = data[:9_000]

    shown = b"".join(reverse_chunks(_chunks(data, size), REVERSERS))

    assert shown == data.replace(VALUE.encode(), b"${v:a}")


def test_a_value_across_the_place_where_a_long_line_is_cut_is_hidden():
    data = b"x" * (LONGEST_LINE - 3) + VALUE.encode() + b"y" * LONGEST_LINE

    for size in (100, LONGEST_LINE, LONGEST_LINE + 2):
        shown = b"".join(reverse_chunks(_chunks(data, size), REVERSERS))

        assert shown == data.replace(VALUE.encode(), b"${v:a}")


@pytest.mark.slow
def test_what_is_kept_stays_small_however_much_comes():
    stream, reversers = StreamReverser(), (_reverser("a" * 50, VALUE),)

    for piece in (b"a" * 5_000, VALUE.encode() * 100, b"a" * 45 + b"\n", b"Zq8-s\n"):
        for _ in range(50):
            stream.feed(piece, reversers)

        assert len(stream._before) + len(stream._kept) < 3 * LONGEST_LINE


@pytest.mark.parametrize("sizes", [(60,), (14, 56, 28)], ids=str)
@pytest.mark.parametrize("value", ["0" * 10, "12" * 7, "a" * 40])
def test_lines_of_a_value_that_repeats_itself_are_hidden_and_soon_shown(value, sizes):
    stream, reversers = StreamReverser(), (_reverser(value),)
    lines = [(value * 10)[: sizes[i % len(sizes)]].encode() + b"\n" for i in range(60)]
    shown, kept = [], []

    for line in lines:
        shown.append(stream.feed(line, reversers))
        kept.append(len(stream._kept))
    shown.append(stream.flush(reversers))

    assert not set(b"".join(shown).replace(b"${v:a}", b"")) & set(value.encode())
    assert max(kept) < 2 * _LONGEST_CHAIN


def test_a_long_value_does_not_have_all_lines_with_another_one_searched_again():
    letters = random.Random(7)
    long = "".join(letters.choices("abcdefghijkXYZ0123456789+/", k=20_000))
    stream, reversers = StreamReverser(), (_reverser(VALUE, long),)
    line = f"connecting with {VALUE} now\n".encode()

    shown = [stream.feed(line, reversers) for _ in range(400)]

    assert set(shown) == {b"connecting with ${v:a} now\n"}
    assert len(stream._before) <= _FARTHEST + len(line)


def test_what_follows_a_value_that_repeats_itself_is_shown():
    lines = ["0" * 60] * 100 + ["and so on"]

    *hidden, last = reverse_lines(lines, (_reverser("0" * 10),))

    assert set(hidden) <= {"${v:a}", "${v:a}${v:a}"}
    assert last == "and so on"


def test_the_end_of_a_value_behind_a_piece_of_overlapping_ones_is_hidden():
    value = VALUE + "0" * 300 + VALUE  # longer than what is searched once more, and each begins in the one before
    stream, reversers = StreamReverser(), (_reverser(value),)
    text = (VALUE + "0" * 300) * 12
    lines = iter(text[place : place + 37].encode() + b"\n" for place in range(0, len(text), 37))

    shown = b""
    while not shown:
        shown = stream.feed(next(lines), reversers)
    shown += stream.feed(b"and so on\n", reversers)

    assert b"val+1" not in shown
    assert shown.endswith(b"0\nand so on\n")  # the beginning of the next


# --- work ---------------------------------------------------------------------------------------------


class Counting:
    """Counts the octets that a finder searches."""

    def __init__(self, finder):
        self._finder = finder
        self.searched = 0

    def find(self, data, beside=()):
        self.searched += len(data)
        return self._finder.find(data, beside)

    def __getattr__(self, name):
        return getattr(self._finder, name)


class Counted(ReverseTransformer):
    def __init__(self, *values):
        super().__init__({}, {ConfigVariable("v", "", chr(97 + i)): value for i, value in enumerate(values)})
        self.counting = Counting(super().finder)

    @property
    def finder(self):
        return self.counting


BEGINNINGS = ["Zq8-s\n", "Zq8-s3cr3\n", "Zq8-s3cr3   \n", "\x1b[31mZq8-s3cr3\x1b[0m\n", "Zq8-s'\n", "-s3cr3t/v Zq8-s\n"]


@pytest.mark.parametrize("line", BEGINNINGS)
def test_lines_that_all_end_as_a_value_begins_are_searched_a_few_times_each(line):
    reverser = Counted(VALUE)
    lines = [line] * 500

    assert list(reverse_lines(lines, (reverser,))) == lines
    assert reverser.counting.searched < 5 * len(line.encode()) * len(lines)


@pytest.mark.parametrize("line", BEGINNINGS)
def test_of_lines_that_all_end_as_a_value_begins_few_are_held_back(line):
    stream, reverser = StreamReverser(), _reverser(VALUE)
    given = b"".join(stream.feed(line.encode(), (reverser,)) for _ in range(400))

    assert 400 * len(line.encode()) - len(given) < 1_024
    assert given + stream.flush((reverser,)) == line.encode() * 400


@pytest.mark.parametrize("count", [1, 2, 40, 200])
@pytest.mark.parametrize("place", [5, 9, 14])
def test_after_lines_that_end_as_a_value_begins_a_broken_value_is_hidden(count, place):
    lines = [*["is Zq8-s\n"] * count, f"is {VALUE[:place]}\n", f"    {VALUE[place:]} so\n", "more\n"]

    assert "".join(reverse_lines(lines, REVERSERS)) == "is Zq8-s\n" * count + "is ${v:a} so\nmore\n"


def test_a_value_broken_in_an_escaped_line_is_hidden():
    lines = ["is Zq8\\u002ds3cr3\n", "t/val+1 so\n"]

    assert "".join(reverse_lines(lines, REVERSERS)) == "is ${v:a} so\n"


# --- line ends ----------------------------------------------------------------------------------------

ENDS = ["", "\n", "\r\n", "\r", "\r\r\n", "\u2028", "\u2029\n", "\x85\n", "\x0b\n", "\x0c", "\x1e\n"]


@pytest.mark.parametrize("last", ENDS, ids=ascii)
@pytest.mark.parametrize("end", [end for end in ENDS if end.endswith("\n")], ids=ascii)
@pytest.mark.parametrize("line", ["other", "is Zq8-s", f"is {VALUE[:9]}", f"is {VALUE}", f"{VALUE} Zq8-s"])
def test_line_ends_stay_as_they_are(line, end, last):
    lines = [f"one{end}", f"{line}{end}", f"{line}{end}", f"{line}{last}"]

    shown = "".join(reverse_lines(lines, REVERSERS))

    assert shown == "".join(lines).replace(VALUE, "${v:a}")


@pytest.mark.parametrize("end", ENDS, ids=ascii)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_octets_keep_their_line_ends_wherever_they_are_cut(end, size):
    data = f"one{end}{VALUE}{end}is Zq8-s{end}{VALUE}{end}{end}".encode()

    shown = b"".join(reverse_chunks(_chunks(data, size), REVERSERS))

    assert shown == data.replace(VALUE.encode(), b"${v:a}")


@pytest.mark.parametrize(
    "lines", [["is Zq8-s", "is Zq8-s", "other"], ["is Zq8-s", f"is {VALUE}"], ["a\nb", "is Zq8-s"]]
)
def test_lines_without_line_ends_stay_as_many(lines):
    shown = list(reverse_lines(lines, REVERSERS))

    assert "".join(shown) == "".join(lines).replace(VALUE, "${v:a}")


@given(
    st.lists(
        st.sampled_from(["one\n", "is Zq8-s\n", "3cr3t/val+1 so\n", f"is {VALUE}\n", "\u2028\x85\n", "\n"]), min_size=1
    ),
    st.integers(0, 2000),
)
def test_several_lines_at_once_become_what_they_become_one_by_one(lines, padding):
    lines = ["x" * padding + "\n", *lines]

    shown = [*reverse_lines(["".join(lines)], REVERSERS)]

    assert "".join(shown) == "".join(reverse_lines(lines, REVERSERS))


@pytest.mark.parametrize("place", range(1, len(VALUE)))
def test_a_value_across_two_pieces_of_a_short_line_is_hidden(place):
    stream = StreamReverser()
    shown = [stream.feed(part.encode(), REVERSERS) for part in (f"it is {VALUE[:place]}", f"{VALUE[place:]} again\n")]

    assert b"".join([*shown, stream.flush(REVERSERS)]) == b"it is ${v:a} again\n"


def test_what_was_held_back_and_cannot_be_searched_is_hidden():
    stream = StreamReverser()
    assert stream.feed(f"{VALUE[:9]}\n".encode(), REVERSERS) == b""

    assert stream.flush((None,)) == UNCHECKED.encode()
    assert (stream.lines_held_back, stream.flush(REVERSERS)) == (0, b"")


@pytest.mark.parametrize(("data", "end"), [(b"line\n", b"\n"), (b"part of a line", b"")])
def test_a_line_that_cannot_be_searched_ends_as_it_did(data, end):
    assert StreamReverser().feed(data, (None,)) == UNCHECKED.encode() + end
