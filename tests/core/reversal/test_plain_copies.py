from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.plain_copies import (
    Copy,
    decoded,
    dereferenced,
    spaced,
    uncoloured,
    unescaped,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(b"a\x1b[01;31m\x1b[Kb\x1b[m\x1b[Kc", b"abc", id="grep"),
        pytest.param(b"\x1b[38;2;1;2;3ma\x1b[0m", b"a", id="24-bit-colour"),
        pytest.param(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", b"ab", id="title-and-link"),
        pytest.param(b"\x1b(Ba\x1b=b\x1b7c", b"abc", id="other-sequences"),
        pytest.param(b"a\x1b[31", b"a\x1b[31", id="no-end"),
        pytest.param(b"no colours", b"no colours", id="nothing"),
    ],
)
def test_colours_are_taken_out(text, shown):
    assert uncoloured(text).data == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(rb"a\u003d\u0026\u003D", b"a=&=", id="gson"),
        pytest.param(rb"\u0022\u005c", rb"\"\\", id="quotes-as-json-has-them"),
        pytest.param(rb"\u00e9\u20ac", rb"\u00e9\u20ac", id="letters-stay-as-json-has-them"),
        pytest.param(rb"\x5a\xc3\xa9", "Zé".encode(), id="octets"),
        pytest.param(rb"a\-b\.c\/d\\\"", rb"a-b.c/d\\\"", id="marks"),
        pytest.param(rb"\n\t\1", rb"\n\t\1", id="others-stay"),
    ],
)
def test_escapes_are_what_they_stand_for(text, shown):
    assert unescaped(text).data == shown


@pytest.mark.parametrize(
    "text",
    [b"5a:71:38:2d:73", b"5A 71 38 2D 73", b"0x5a, 0x71, 0x38,0x2d 0x73", b"5a-71-38-2d-73", b"5a 71  38 2d 73"],
)
def test_octets_in_hexadecimal_are_decoded(text):
    (copy,) = decoded(b"is " + text + b".", 0, len(text) + 4)

    assert copy.data == b"Zq8-s"
    assert copy.range(0, 5) == (3, 3 + len(text))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        pytest.param(b"5a71 382d 7333", b"Zq8-s3", id="twos"),
        pytest.param(b"5A71 382D 73", b"Zq8-s", id="an-incomplete-group"),
        pytest.param(b"5a71382d 73336372 3374", b"Zq8-s3cr3t", id="fours"),
    ],
)
def test_groups_of_octets_are_decoded(text, content):
    (copy,) = decoded(b"0000: " + text + b"  x", 0, len(text) + 9)

    assert copy.data == content
    assert copy.range(0, len(content)) == (6, 6 + len(text))


@pytest.mark.parametrize("text", [b"5a:71:38:2d", b"12:31:45", b"a5a:71:38:2d:73", b"5a 71 xx 2d 73 74 75"])
def test_few_octets_are_left_alone(text):
    assert not list(decoded(text, 0, len(text)))


@given(st.binary(min_size=5, max_size=30), st.sampled_from([" ", ":"]), st.booleans())
def test_a_text_in_hexadecimal_has_what_is_looked_for(text, separator, is_upper):
    written = text.hex(separator)
    written = written.upper() if is_upper else written

    assert any(found.decode() in written for found in spaced([text]))


@given(st.binary(max_size=4), st.binary(min_size=6, max_size=30), st.sampled_from([2, 4]), st.booleans())
def test_a_text_in_groups_has_what_is_looked_for_wherever_they_begin(before, text, size, is_upper):
    written = (before + text).hex(" ", -size)
    written = written.upper() if is_upper else written

    assert any(found.decode() in written for found in spaced([text]))


def test_what_is_looked_for_starts_with_an_octet_that_ends_in_a_letter():
    lower = {b"5a 7", b"5a:7", b"2d 7", b"2d:7", b"71 38", b"38 2d"}

    assert spaced([b"Zq8-w"]) == lower | {found.upper() for found in lower}


def test_more_is_looked_for_of_a_text_in_which_no_octet_ends_in_a_letter():
    in_groups = {b"30 31", b"31 32", b"32 33", b"33 34"}

    assert spaced([b"012345"]) == in_groups | {b"30 31 32 33", b"30:31:32:33"}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param(rb"ab\u003dcd", [0, 1, 2, 8, 9, 10], id="in-the-middle"),
        pytest.param(rb"\x3da", [0, 4, 5], id="first"),
        pytest.param(rb"a\u003d", [0, 1, 7], id="last"),
    ],
)
def test_a_character_of_a_copy_has_the_place_at_which_it_begins_in_the_text(text, places):
    copy = unescaped(text)

    assert [copy.place(place) for place in range(len(copy.data) + 1)] == places


@given(st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=2)), max_size=8), st.data())
def test_a_place_in_a_copy_has_its_place_in_the_text(parts, data):
    pieces, size = [], 0
    for before, kept in parts:
        is_same = len(before) == len(kept)
        pieces.append((size, size + len(before), before if is_same else kept))
        size += len(before)
    copy = Copy(pieces)
    assume_end = len(copy.data)
    if not assume_end:
        return
    start = data.draw(st.integers(0, assume_end - 1))
    end = data.draw(st.integers(start + 1, assume_end))

    first, last = copy.range(start, end)

    assert 0 <= first <= last <= size
    assert copy.range(0, assume_end)[0] <= first
    assert last <= copy.range(0, assume_end)[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(b"a&#61;b&#x3D;c&#X3d;d", b"a=b=c=d", id="numbers"),
        pytest.param(b"&lt;&gt;&amp;&quot;&apos;", b"<>&\"'", id="names"),
        pytest.param(b"&#233;&#x1f600;", "é\N{GRINNING FACE}".encode(), id="letters"),
        pytest.param(b"&#55296;&#9999999;&#x;&#;&nbsp;a&b;&lt", b"&#55296;&#9999999;&#x;&#;&nbsp;a&b;&lt", id="none"),
    ],
)
def test_references_of_xml_are_what_they_stand_for(text, shown):
    assert dereferenced(text).data == shown
