"""Values in paths."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.leaks.file_listing import FileListing
from airflow_config_providers.spark.audit.leaks.fingerprint import FingerprintKey
from airflow_config_providers.spark.audit.leaks.leak import Leak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret, LeakFinder
from airflow_config_providers.spark.audit.leaks.leak_report import Baseline, LeakReport, RevealingPaths, read_baseline
from airflow_config_providers.spark.audit.leaks.sought import Sought

ID = "0123456789abcdef0123"
KEY, OTHER_KEY = FingerprintKey(b"k" * 32), FingerprintKey(b"o" * 32)
OLD, NEW = b"the-value-of-yesterday", b"the-value-of-today"
MARK = KEY.of_found(OLD)
PLACE = Leak("/a.log", 0, 1, "${v:k}", "plain", "current", "2026-11-25T08:00:00+00:00")


def leak(mark: str) -> Leak:
    return replace(PLACE, fingerprint=mark)


@pytest.mark.parametrize(
    ("accepted", "found", "is_accepted"),
    [
        pytest.param({""}, "", True, id="any, without a key"),
        pytest.param({""}, KEY.of_found(NEW), True, id="any"),
        pytest.param({MARK}, KEY.of_found(OLD), True, id="the same"),
        pytest.param({MARK}, KEY.of_found(NEW), False, id="another"),
        pytest.param({MARK, KEY.of_found(NEW)}, KEY.of_found(NEW), True, id="one of two"),
        pytest.param({MARK}, OTHER_KEY.of_found(OLD), False, id="another key"),
        pytest.param({MARK}, "", False, id="no key now"),
        pytest.param({MARK, ""}, KEY.of_found(NEW), True, id="any, too"),
    ],
)
def test_a_value_is_accepted_only_where_it_or_any_is(accepted: set[str], found: str, is_accepted: bool) -> None:
    assert Baseline({PLACE.id: accepted}).accepts(leak(found)) == is_accepted


def test_another_place_is_not_accepted() -> None:
    assert not Baseline({ID: {"", MARK}}).accepts(leak(MARK))


@pytest.mark.parametrize(
    ("found", "note"),
    [
        pytest.param(KEY.of_found(NEW), "The baseline has the id of 1 leak, but accepts another", id="new"),
        pytest.param(OTHER_KEY.of_found(OLD), "The baseline has the id of 1 leak, but the values cannot", id="key"),
        pytest.param("", "The baseline has the id of 1 leak, but the values cannot", id="no key"),
    ],
)
def test_a_note_says_why_a_leak_in_an_accepted_place_is_shown(found: str, note: str) -> None:
    report = LeakReport(leaks=[leak(found)])

    report.accept(Baseline({PLACE.id: {MARK}}))

    assert report.leaks == [leak(found)]
    assert [told[: len(note)] for told in report.notes] == [note]


@pytest.mark.parametrize("text", [b"pw=%s end", b"pw=%b end".replace(b"%b", b"%s\n")], ids=["inside", "line"])
def test_a_value_has_the_same_fingerprint_once_it_is_found_by_that_of_an_earlier_audit(text: bytes) -> None:
    pytest.importorskip("numpy")
    sought = Sought([KnownSecret(ConfigVariable("v", "", "k"), OLD.decode())], key=KEY)
    later = Sought(key=KEY).with_fingerprints(sought.all_fingerprints())

    [now], [then] = (list(one.finder().find(text % OLD)) for one in (sought, later))

    assert now.fingerprint == then.fingerprint == MARK


def test_a_fingerprint_of_what_was_found_is_none_of_those_of_values() -> None:
    prints = KEY.of_secrets([KnownSecret(ConfigVariable("v", "", "k"), OLD.decode())])

    assert not any(MARK[8:] in one.digest for one in prints)


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ConfigException, match="It is a pipe without a writer"):
        read_baseline(str(tmp_path / "pipe"))


def test_a_pipe_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"0123456789abcdef0123\n")
    os.close(writing)

    assert read_baseline(f"/dev/fd/{reading}") == Baseline({ID: {""}})
    os.close(reading)


def test_what_never_ends_is_refused() -> None:
    with pytest.raises(ConfigException, match="/dev/zero:1: this is not the id of a leak"):
        read_baseline("/dev/zero")


def test_few_of_many_wrong_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "baseline").write_text("wrong\n" * 100_000)

    with pytest.raises(ConfigException) as raised:
        read_baseline(str(tmp_path / "baseline"))

    assert len(raised.value.problems) == 10


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        pytest.param(f"{ID}\n# a comment\n\n", "", id="ids"),
        pytest.param(f'{{"file": "a", "id": "{ID}"}}\n', "", id="JSON"),
        pytest.param(f"{ID}  # accepted by Jo", "", id="comment"),
        pytest.param(f"{ID} {MARK}  # accepted by Jo", MARK, id="with fingerprint"),
        pytest.param(f'{{"id": "{ID}", "fingerprint": "{MARK}"}}\n', MARK, id="JSON with fingerprint"),
        pytest.param(f'{{"id": "{ID}", "fingerprint": ""}}\n', "", id="JSON without key"),
    ],
)
def test_leaks_are_read_from_lines(tmp_path: Path, text: str, mark: str) -> None:
    (tmp_path / "baseline").write_text(text)

    assert read_baseline(str(tmp_path / "baseline")) == Baseline({ID: {mark}})


@pytest.mark.parametrize(
    "line",
    ["something", f"{ID} {MARK} {MARK}", f"{ID} {ID}", MARK, f'{{"id": "{ID}", "fingerprint": null}}', "{}", "{"],
)
def test_what_is_no_leak_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "baseline").write_text(f"# fine\n{line}\n")

    with pytest.raises(ConfigException, match=r"baseline:2: this is not the id of a leak"):
        read_baseline(str(tmp_path / "baseline"))


NAME = ConfigVariable("vault", "apps/db", "name")


def test_a_value_below_a_given_path_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "of-c4nary-name").mkdir()
    (tmp_path / "of-c4nary-name" / "a.log").touch()

    found = RevealingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    shown = f"{tmp_path.resolve()}/of-{NAME}/a.log"
    assert list(found.shown.values()) == [shown]
    assert [(leak.file, leak.offset, leak.line) for leak in found.leaks] == [(shown, len(str(tmp_path)) + 4, 0)]


def test_a_value_in_a_given_path_is_one_leak_and_is_shown_nowhere(tmp_path: Path) -> None:
    """For example, because a shell has made ``logs/*`` the folders in it."""
    folder = tmp_path.resolve() / "of-c4nary-name"
    folder.mkdir()
    (folder / "a.log").touch()
    (folder / "b.log").symlink_to("a.log")

    found = RevealingPaths.of(
        FileListing.of([str(folder)]), [str(folder)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    shown = f"{folder.parent}/of-{NAME}"
    assert {found.show(f"{folder}/{name}") for name in ("a.log", "b.log")} == {f"{shown}/a.log", f"{shown}/b.log"}
    assert [(leak.file, leak.offset, leak.line) for leak in found.leaks] == [(shown, len(str(tmp_path)) + 4, 0)]


def test_a_link_that_is_named_after_a_value_is_a_leak(tmp_path: Path) -> None:
    (tmp_path / "of-c4nary-name").symlink_to("a.log")

    found = RevealingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, "c4nary-name")])
    )

    assert [leak.file for leak in found.leaks] == [f"{tmp_path.resolve()}/of-{NAME}"]


def test_the_folder_of_the_logs_as_a_value_is_no_leak(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()

    found = RevealingPaths.of(
        FileListing.of([str(tmp_path)]), [str(tmp_path)], LeakFinder([KnownSecret(NAME, str(tmp_path.resolve()))])
    )

    assert found == RevealingPaths({}, [])
