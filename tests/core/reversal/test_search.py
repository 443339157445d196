from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.search import Finder, replace

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


USER, PASSWORD = b"${vault:apps/db:user}", b"${vault:apps/db:password}"
SHARING = [USER, PASSWORD, b"${vault:apps/db:password-of-another}", b"kept-value"]


@given(st.lists(st.sampled_from([*SHARING, PASSWORD[:-1], USER[:-3], b"\\/", b"&amp;", b"\x1b[1m", b"\n"]), max_size=6))
def test_a_match_ends_in_its_text_also_where_references_begin_alike(pieces):
    text = b" ".join(pieces)

    found = Finder({one: one if one.startswith(b"$") else b"<1>" for one in SHARING}).find(text)

    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    assert replace(text, found) == text.replace(b"kept-value", b"<1>")


def test_many_patterns_are_found_as_few_are():
    patterns = {b"pattern-%06d-%0200d" % (i, i): b"%d" % i for i in range(2_000)}

    text = b"x" + list(patterns)[1_234] + b"y"

    assert replace(text, Finder(patterns).find(text)) == b"x1234y"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_long_text_is_searched_as_a_short_one_is(size):
    pattern = b"pattern-of-some-octets" * size
    finder = Finder({pattern: b"<1>"})
    text = (b"x" * 65_530 + pattern + b"y" * 7) * 3 + b"pattern-of-some-octe\n ts"

    shown = replace(text, finder.find(text))

    assert shown.count(b"<1>") == (4 if size == 1 else 3)
    assert pattern not in shown


def test_where_windows_are_dense_everything_is_found():
    patterns = {b"k%05d" % i: b"" for i in range(10_000, 100_000, 7)}
    text = b"".join(patterns)

    assert replace(text, Finder(patterns).find(text)) == b""


@pytest.mark.parametrize("count", [3, 30, 300])
def test_patterns_that_end_in_each_other_are_hidden_and_their_matches_stay_few(count):
    patterns = {b"a" * length: b"<%d>" % length for length in range(5, 5 + count)}
    finder = Finder(patterns)

    assert replace(b"a" * (4 + count) + b"y", finder.find(b"a" * (4 + count) + b"y")).endswith(b">y")
    assert b"aa" not in replace(b"a" * 5_000, finder.find(b"a" * 5_000))
    assert len(finder._search(b"a" * 5_000, 0)) <= 4 * 5_000


@pytest.mark.parametrize("length", [5, 9, 12, 40])
@pytest.mark.parametrize("digits", [b"0123456789", b"0123456789abcdef", b"0123456789ABCDEF"], ids=len)
def test_hexadecimal_patterns_are_found(length, digits):
    pattern = (digits * 5)[:length]

    assert replace(b"-" + pattern + b"-", Finder({pattern: b"<1>"}).find(b"-" + pattern + b"-")) == b"-<1>-"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(b"27017", b"<1>", id="alone"),
        pytest.param(b"mongo:27017/db", b"mongo:<1>/db", id="port of an address"),
        pytest.param(b"port27017b", b"port<1>b", id="between letters"),
        pytest.param(b"10:00:00.927017Z", b"10:00:00.927017Z", id="end of microseconds"),
        pytest.param(b"rows 270170", b"rows 270170", id="beginning of a count"),
        pytest.param(b"1270171 27017", b"1270171 <1>", id="inside a number and alone"),
        pytest.param(b"\x1b[1m27017\x1b[0m", b"\x1b[1m<1>\x1b[0m", id="coloured"),
        pytest.param(b"%2227017%22", b"%22<1>%22", id="after an escape of URLs"),
        pytest.param(rb"\04027017 \x2027017", rb"\040<1> \x20<1>", id="after other escapes"),
        pytest.param(
            rb"\U0001f51127017 \u202827017 %u202827017", rb"\U0001f511<1> \u2028<1> %u2028<1>", id="after Unicode's"
        ),
        pytest.param(b"%2527017 %252027017", b"%25<1> %2520<1>", id="after an escape that is escaped"),
        pytest.param(b"00027017", b"000<1>", id="padded with zeros"),
        pytest.param(b"1:00027017 %2000027017", b"1:000<1> %20000<1>", id="padded after something"),
        pytest.param(b"100027017", b"100027017", id="after zeros of a longer number"),
        pytest.param(b"2701727017", b"<1><1>", id="twice side by side"),
        pytest.param(b"927017270170", b"927017270170", id="twice inside a number"),
    ],
)
def test_a_short_number_is_not_found_inside_a_longer_one(text, shown):
    assert replace(text, Finder({b"27017": b"<1>"}).find(text)) == shown


def test_a_long_number_is_found_inside_a_longer_one():
    assert replace(b"1482913008", Finder({b"48291300": b"<1>"}).find(b"1482913008")) == b"1<1>8"


@given(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1, max_size=5), st.text("abc\n ", max_size=60))
def test_it_finds_what_looking_everywhere_finds(patterns, text):
    data = text.encode()
    labels = {pattern.encode(): b"" for pattern in patterns}

    left = replace(data, Finder(labels).find(data))

    covered = {
        place
        for pattern in labels
        for start in range(len(data))
        if data.startswith(pattern, start)
        for place in range(start, start + len(pattern))
    }
    assert left == bytes(octet for place, octet in enumerate(data) if place not in covered)


class LooksAroundEveryHit(Finder):
    """Searches around references, too, even if the text has nothing else."""

    def _unchanged(self, data, hits):
        return []


REFERENCE = b"${dir:/run/secrets:db.password}"
VALUE = b"Zq8/run/secrets:hunter2"
SHOWN = {REFERENCE: REFERENCE, b"${dir:/run/secrets:db}": b"${dir:/run/secrets:db}", VALUE: b"<1>"}
PIECES = [
    *SHOWN,
    REFERENCE[:12],
    REFERENCE[12:],
    VALUE[:9],
    VALUE[9:],
    b"\n",
    b"\n  ",
    b"\x1b[1m",
    b"...",
    b"${dir",
    b"x",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_a_text_with_nothing_but_references_is_not_searched_further_and_any_other_is(pieces):
    text = b"".join(pieces)

    assert Finder(SHOWN).find(text) == LooksAroundEveryHit(SHOWN).find(text)


@given(
    st.lists(st.text("ab", min_size=1, max_size=8), max_size=4),
    st.lists(st.text("ab", min_size=1, max_size=8), max_size=4),
    st.text("abc", max_size=60),
)
def test_no_value_is_left_beside_references_that_resemble_it(references, values, text):
    data = text.encode()
    labels = {value.encode(): b"" for value in values} | {each.encode(): each.encode() for each in references}

    assert replace(data, Finder(labels).find(data)) == replace(data, LooksAroundEveryHit(labels).find(data))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(REFERENCE + b" " + VALUE, REFERENCE + b" <1>", id="beside"),
        pytest.param(REFERENCE + b" " + VALUE[:9] + b"\n" + VALUE[9:], REFERENCE + b" <1>", id="broken"),
        pytest.param(
            REFERENCE + b" \x1b[1m" + VALUE[:9] + b"\x1b[m" + VALUE[9:], REFERENCE + b" \x1b[1m<1>", id="coloured"
        ),
        pytest.param(REFERENCE + rb" Zq8\/run\/secrets:hunter2", REFERENCE + b" <1>", id="escaped"),
        pytest.param(REFERENCE[:12] + b"\n" + REFERENCE[12:], REFERENCE, id="a-broken-reference"),
    ],
)
def test_values_are_found_in_a_text_with_references(text, expected):
    assert replace(text, Finder(SHOWN).find(text)) == expected


@pytest.mark.parametrize("line_break", [b"\n", b"\r\n", b" \n\t  ", b"'\n  '", b'"\n"', b"'\n b'", b"\\\n"], ids=repr)
@pytest.mark.parametrize("place", range(1, 20))
def test_a_pattern_is_found_where_it_is_broken(line_break, place):
    pattern = b"pattern-of-20-octets"
    text = b"x\nis " + pattern[:place] + line_break + pattern[place:] + b" so\ny"

    assert replace(text, Finder({pattern: b"<1>"}).find(text)) == b"x\nis <1> so\ny"


@given(st.text("aZ0/", min_size=20, max_size=120), st.integers(26, 50))
def test_a_pattern_is_found_that_is_broken_into_lines_of_26_octets(text, width):
    pattern = text.encode()
    broken = b"\n".join(pattern[place : place + width] for place in range(0, len(pattern), width))

    assert replace(b"is " + broken, Finder({pattern: b"<1>"}).find(b"is " + broken)) == b"is <1>"


def test_a_pattern_is_found_where_a_blank_became_a_line_break():
    text = b"k: correct\n  horse\n  battery staple."

    assert replace(text, Finder({b"correct horse battery staple": b"<1>"}).find(text)) == b"k: <1>."


def test_a_pattern_is_found_where_a_backslash_is_before_its_blank():
    text = b"k: correct horse\\\n battery staple."

    assert replace(text, Finder({b"correct horse battery staple": b"<1>"}).find(text)) == b"k: <1>."


def test_short_patterns_are_not_found_where_they_are_broken():
    assert Finder({b"ninechars": b"<1>"}).find(b"nine\nchars") == []


@pytest.mark.parametrize("after", [0, 10, 128])
@pytest.mark.parametrize("before", [9, 10, 40, 128])
@pytest.mark.parametrize("place", range(1, 20))
def test_a_pattern_is_found_whatever_blanks_are_before_and_after_the_break(before, after, place):
    pattern = b"pattern-of-20-octets"
    text = b"x\nis " + pattern[:place] + b" " * before + b"\n" + b" " * after + pattern[place:] + b" so\ny"

    assert replace(text, Finder({pattern: b"<1>"}).find(text)) == b"x\nis <1> so\ny"
