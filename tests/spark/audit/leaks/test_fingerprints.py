"""Values are found by their fingerprints, which reveal nothing of them."""

from __future__ import annotations

import json
import os
import stat
import sys
import tracemalloc
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("numpy")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.encodings import ENCODINGS, forms
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks import fingerprint
from airflow_config_providers.spark.audit.leaks.files import FoundFile, splits_of
from airflow_config_providers.spark.audit.leaks.fingerprint import (
    MIDDLE_BITS,
    Fingerprint,
    FingerprintFinder,
    FingerprintKey,
    read_fingerprints,
    write_fingerprints,
)
from airflow_config_providers.spark.audit.leaks.leak_finder import CURRENT, EARLIER, UNKNOWN, KnownSecret, Occurrence
from airflow_config_providers.spark.audit.leaks.reversed_copies import replaced, write_copies
from airflow_config_providers.spark.audit.leaks.seen_files import SearchedFile, SeenFiles
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.spark.audit.leaks.logs import QUIET, log_with
from tests.spark.audit.leaks.searching import search

PASSWORD = ConfigVariable("vault", "apps/db", "password")
TOKEN = ConfigVariable("vault", "apps/web", "token")
PIN = ConfigVariable("vault", "apps/db", "pin")
VALUE, OTHER, SHORT = 'k9#Qv"7/wZ&é\\x2', "t0ken-of-the-web", "p1n-7"
SECRETS = [KnownSecret(PASSWORD, VALUE), KnownSecret(TOKEN, OTHER), KnownSecret(PIN, SHORT)]
KEY, OTHER_KEY = FingerprintKey(b"k" * 32), FingerprintKey(b"o" * 32)
FINGERPRINTS = list(KEY.of_secrets(SECRETS))
FINDER = FingerprintFinder(FINGERPRINTS, KEY)


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
        counted = 0

        def count(frame: object, event: str, arg: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            assert list(finder.find(text)) == []
        finally:
            sys.setprofile(None)
        return counted

    values = [beginning + "".join(f"{size * place:x}" for place in range(30, size)) for size in range(40, 140)]
    finder = FingerprintFinder(KEY.of_secrets(KnownSecret(TOKEN, value) for value in values), KEY)
    line = f"2026-11-25T08:00:00 INFO {beginning}flights\n".encode()

    assert work(line * 200) < 2 * work(b"." * len(line) * 200) + 200


def test_control_characters_of_a_file_are_escaped() -> None:
    hostile = [replace(one, reference="a\n\x1b[31m\ud800", encoding="b\r") for one in FINGERPRINTS]

    [found] = FingerprintFinder(hostile, KEY).find(b"the pin is p1n-7")

    assert (found.reference, found.encoding) == (r"a\n\x1b[31m\ud800", r"b\r")


def test_the_work_for_a_value_grows_with_its_lines_and_not_faster() -> None:
    def work(lines: int) -> int:
        value = "\n".join(f'"line" {number}: {number * 7_919:x}' for number in range(lines))
        counted = 0

        def count(frame: object, event: str, arg: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            list(KEY.of_secrets([KnownSecret(TOKEN, value)]))
        finally:
            sys.setprofile(None)
        return counted

    assert work(80) < 3 * work(40)


class CountingKey(FingerprintKey):
    """A key that counts the bytes of which it has made digests."""

    def __init__(self) -> None:
        super().__init__(b"k" * 32)
        self.digested: list[int]
        object.__setattr__(self, "digested", [])

    def digest(self, form: bytes) -> str:
        self.digested.append(len(form))
        return super().digest(form)


LONG_VALUE = b64encode(Random(1).randbytes(9_000) + bytes(24) + Random(2).randbytes(9_000)).decode()
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

    def test_without_the_key_common_edges_cannot_be_seen(self) -> None:
        secrets = [KnownSecret(TOKEN, f"{LONG_VALUE}{number}{LONG_VALUE}") for number in range(8)]

        assert len({one.edges for one in KEY.of_secrets(secrets) if one.encoding == "plain"}) == 8

    def test_its_fingerprints_are_written_with_the_digest_of_its_edges(self, tmp_path: Path) -> None:
        prints = list(KEY.of_secrets([KnownSecret(TOKEN, LONG_VALUE)]))
        write_fingerprints(str(tmp_path / "prints"), prints, KEY)

        assert set(read_fingerprints(str(tmp_path / "prints"), KEY)) == set(prints)
        assert all(one.edges for one in prints)


class TestSought:
    def test_a_place_that_has_a_value_counts_once(self) -> None:
        sought = Sought(SECRETS[:1], FINGERPRINTS, KEY)

        ages = [(one.reference, one.age) for one in sought.finder().find(f"{VALUE} {OTHER}".encode())]

        assert ages == [(str(PASSWORD), CURRENT), (str(TOKEN), CURRENT)]

    def test_an_earlier_value_that_resembles_the_current_one_is_found_whole(self) -> None:
        new, old = "q7Zx-19Kd-the-secret-of-2026", "q7Zx-19Kd-the-secret-of-2025"
        sought = Sought([KnownSecret(TOKEN, new)], key=KEY)
        sought = sought.with_fingerprints(KEY.of_secrets([KnownSecret(TOKEN, old)]))

        [one] = sought.finder().find(f"it was {old}.".encode())

        assert (one.start, one.end, one.age) == (7, 7 + len(old), EARLIER)

    def test_fingerprints_of_current_values_are_not_added(self) -> None:
        assert Sought(SECRETS, key=KEY).with_fingerprints(FINGERPRINTS).fingerprints == ()

    def test_a_value_that_its_reference_has_no_longer_is_an_earlier_one(self) -> None:
        sought = Sought([KnownSecret(PASSWORD, "the new passw0rd")], key=KEY).with_fingerprints(FINGERPRINTS)

        found = {one.reference: one.age for one in sought.finder().find(f"{VALUE} {OTHER}".encode())}

        assert found == {str(PASSWORD): EARLIER, str(TOKEN): UNKNOWN}

    def test_a_copy_has_the_reference_whatever_the_blocks(self) -> None:
        content = QUIET + VALUE.encode() + QUIET + OTHER.encode() * 2
        expected = content.replace(VALUE.encode(), str(PASSWORD).encode()).replace(OTHER.encode(), str(TOKEN).encode())

        for size in (1, 7, 64, 10_000):
            blocks = [content[place : place + size] for place in range(0, len(content), size)]
            assert b"".join(replaced(blocks, FINDER)) == expected

    def test_an_earlier_value_around_the_current_one_leaves_nothing_in_a_copy(self, tmp_path: Path) -> None:
        earlier = KEY.of_secrets([KnownSecret(PASSWORD, "hunter2x-of-2025")])
        finder = Sought([KnownSecret(PASSWORD, "hunter2x")], key=KEY).with_fingerprints(earlier).finder()
        (tmp_path / "log").write_bytes(b"it was hunter2x-of-2025.")

        [one] = finder.find(b"it was hunter2x-of-2025.")
        assert write_copies([(FoundFile(str(tmp_path / "log"), 24, 0), tmp_path / "copy")], finder) == [""]

        assert (one.start, one.end, one.age) == (7, 23, EARLIER)
        assert (tmp_path / "copy").read_bytes() == f"it was {PASSWORD}.".encode()

    @pytest.mark.parametrize("size", [1, 3, 8, 64, 1_000])
    def test_values_that_overlap_leave_nothing_in_a_copy(self, size: int) -> None:
        secrets = [
            KnownSecret(PASSWORD, "abcd-efgh"),
            KnownSecret(TOKEN, "efgh-ijkl-mnop"),
            KnownSecret(PIN, "mnop-qr"),
        ]
        finder = FingerprintFinder(KEY.of_secrets(secrets), KEY)
        content = QUIET + b"abcd-efgh-ijkl-mnop-qr" + QUIET

        copy = b"".join(replaced([content[at : at + size] for at in range(0, len(content), size)], finder))

        assert copy == QUIET + copy.removeprefix(QUIET).removesuffix(QUIET) + QUIET
        assert not [part for part in (b"abcd", b"efgh", b"ijkl", b"mnop", b"qr") if part in copy]


class TestFile:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

        assert set(read_fingerprints(str(tmp_path / "prints"), KEY)) == set(FINGERPRINTS)
        assert stat.S_IMODE((tmp_path / "prints").stat().st_mode) == 0o600

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
    @given(value=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40))
    def test_no_part_of_a_value_is_in_it(self, tmp_path: Path, value: str) -> None:
        write_fingerprints(str(tmp_path / "prints"), KEY.of_secrets([KnownSecret(TOKEN, value)]), KEY)

        content = (tmp_path / "prints").read_text()

        words = "reference encoding size middle digest kind format key airflow-config-providers fingerprints"
        names = "".join([*ENCODINGS, str(TOKEN), words])
        parts = {value[place : place + 6] for place in range(len(value) - 5)}
        assert not [part for part in parts if part in content and part not in names]

    def test_without_the_key_nothing_of_it_depends_on_guesses(self) -> None:
        [mine] = [one for one in KEY.of_secrets(SECRETS[1:2]) if one.encoding == "hex"][:1]
        [theirs] = [one for one in OTHER_KEY.of_secrets(SECRETS[1:2]) if one.encoding == "hex"][:1]

        assert mine.digest != theirs.digest
        assert mine.middle != theirs.middle

    def test_without_the_key_a_common_middle_cannot_be_seen(self) -> None:
        secrets = [KnownSecret(TOKEN, f"{number}-the-same-middle-{number}") for number in range(8)]

        assert len({one.middle for one in KEY.of_secrets(secrets) if one.encoding == "plain"}) == 8

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param({}, "Name another file.", id="file"),
            pytest.param({"way_out": "Make room."}, "Make room.", id="state"),
        ],
    )
    def test_what_cannot_be_written_says_what_to_do(self, tmp_path: Path, given: dict[str, str], expected: str) -> None:
        with pytest.raises(ConfigException, match=f"cannot be written to .*: No such file or directory. {expected}$"):
            write_fingerprints(str(tmp_path / "missing" / "prints"), FINGERPRINTS, KEY, **given)

    def test_the_fingerprints_of_another_key_are_refused(self, tmp_path: Path) -> None:
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

        with pytest.raises(ConfigException, match="made with another key"):
            read_fingerprints(str(tmp_path / "prints"), OTHER_KEY)

    def test_a_value_that_is_too_large_leaves_the_file_readable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fingerprint, "_LONGEST", len(OTHER))
        write_fingerprints(str(tmp_path / "prints"), KEY.of_secrets(SECRETS), KEY)

        found = read_fingerprints(str(tmp_path / "prints"), KEY)

        assert max(one.size for one in found) == len(OTHER)

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"hello\n", id="text"),
            pytest.param(b"\xff\xfe\x00", id="binary"),
            pytest.param(b"[" * 10_000 + b"\n", id="nested"),
            pytest.param(b"x" * 200_000, id="endless line"),
            pytest.param(b'{"kind": "airflow-config-providers fingerprints", "format": 3, "key": ""}\n', id="later"),
        ],
    )
    def test_another_file_is_refused_and_not_replaced(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "other").write_bytes(content)

        for use in (lambda path: read_fingerprints(path, KEY), lambda path: write_fingerprints(path, [], KEY)):
            with pytest.raises(ConfigException, match="has no fingerprints, or is damaged"):
                use(str(tmp_path / "other"))
        assert (tmp_path / "other").read_bytes() == content

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"size": 4}, id="too short"),
            pytest.param({"size": 1 << 40}, id="too long"),
            pytest.param({"size": True}, id="no number"),
            pytest.param({"middle": 1 << MIDDLE_BITS}, id="middle"),
            pytest.param({"middle": -1}, id="negative"),
            pytest.param({"digest": "00"}, id="digest"),
            pytest.param({"digest": "AB" * 16}, id="upper case"),
            pytest.param({"digest": "x" * 32}, id="no digits"),
            pytest.param({"edges": "00"}, id="edges"),
            pytest.param({"edges": None}, id="no edges"),
            pytest.param({"reference": None}, id="reference"),
        ],
    )
    def test_a_damaged_row_is_refused(self, tmp_path: Path, change: dict[str, object]) -> None:
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS[:1], KEY)
        header, row = (tmp_path / "prints").read_text().splitlines()
        (tmp_path / "prints").write_text(f"{header}\n{json.dumps({**json.loads(row), **change})}\n")

        with pytest.raises(ConfigException, match="damaged"):
            read_fingerprints(str(tmp_path / "prints"), KEY)

    @pytest.mark.parametrize("lost", [1, len(FINGERPRINTS)], ids=["last", "all"])
    def test_a_file_that_has_lost_whole_lines_is_damaged(self, tmp_path: Path, lost: int) -> None:
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)
        lines = (tmp_path / "prints").read_text().splitlines(keepends=True)
        (tmp_path / "prints").write_text("".join(lines[:-lost]))

        with pytest.raises(ConfigException, match="damaged"):
            read_fingerprints(str(tmp_path / "prints"), KEY)

    def test_an_older_file_does_not_say_how_many_it_has(self, tmp_path: Path) -> None:
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)
        first, *lines = (tmp_path / "prints").read_text().splitlines(keepends=True)
        header = json.loads(first)
        del header["count"]
        (tmp_path / "prints").write_text("".join([f"{json.dumps(header)}\n", *lines]))

        assert set(read_fingerprints(str(tmp_path / "prints"), KEY)) == set(FINGERPRINTS)

    def test_as_many_as_can_be_read_are_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fingerprint, "_MOST", len(FINGERPRINTS))

        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

        assert len(read_fingerprints(str(tmp_path / "prints"), KEY)) == len(FINGERPRINTS)

    def test_more_than_can_be_read_are_not_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fingerprint, "_MOST", len(FINGERPRINTS) - 1)

        with pytest.raises(ConfigException, match=r"that a file can have\. Search for fewer values at a time"):
            write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)

        assert list(tmp_path.iterdir()) == []

    def test_more_than_can_be_read_are_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_fingerprints(str(tmp_path / "prints"), FINGERPRINTS, KEY)
        monkeypatch.setattr(fingerprint, "_MOST", len(FINGERPRINTS) - 1)

        with pytest.raises(ConfigException, match="that a file can have"):
            read_fingerprints(str(tmp_path / "prints"), KEY)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigException, match="cannot be read: It cannot be opened: No such file"):
            read_fingerprints(str(tmp_path / "missing"), KEY)


class TestState:
    def test_a_rotated_value_is_searched_for_by_its_fingerprint(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, VALUE)], key=KEY))

        seen = SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, "the new passw0rd")], key=KEY))

        [one] = seen.sought.finder().find(VALUE.encode())
        assert (one.reference, one.age) == (str(PASSWORD), EARLIER)

    def test_an_excepted_reference_is_not_searched_for_and_not_forgotten(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

        excepting = SeenFiles.open(str(tmp_path), Sought(SECRETS[1:], key=KEY, excepted=[str(PASSWORD)]))
        later = SeenFiles.open(str(tmp_path), Sought(SECRETS[1:], key=KEY))

        assert str(PASSWORD) not in {one.reference for one in excepting.sought.fingerprints}
        assert str(PASSWORD) in {one.reference for one in later.sought.fingerprints}

    def test_an_earlier_value_is_found_though_an_excepted_reference_has_it_now(self, tmp_path: Path) -> None:
        new = KnownSecret(PASSWORD, "the new passw0rd")
        SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, VALUE)], key=KEY))
        SeenFiles.open(str(tmp_path), Sought([new, KnownSecret(TOKEN, VALUE)], key=KEY))

        excepting = SeenFiles.open(str(tmp_path), Sought([new], key=KEY, excepted=[str(TOKEN)]))

        [one] = excepting.sought.finder().find(VALUE.encode())
        assert (one.reference, one.age) == (str(PASSWORD), EARLIER)

    @pytest.mark.parametrize(("excepted", "found"), [(PASSWORD, TOKEN), (TOKEN, PASSWORD)])
    def test_an_earlier_value_is_remembered_for_each_reference_that_had_it(
        self, tmp_path: Path, excepted: ConfigVariable, found: ConfigVariable
    ) -> None:
        for first, second in ((VALUE, VALUE), ("the new passw0rd", "the new t0ken"), ("the third", "the f0urth")):
            SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, first), KnownSecret(TOKEN, second)], key=KEY))

        excepting = SeenFiles.open(
            str(tmp_path), Sought([KnownSecret(found, "the fifth one")], key=KEY, excepted=[str(excepted)])
        )

        [one] = excepting.sought.finder().find(VALUE.encode())
        assert (one.reference, one.age) == (str(found), EARLIER)

    def test_what_is_kept_grows_only_with_new_values(self, tmp_path: Path) -> None:
        sizes = []
        for value in ("generation-1", "generation-2", "generation-1", "generation-2"):
            SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, value)], key=KEY))
            sizes.append((tmp_path / "fingerprints.jsonl").stat().st_size)

        assert sizes[0] < sizes[1] == sizes[2] == sizes[3]

    @pytest.mark.parametrize("size", [0, 60, 400])
    def test_damaged_fingerprints_are_refused_with_the_way_out(self, tmp_path: Path, size: int) -> None:
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
        os.truncate(tmp_path / "fingerprints.jsonl", size)

        with pytest.raises(ConfigException, match=r"fingerprints\.jsonl cannot be read, or is damaged\. Restore it"):
            SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

    def test_fingerprints_that_cannot_be_read_are_not_called_damaged(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fingerprints.jsonl")

        with pytest.raises(ConfigException, match=r"cannot be read: It is no regular file\. Run the audit again"):
            SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

    def test_what_was_searched_is_kept_though_it_cannot_be_seen_for_what(self, tmp_path: Path) -> None:
        state = tmp_path / "state"
        SeenFiles.open(str(state), Sought(SECRETS, key=KEY)).keep([SearchedFile(FoundFile("/log", 1, 1))])
        (state / "secrets.json").rename(tmp_path / "aside")
        (state / "secrets.json").symlink_to(tmp_path / "aside")  # a link is not read

        with pytest.raises(ConfigException, match=r"secrets\.json cannot be read: .*Run the audit again"):
            SeenFiles.open(str(state), Sought(SECRETS, key=KEY))

        assert len(list(state.glob("seen-*"))) == 1

    def test_without_anything_to_search_for_what_is_kept_stays(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path), Sought(SECRETS)).keep([SearchedFile(FoundFile("/log", 1, 1))])
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

        with pytest.raises(ConfigException, match="There is no value to search for"):
            SeenFiles.open(str(tmp_path), Sought())

        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_a_folder_that_takes_nothing_more_ends_no_audit_and_is_named_once(self, tmp_path: Path) -> None:
        seen = SeenFiles.open(str(tmp_path / "state"), Sought(SECRETS, key=KEY))
        seen.keep([SearchedFile(FoundFile("/first", 1, 1))])
        (tmp_path / "state").rename(tmp_path / "full")

        for path in ("/second", "/third"):
            seen.keep([SearchedFile(FoundFile(path, 1, 1))])
        seen.compact({"/first", "/second", "/third"})

        [note] = seen.notes
        assert "not all of what was searched could be kept there (No such file or directory)" in note
        assert list(seen.files) == ["/first"]
        later = SeenFiles.open(str(tmp_path / "full"), Sought(SECRETS, key=KEY))
        assert list(later.files) == ["/first"]

    @pytest.mark.parametrize("name", ["seen-00000000-x.jsonl", "secrets.json", "fingerprints.jsonl"])
    def test_a_folder_that_is_named_like_a_file_of_an_audit_is_refused(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()

        with pytest.raises(ConfigException, match=rf"it has other files, such as {name}\. Name an empty folder"):
            SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

    @pytest.mark.parametrize("name", ["seen-00000000-a.jsonl", "seen-99999999-z.jsonl"], ids=["first", "last"])
    def test_a_part_that_cannot_be_removed_ends_no_audit_and_keeps_no_other(self, tmp_path: Path, name: str) -> None:
        seen = SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
        for path in ("/first", "/second"):
            seen.keep([SearchedFile(FoundFile(path, 1, 1))])
        (tmp_path / name).mkdir()  # while the audit runs

        seen.compact({"/first", "/second"})

        [note] = seen.notes
        assert "older parts could not be removed there (Is a directory)" in note
        (tmp_path / name).rmdir()
        [part] = tmp_path.glob("seen-*")
        assert [json.loads(line)[0][0] for line in part.read_text().splitlines()] == ["/first", "/second"]

    def test_what_a_killed_audit_has_kept_is_later_than_what_was_compacted(self, tmp_path: Path) -> None:
        before, after = FoundFile("/log", 1, 1), FoundFile("/log", 2, 2)
        first = SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
        for file in (before, FoundFile("/other", 1, 1)):
            first.keep([SearchedFile(file)])
        first.compact({"/log", "/other"})
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY)).keep([SearchedFile(after)])

        assert SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY)).files["/log"].file == after

    def test_parts_are_in_order_though_their_numbers_have_become_longer(self, tmp_path: Path) -> None:
        seen = SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))
        seen.keep([SearchedFile(FoundFile("/log", 1, 1))])
        [part] = tmp_path.glob("seen-*")
        part.rename(tmp_path / "seen-99999999-a.jsonl")
        seen.keep([SearchedFile(FoundFile("/log", 2, 2))])

        assert SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY)).files["/log"].file.size == 2

    def test_only_the_user_can_read_what_is_kept(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path / "state"), Sought(SECRETS, key=KEY))

        assert {path.stat().st_mode & 0o777 for path in (tmp_path / "state").iterdir()} == {0o600}

    def test_several_generations_are_remembered(self, tmp_path: Path) -> None:
        for value in ("generation-1", "generation-2", "generation-3"):
            seen = SeenFiles.open(str(tmp_path), Sought([KnownSecret(PASSWORD, value)], key=KEY))

        found: list[Occurrence] = list(seen.sought.finder().find(b"generation-1 generation-2 generation-3"))

        assert [one.age for one in found] == [EARLIER, EARLIER, CURRENT]

    def test_with_another_key_the_earlier_ones_are_kept_aside_with_a_note(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

        seen = SeenFiles.open(str(tmp_path), Sought(SECRETS[:1], key=OTHER_KEY))

        assert seen.sought.fingerprints == ()
        assert "made with another password_encoder_secret" in seen.notes[0]
        [aside] = tmp_path.glob("fingerprints.jsonl.*")
        assert aside.name in seen.notes[0]
        assert set(read_fingerprints(str(aside), KEY)) == set(Sought(SECRETS, key=KEY).own_fingerprints())
        SeenFiles.open(str(tmp_path), Sought(SECRETS[:1], key=OTHER_KEY))  # it is no file of somebody else

    def test_without_a_key_a_note_says_what_is_missing(self, tmp_path: Path) -> None:
        seen = SeenFiles.open(str(tmp_path), Sought(SECRETS))

        assert "password_encoder_secret is not set" in seen.notes[0]

    def test_the_folder_has_no_value(self, tmp_path: Path) -> None:
        SeenFiles.open(str(tmp_path), Sought(SECRETS, key=KEY))

        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert not list(Sought(SECRETS).finder().find(kept))


def test_a_fingerprint_shows_no_key_and_no_value() -> None:
    assert "kkkk" not in repr(KEY)
    assert VALUE not in repr(Sought(SECRETS, FINGERPRINTS, KEY))
