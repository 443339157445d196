"""Whole patterns of which an automaton finds the beginning."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from airflow_config_providers.core.reversal.whole_patterns import WholePatterns

LABEL = b"${v:k}"
LONG = 3000
"""More bytes than the automaton has of a pattern."""


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
from airflow_config_providers.core.reversal.whole_patterns import WholePatterns
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
