from __future__ import annotations

import base64
import json
import random
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.patterns import Parts, Source, WholePatterns
from airflow_config_providers.core.reversal.revealing import CUT, RUN, holds, spots
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.reversal.search import Finder, replace
from airflow_config_providers.core.reversal.stream import reverse_chunks
from airflow_config_providers.core.variable import ConfigVariable

VALUE = "Zq8-s3cr3t/val+1=Xk29+Qp7m"
RANDOM = st.text(string.ascii_letters + string.digits + "-_/+=.:!@#$&%", min_size=16, max_size=60)
ENCODINGS = {
    "plain": lambda text: text,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "URL": lambda text: quote(text, safe=""),
    "hex": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
}

LABEL = b"${v:k}"
LONG = 3000
"""More bytes than the automaton has of a pattern."""


def _reverser(*values):
    return ReverseTransformer({}, {ConfigVariable("v", "", chr(97 + i)): value for i, value in enumerate(values)})


def _finder(*patterns):
    return Finder(
        {pattern: b"<%d>" % number for number, pattern in enumerate(patterns)},
        {pattern: Source(pattern) for pattern in patterns},
    )


def _telling(value):
    """Return each sequence of 12 characters in ``value`` that gives it away."""
    data = value.encode()
    found = spots(data, data).runs
    return [value[at : at + RUN] for at in range(len(value) - RUN + 1) if holds(found, at, at + RUN)]


@given(value=RANDOM, data=st.data())
def test_no_run_that_tells_is_left_of_any_part_of_a_value(value, data):
    first = data.draw(st.integers(0, len(value) - RUN))
    last = data.draw(st.integers(first + RUN, len(value)))
    before, after = data.draw(st.text("xyz <'", max_size=9)), data.draw(st.text("xyz >'", max_size=9))

    shown = _reverser(value).reverse_text(before + value[first:last] + after)

    assert not [run for run in _telling(value) if run in shown]


@given(value=RANDOM, data=st.data())
def test_no_run_that_tells_is_left_however_a_stream_is_cut(value, data):
    first = data.draw(st.integers(0, len(value) - RUN))
    last = data.draw(st.integers(first + RUN, len(value)))
    blanks = data.draw(st.sampled_from(["", "\n", " \n  ", " " * 128 + "\n" + " " * 128]))
    place = data.draw(st.integers(0, len(value)))
    text = f"one {value[first:last]} two\nthree {value}\n{value[:place]}{blanks}{value[place:]}\nend\n".encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    shown = b"".join(reverse_chunks(chunks, (_reverser(value),))).decode()

    assert not [run for run in _telling(value) if run in shown]


@given(value=RANDOM, length=st.integers(CUT, 40), mark=st.sampled_from(["...", "\u2026", " [...]", "'..."]))
def test_the_beginning_of_a_value_is_hidden_where_the_rest_is_left_out(value, length, mark):
    data = value.encode()
    beginning = value[:length]
    assume(holds(spots(data, data).cuts, 0, len(beginning)))

    shown = _reverser(value).reverse_text(f"is {beginning}{mark} so")

    assert "${v:a}" in shown
    assert not [at for at in range(len(beginning) - CUT + 1) if beginning[at : at + CUT] in shown]


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS.keys())
@pytest.mark.parametrize("length", [8, 12, 16, 20])
def test_a_form_that_is_cut_off_is_hidden(encode, length):
    form = encode(VALUE)
    size = length * len(form) // len(VALUE) + 1

    assert _reverser(VALUE).reverse_text(f"|{form[:size]}...|") == "|${v:a}...|"
    assert _reverser(VALUE).reverse_text(f"|...{form[-size:]}|") == "|...${v:a}|"


def test_a_part_is_hidden_as_far_as_it_goes_however_long_the_value_is():
    value = "".join(f"Zq8s3cr{number:05x}tK" for number in range(500))
    part = value[100:4000]

    assert _reverser(value).reverse_text(f"is {part}, so") == "is ${v:a}, so"


def test_of_values_with_a_part_in_common_the_one_with_the_longest_stands_for_it():
    values = ("Zq8-s3cr3t/val+1-one", "Zq8-s3cr3t/val+1-Xk29+Qp7m")

    assert _reverser(*values).reverse_text("Zq8-s3cr3t/val+1-Xk29+") == "${v:b}"


def test_a_whole_value_keeps_its_reference_where_another_one_has_it_inside():
    url = f"jdbc:postgresql://db.example.com/app?password={VALUE}&x=1"

    assert _reverser(url, VALUE).reverse_text(f"password={VALUE}&x=2") == "password=${v:b}&x=2"


def test_a_reference_has_no_parts():
    name = "Zq8-s3cr3t/val+1=Xk29"
    reverser = ReverseTransformer({}, {ConfigVariable("v", name, "k"): VALUE})

    assert reverser.reverse_text(f"is ${{v:{name[:18]}") == "is ${v:${v:Zq8-s3cr3t/val+1=Xk29:k}"
    assert ReverseTransformer({}, {ConfigVariable("v", name, "k"): "other-v4lue-1"}).reverse_text(name) == name


@pytest.mark.parametrize("value", ["Zq8-s3cr3t/é+1-ключ-Xk29", "é9Kx2Qz4-éñW1q8Z-ключ"])
@pytest.mark.parametrize("last", range(12, 24))
def test_a_part_ends_with_a_whole_character(value, last):
    octets = value.encode()
    text = b"is " + octets[:last] + "ñ".encode()[:1]

    shown = replace(text, _finder(octets).find(text))

    assert octets[:11] not in shown
    assert shown.removesuffix("ñ".encode()[:1]).decode().startswith("is <0>")


def test_a_table_of_many_values_has_windows_for_runs_in_plain_text_first():
    plain = {b"Zq8-s3cr3t/%05d/val+1=Xk29" % number: b"" for number in range(2_000)}
    sources = {pattern: Source(pattern) for pattern in plain}

    stretches = Parts(sources, plain).stretches()

    assert 1_000 < len(stretches) < 2_000
    assert list(stretches) == list(plain)[: len(stretches)]


@pytest.mark.parametrize("place", range(65_516, 65_545))
@pytest.mark.parametrize("text", [f"is ...{VALUE[-9:]}.", f"is {VALUE[:9]}..."], ids=["end", "beginning"])
def test_what_is_cut_off_is_hidden_wherever_a_long_text_is_searched_in_pieces(text, place):
    shown = _reverser(VALUE).reverse_text(f"{' ' * place}{text}{' ' * 65_536}")

    assert "${v:a}" in shown
    assert VALUE[:8] not in shown
    assert VALUE[-8:] not in shown


@given(one=RANDOM, other=RANDOM, data=st.data())
def test_of_parts_of_two_values_that_overlap_no_run_that_tells_is_left(one, other, data):
    both, other = one + other, one[-data.draw(st.integers(1, 14)) :] + other
    first = data.draw(st.integers(1, len(both) - RUN))
    text = both[first : data.draw(st.integers(first + RUN, len(both)))]
    assume(one not in text)
    assume(other not in text)

    places = _reverser(one, other).finder.find(text.encode())

    hidden = {place for start, end, _ in places for place in range(start, end)}
    for run in (*_telling(one), *_telling(other)):
        at = text.find(run)
        assert at < 0 or hidden.issuperset(range(at, at + RUN))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("oE5d78-Id2fOcaqW4Pas3HD6M%gPyc2SWc4&H", "2SWc4&HbH+1K@4q0+a@G_axw"), "as3HD6M%gPyc2SWc4&HbH+1K"),
        (("k:%&UTv=WWGcKlgaQk-=&E", "cKlgaQk-=&E4zEUyNi%B+g&Hu$wo"), "GcKlgaQk-=&E4zE"),
    ],
    ids=["after", "before"],
)
def test_of_parts_of_two_values_that_overlap_nothing_is_left(values, text):
    assert _reverser(*values).reverse_text(f"is {text} so") in {"is ${v:a} so", "is ${v:b} so"}


def occurrences(pattern: bytes, data: bytes) -> Iterator[tuple[int, int, bytes]]:
    place = data.find(pattern)
    while place >= 0:
        yield place, place + len(pattern), LABEL
        place = data.find(pattern, place + 1)


def found(patterns: list[bytes], data: bytes) -> list[tuple[int, int, bytes]]:
    return sorted(WholePatterns(dict.fromkeys(patterns, LABEL)).find(data))


UNITS = [b"a", b"ab", b"aab", b"abaababa", b" ", b"x" * 1500 + b"y"]


@pytest.mark.parametrize("unit", UNITS, ids=range(len(UNITS)))
@pytest.mark.parametrize("seed", range(5))
def test_each_occurrence_of_repeated_bytes_is_found(unit: bytes, seed: int) -> None:
    """What was compared at one place is not compared again at the next."""
    chance = random.Random(seed)
    pattern = unit * (chance.randrange(LONG, 2 * LONG) // len(unit)) + chance.choice([b"", b"b", unit[:1]])
    parts = [unit * chance.randrange(1, 2 * LONG // len(unit)), pattern, pattern[1:], pattern[:-1], b"b", b""]
    data = b"".join(chance.choices(parts, k=12))

    assert found([pattern], data) == list(occurrences(pattern, data))


def test_patterns_with_the_same_beginning_are_told_apart() -> None:
    patterns = [b"a" * LONG + b"1", b"a" * LONG + b"2", b"a" * 1024, b"a" * 1023 + b"b"]
    data = b"-".join(patterns[:2]) + b"-"

    expected = [one for pattern in patterns for one in occurrences(pattern, data)]
    assert found(patterns, data) == sorted(expected)


def test_a_long_pattern_that_is_cut_short_is_no_occurrence() -> None:
    pattern = bytes(random.Random(1).choices(range(33, 127), k=LONG))

    assert found([pattern], pattern[:-1]) == found([pattern], pattern[:-1] + b"\0") == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", [b" ", b"aab"])
def test_many_patterns_that_begin_with_the_same_repeated_bytes_cost_what_one_does(unit: bytes) -> None:
    def seconds(count: int) -> float:
        patterns = WholePatterns({unit * LONG + b"%d" % number: LABEL for number in range(count)})
        patterns.find(b"")
        started = time.thread_time()
        patterns.find(unit * 2 * LONG)
        return time.thread_time() - started

    assert seconds(100) < 10 * seconds(1) + 0.05


_MEASURED = """
import random, resource
from airflow_config_providers.core.reversal.patterns import WholePatterns
pattern = random.Random(1).randbytes(5_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = WholePatterns({pattern: b"label"}).find(pattern)
assert len(found) == 1
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, the unit of the measured memory is another")
def test_a_long_pattern_takes_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", _MEASURED], capture_output=True, text=True, check=True)

    assert int(done.stdout) < 40_000
