from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.search import Finder, replace

PATTERNS = {b"abcde": b"<1>", b"cdefg": b"<2>", b"abc": b"<3>", b"cdefgh": b"<4>"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"", b"", id="empty"),
        pytest.param(b"xyz", b"xyz", id="nothing"),
        pytest.param(b"-abc-", b"-<3>-", id="one"),
        pytest.param(b"-abcde-", b"-<1>-", id="the-longer-of-two-that-begin-together"),
        pytest.param(b"-abcdefg-", b"-<1>-", id="overlap-of-equal-length-takes-the-first"),
        pytest.param(b"-abcdefgh-", b"-<4>-", id="overlap-takes-the-longest"),
        pytest.param(b"abcabcde", b"<3><1>", id="side-by-side-stay-two"),
        pytest.param(b"abcde", b"<1>", id="all-there-is"),
    ],
)
def test_overlapping_matches_are_replaced_as_one(text, expected):
    assert replace(text, Finder(PATTERNS).find(text)) == expected


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=12), st.randoms())
def test_no_octet_of_a_match_is_left_whatever_the_order(spans, random):
    data = bytes(range(40))
    matches = [(start, start + length, b"") for start, length in spans]
    shuffled = random.sample(matches, len(matches))

    left = replace(data, shuffled)

    covered = {place for start, end, _ in matches for place in range(start, end)}
    assert left == bytes(octet for octet in data if octet not in covered)


def test_many_patterns_are_found_as_few_are():
    patterns = {b"pattern-%06d-%0200d" % (i, i): b"%d" % i for i in range(2_000)}

    text = b"x" + list(patterns)[1_234] + b"y"

    assert replace(text, Finder(patterns).find(text)) == b"x1234y"
