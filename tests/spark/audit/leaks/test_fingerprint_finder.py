"""Values are found by their fingerprints."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("numpy")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.encodings import ENCODINGS, forms
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, splits_of
from airflow_config_providers.spark.audit.leaks.fingerprint import Fingerprint, FingerprintKey
from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.calls import events_of
from tests.spark.audit.leaks.fingerprinted import (
    FINDER,
    FINGERPRINTS,
    KEY,
    LONG_VALUE,
    OTHER,
    PASSWORD,
    PIN,
    SECRETS,
    SHORT,
    TOKEN,
    VALUE,
)
from tests.spark.audit.leaks.searching import QUIET, log_with, search


def found(path: Path, *, size: int = 1 << 30, block: int = 4096) -> list[tuple[int, str, str]]:
    """Return offset, reference and encoding of what is found with splits and blocks of these sizes."""
    results = [
        search(split, FINDER, block=block)
        for split in splits_of(FoundFile(str(path), path.stat().st_size, 0), size=size)
    ]
    assert not any(result.problem for result in results)
    occurrences = [leak.occurrence for result in results for leak in result.leaks]
    return [(one.start, one.reference, one.encoding) for one in occurrences]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("secret", SECRETS[:2], ids=lambda one: one.variable.key)
def test_each_form_of_each_encoding_is_found_as_by_its_value(secret: KnownSecret, encoding: str) -> None:
    for form in forms(secret.value, (encoding,)):
        [one] = FINDER.find(QUIET + form + b" end\n")

        assert (one.start, one.end) == (len(QUIET), len(QUIET) + len(form))
        assert one.reference == str(secret.variable)


def test_a_line_of_a_value_is_found() -> None:
    finder = FingerprintFinder(KEY.of_secrets([KnownSecret(TOKEN, "first-line-of-it\nsecond-line-of-it")]), KEY)

    [one] = finder.find(b"it says second-line-of-it.")

    assert (one.start, one.end) == (8, 25)


def test_a_short_value_is_found() -> None:
    assert [one.reference for one in FINDER.find(b"the pin is p1n-7")] == [str(PIN)]


@pytest.mark.parametrize("place", [0, 1, 7, 65_530, 65_536, 65_540, 131_072])
def test_a_value_is_found_at_each_place_of_a_text_and_at_its_end(place: int) -> None:
    for value in (VALUE.encode(), SHORT.encode()):
        for data in (b"x" * place + value, b"x" * place + value + b"y" * 70_000):
            assert [one.start for one in FINDER.find(data)] == [place]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    places=st.lists(st.tuples(st.integers(0, 20_000), st.sampled_from([VALUE, OTHER, SHORT])), min_size=1, max_size=6),
    size=st.integers(500, 9_000),
    block=st.integers(1, 9_000),
)
def test_splits_and_blocks_make_no_difference(
    tmp_path: Path, places: list[tuple[int, str]], size: int, block: int
) -> None:
    (tmp_path / "log").write_bytes(log_with(places))

    whole = found(tmp_path / "log")

    assert len(whole) == len(places)
    assert found(tmp_path / "log", size=size, block=block) == whole


@settings(deadline=None, max_examples=100)
@given(value=st.text(min_size=5, max_size=60), around=st.binary(max_size=40))
def test_what_the_values_find_whole_the_fingerprints_find(value: str, around: bytes) -> None:
    secret = KnownSecret(TOKEN, value)
    data = around + b"\n" + value.encode("utf-8", "surrogatepass") + b"\n" + around
    known = [(one.start, one.end) for one in Sought([secret]).finder().find(data) if one.encoding == "plain"]

    prints = list(FingerprintFinder(KEY.of_secrets([secret]), KEY).find(data))

    assert all(any(one.start <= start and end <= one.end for one in prints) for start, end in known)


def test_many_values_with_one_beginning_are_told_apart() -> None:
    secrets = [KnownSecret(ConfigVariable("v", "", f"k{n}"), f"the-same-beginning-{n:05}") for n in range(3_000)]
    finder = FingerprintFinder(KEY.of_secrets(secrets), KEY)

    [one] = finder.find(b"the-same-beginning-" * 1_000 + b"02718")

    assert one.reference == "${v:k2718}"


@pytest.mark.parametrize("place", [0, 100, 4_090, 8_190])
def test_a_value_inside_a_reference_is_none(tmp_path: Path, place: int) -> None:
    finder = FingerprintFinder(KEY.of_secrets([KnownSecret(PASSWORD, "apps/db")]), KEY)
    (tmp_path / "log").write_bytes(b"." * place + f"{PASSWORD} apps/db".encode())

    [split] = splits_of(FoundFile(str(tmp_path / "log"), place + len(str(PASSWORD)) + 8, 0))
    leaks = search(split, finder, block=4_096).leaks

    assert [one.occurrence.start for one in leaks] == [place + len(str(PASSWORD)) + 1]


@pytest.mark.parametrize("beginning", ["https://spark.example.com/", "-----BEGIN " + "PRIVATE KEY-----\n"])
def test_beginnings_that_values_share_with_a_text_cost_nothing(beginning: str) -> None:
    def work(text: bytes) -> int:
        found: list[object] = []
        events = events_of(lambda: found.extend(finder.find(text)))
        assert found == []
        return len(events)

    values = [beginning + "".join(f"{size * place:x}" for place in range(30, size)) for size in range(40, 140)]
    finder = FingerprintFinder(KEY.of_secrets(KnownSecret(TOKEN, value) for value in values), KEY)
    line = f"2026-11-25T08:00:00 INFO {beginning}flights\n".encode()

    assert work(line * 200) < 2 * work(b"." * len(line) * 200) + 200


def test_control_characters_of_a_file_are_escaped() -> None:
    hostile = [replace(one, reference="a\n\x1b[31m\ud800", encoding="b\r") for one in FINGERPRINTS]

    [found] = FingerprintFinder(hostile, KEY).find(b"the pin is p1n-7")

    assert (found.reference, found.encoding) == (r"a\n\x1b[31m\ud800", r"b\r")


class CountingKey(FingerprintKey):
    """A key that counts the bytes of which it has made digests."""

    def __init__(self) -> None:
        super().__init__(b"k" * 32)
        self.digested: list[int]
        object.__setattr__(self, "digested", [])

    def digest(self, form: bytes) -> str:
        self.digested.append(len(form))
        return super().digest(form)


ZEROS = b"".join(b"AAAAAAAA" + b"%08d" % number for number in range(4_000))


def repeating(times: int) -> tuple[str, bytes]:
    """Return a long value, and a text that has its edges and its middle at many places, but not the value."""
    beginning, middle, end = (Random(seed).randbytes(32).hex() for seed in range(3))
    filler = "." * 64 * times
    value = f"{beginning}{filler}x{middle}{filler}{end}"
    return value, f"{beginning * times}y{middle * times}{end * times}".encode()


def plain_prints(value: str) -> list[Fingerprint]:
    return [one for one in KEY.of_secrets([KnownSecret(TOKEN, value)]) if one.size == len(value)]


class TestLongValue:
    """A value such as a keystore, with zeros in its middle, which are frequent elsewhere, too."""

    def test_it_is_found(self) -> None:
        finder = FingerprintFinder(KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)]), KEY)

        [one] = finder.find(ZEROS + LONG_VALUE.encode() + ZEROS)

        assert (one.start, one.end) == (len(ZEROS), len(ZEROS) + len(LONG_VALUE))

    def test_it_is_found_by_an_older_fingerprint_without_a_digest_of_its_edges(self) -> None:
        older = [replace(one, edges="") for one in KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)])]

        assert [one.start for one in FingerprintFinder(older, KEY).find(b"it is " + LONG_VALUE.encode())] == [6]

    def test_what_only_has_its_middle_is_not_digested_as_a_whole(self) -> None:
        key = CountingKey()
        finder = FingerprintFinder(KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)]), key)

        assert list(finder.find(ZEROS)) == []
        assert key.digested == []

    def test_what_only_has_its_middle_is_not_kept_in_memory(self) -> None:
        older = [replace(one, edges="") for one in KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)])]
        finder = FingerprintFinder(older, KEY)
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            assert list(finder.find(ZEROS)) == []
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert after - before < 20 * len(LONG_VALUE)

    @pytest.mark.parametrize("repeats", [40, 80])
    def test_digests_of_what_has_its_edges_and_its_middle_grow_with_the_text_and_not_faster(self, repeats: int) -> None:
        key = CountingKey()
        value, text = repeating(repeats)

        list(FingerprintFinder(plain_prints(value), key).find(text))

        assert 0 < sum(key.digested) <= 16 * len(text)

    def test_what_is_not_compared_as_a_whole_is_reported_as_a_part(self) -> None:
        value, text = repeating(80)

        [one] = FingerprintFinder(plain_prints(value), KEY).find(text)

        assert (one.reference, one.encoding) == (str(TOKEN), "plain, perhaps in part")

    def test_it_is_found_after_a_text_that_has_its_edges_and_its_middle_too_often_to_compare(self) -> None:
        value, text = repeating(80)

        found = list(FingerprintFinder(plain_prints(value), KEY).find(text + b"\n" + value.encode()))

        assert (found[-1].reference, found[-1].end) == (str(TOKEN), len(text) + 1 + len(value))

    def test_a_text_full_of_it_is_compared_as_a_whole(self) -> None:
        prints = KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)])

        found = list(FingerprintFinder(prints, KEY).find(f"{LONG_VALUE}\n".encode() * 50))

        assert [one.encoding for one in found] == ["plain"] * 50
