from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.windows import WINDOW, Windows, beginnings


def _found(windows, text):
    """Give each window that is in ``text``, once."""
    return list(dict.fromkeys(text[start:end] for _, start, end in windows.find(text, True)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param(b"abc", [b"abc"], id="shorter-than-a-window"),
        pytest.param(b"12345", [b"12345"], id="a-window"),
        pytest.param(b"1234a6789", [b"a6789"], id="one-window-only"),
        pytest.param(b"0123456789", [b"01234", b"56789"], id="two-without-a-choice"),
        pytest.param(b"lower-Upper-case-Words", [b"Upper", b"Words"], id="upper-case-first"),
        pytest.param(b"a.B-c.Defgh.ijklm", [b"Defgh", b".ijkl"], id="without-marks-before-with-marks"),
        pytest.param(b"00/a1b2c3d4e5", [b"/a1b2", b"c3d4e"], id="marks-before-lower-case"),
        pytest.param(b"00000000000000000000A1234", [b"00000", b"A1234"], id="near-the-first-place-only"),
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
        hits = [(windows.reaches[index], start) for index, start, _ in windows.find(pattern, True)]
        assert any(start in reach.places and reach.longest >= len(pattern) for reach, start in hits)


def test_beginnings_are_found_where_patterns_begin():
    find = beginnings([b"pattern-one", b"pat"])

    assert [start for _, start, _ in find(b"a pattern, a pat", True)] == [2, 2, 13]
