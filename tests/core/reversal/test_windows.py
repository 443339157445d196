from __future__ import annotations

import pytest
from ahocorasick_rs import BytesAhoCorasick, Implementation
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.windows import (
    WINDOW,
    PlainAhoCorasick,
    PlainImplementation,
    Stretches,
    Windows,
    beginnings,
)

texts = st.binary(max_size=40).map(lambda data: bytes(byte % 3 for byte in data))


def _found(windows, text):
    """Return each window in ``text``, once."""
    return list(dict.fromkeys(text[start:end] for _, start, end in windows.find(text)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param(b"abc", [b"abc"], id="shorter-than-a-window"),
        pytest.param(b"12345", [b"12345"], id="a-window"),
        pytest.param(b"123a56789", [b"a5678"], id="one-window-only"),
        pytest.param(b"0123456789", [b"01234", b"56789"], id="two-without-a-choice"),
        pytest.param(b"abUpper-case-Words", [b"bUppe", b"-Word"], id="upper-case-inside-a-word-first"),
        pytest.param(b"aB1cdefghijk", [b"B1cde", b"fghij"], id="upper-case-before-a-digit-first"),
        pytest.param(b"00/a1b2c3d4e5", [b"/a1b2", b"c3d4e"], id="marks-before-lower-case"),
        pytest.param(b"correct horse", [b"rrect", b"horse"], id="blanks-last"),
        pytest.param(b"abcdefghijA1234", [b"defgh", b"A1234"], id="near-the-beginning"),
        pytest.param(
            b"00000000000000000000A1234", [b"00000", b"0A123"], id="the-second-farther-on-where-there-are-digits"
        ),
    ],
)
def test_windows_begin_with_what_is_seldom_in_a_log(pattern, expected):
    assert _found(Windows([pattern]), pattern) == expected


@given(st.binary(min_size=1, max_size=60))
def test_a_break_anywhere_leaves_a_window_whole(pattern):
    windows = Windows([pattern])

    assert _found(windows, pattern)
    if len(pattern) >= 2 * WINDOW:
        assert all(_found(windows, pattern[:n]) or _found(windows, pattern[n:]) for n in range(len(pattern)))


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=8))
def test_from_each_window_its_patterns_are_in_reach(patterns):
    windows = Windows(patterns)

    for pattern in patterns:
        hits = [(windows.reach(index), start) for index, start, _ in windows.find(pattern)]
        assert any(start in reach.places and reach.longest >= len(pattern) for reach, start in hits if reach)


@given(st.binary(min_size=16, max_size=80), st.integers(0, 20), st.integers(12, 40))
def test_each_run_in_a_stretch_has_a_window(pattern, first, length):
    last = min(first + max(length, 12), len(pattern))
    windows = Windows([pattern], {pattern: Stretches([(first, last)], 12, 8)})

    for start in range(first, last - 12 + 1):
        assert _found(windows, pattern[start : start + 12])


@given(st.binary(min_size=8, max_size=80))
def test_the_first_and_the_last_eight_octets_of_a_stretch_have_a_window(pattern):
    windows = Windows([pattern], {pattern: Stretches([(0, len(pattern))], 12, 8)})

    assert _found(windows, pattern[:8])
    assert _found(windows, pattern[-8:])


@pytest.mark.parametrize(
    "plain", [pytest.param(b"/10 Xa= X/+c=+Yb", id="the first"), pytest.param(b"1bX=++=/Xba= ", id="the second")]
)
def test_a_pattern_takes_the_windows_of_a_plain_one_instead_of_its_own_best(plain):
    patterns = [plain, plain.replace(b"/", rb"\/")]

    shared = Windows(patterns, plain=dict.fromkeys(patterns, plain)).windows

    assert len(shared) == len(Windows(patterns).windows) - 1
    assert {*Windows([plain]).windows} <= {*shared}


def test_beginnings_are_found_where_patterns_begin():
    find = beginnings([b"pattern-one", b"pat"])

    assert [start for _, start, _ in find(b"a pattern, a pat", True)] == [2, 2, 13]


def test_a_long_search_finds_the_same_after_the_table_was_built_for_speed():
    windows = Windows([b"correct horse battery staple", b"A1b2C3d4E5f6"])
    text = b"INFO correct horse battery staple A1b2C3d4E5f6\n" * 500
    before = windows.find(text[:400])

    for _ in range(20):
        windows.find(text)
    assert windows.find(text[:400]) == before


def test_a_stretch_far_from_the_beginning_comes_besides_the_two_windows_there():
    pattern = b"abUpper-case-Words-" + b"and-so-on-and-on-" * 2 + b"Q7-secret-Token-X9"
    begin = pattern.index(b"Q7")
    windows = Windows([pattern], {pattern: Stretches([(begin, len(pattern))], 12, 8)}).windows
    places = sorted(map(pattern.index, windows))

    assert [place < begin for place in places] == [True, True, *[False] * (len(places) - 2)]
    assert all(any(start <= place <= start + 12 - WINDOW for place in places) for start in range(begin, begin + 7))


@given(st.lists(texts.filter(bool), unique=True, max_size=6), texts)
def test_it_finds_what_the_library_finds(patterns: list[bytes], text: bytes) -> None:
    plain = PlainAhoCorasick(patterns, implementation=PlainImplementation.DFA)
    library = BytesAhoCorasick(patterns, implementation=Implementation.DFA)

    found = plain.find_matches_as_indexes(text, overlapping=True)

    assert sorted(found) == sorted(library.find_matches_as_indexes(text, overlapping=True))


@given(st.lists(texts.filter(bool), unique=True, max_size=6), texts, st.integers(0, 40))
def test_both_find_in_a_view_what_they_find_in_a_copy(patterns: list[bytes], text: bytes, first: int) -> None:
    for automaton in (PlainAhoCorasick(patterns), BytesAhoCorasick(patterns)):
        copied = automaton.find_matches_as_indexes(text[first:], overlapping=True)

        assert copied == automaton.find_matches_as_indexes(memoryview(text)[first:], overlapping=True)
