"""What values and fingerprints find together."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy")

from airflow_config_providers.spark.audit.leaks.files import FoundFile
from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder
from airflow_config_providers.spark.audit.leaks.leak_finder import CURRENT, EARLIER, UNKNOWN, KnownSecret
from airflow_config_providers.spark.audit.leaks.reversed_copies import replaced, write_copies
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.spark.audit.leaks.fingerprinted import FINDER, FINGERPRINTS, KEY, OTHER, PASSWORD, PIN, SECRETS, TOKEN, VALUE
from tests.spark.audit.leaks.searching import QUIET


def test_a_place_that_has_a_value_counts_once() -> None:
    sought = Sought(SECRETS[:1], FINGERPRINTS, KEY)

    ages = [(one.reference, one.age) for one in sought.finder().find(f"{VALUE} {OTHER}".encode())]

    assert ages == [(str(PASSWORD), CURRENT), (str(TOKEN), CURRENT)]


def test_an_earlier_value_that_resembles_the_current_one_is_found_whole() -> None:
    new, old = "q7Zx-19Kd-the-secret-of-2026", "q7Zx-19Kd-the-secret-of-2025"
    sought = Sought([KnownSecret(TOKEN, new)], key=KEY)
    sought = sought.with_fingerprints(KEY.of_secrets([KnownSecret(TOKEN, old)]))

    [one] = sought.finder().find(f"it was {old}.".encode())

    assert (one.start, one.end, one.age) == (7, 7 + len(old), EARLIER)


def test_fingerprints_of_current_values_are_not_added() -> None:
    assert Sought(SECRETS, key=KEY).with_fingerprints(FINGERPRINTS).fingerprints == ()


def test_a_value_that_its_reference_has_no_longer_is_an_earlier_one() -> None:
    sought = Sought([KnownSecret(PASSWORD, "the new passw0rd")], key=KEY).with_fingerprints(FINGERPRINTS)

    found = {one.reference: one.age for one in sought.finder().find(f"{VALUE} {OTHER}".encode())}

    assert found == {str(PASSWORD): EARLIER, str(TOKEN): UNKNOWN}


def test_a_copy_has_the_reference_whatever_the_blocks() -> None:
    content = QUIET + VALUE.encode() + QUIET + OTHER.encode() * 2
    expected = content.replace(VALUE.encode(), str(PASSWORD).encode()).replace(OTHER.encode(), str(TOKEN).encode())

    for size in (1, 7, 64, 10_000):
        blocks = [content[place : place + size] for place in range(0, len(content), size)]
        assert b"".join(replaced(blocks, FINDER)) == expected


def test_an_earlier_value_around_the_current_one_leaves_nothing_in_a_copy(tmp_path: Path) -> None:
    earlier = KEY.of_secrets([KnownSecret(PASSWORD, "hunter2x-of-2025")])
    finder = Sought([KnownSecret(PASSWORD, "hunter2x")], key=KEY).with_fingerprints(earlier).finder()
    (tmp_path / "log").write_bytes(b"it was hunter2x-of-2025.")

    [one] = finder.find(b"it was hunter2x-of-2025.")
    assert write_copies([(FoundFile(str(tmp_path / "log"), 24, 0), tmp_path / "copy")], finder) == [""]

    assert (one.start, one.end, one.age) == (7, 23, EARLIER)
    assert (tmp_path / "copy").read_bytes() == f"it was {PASSWORD}.".encode()


@pytest.mark.parametrize("size", [1, 3, 8, 64, 1_000])
def test_values_that_overlap_leave_nothing_in_a_copy(size: int) -> None:
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
