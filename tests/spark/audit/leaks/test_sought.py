"""What values and fingerprints find together; a part of a secret inside a value that is no secret is no leak."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy")

import base64

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, Split
from airflow_config_providers.spark.audit.leaks.fingerprint_finder import FingerprintFinder
from airflow_config_providers.spark.audit.leaks.leak_finder import CURRENT, EARLIER, UNKNOWN, KnownSecret
from airflow_config_providers.spark.audit.leaks.reversed_copies import replaced, write_copies
from airflow_config_providers.spark.audit.leaks.sought import Sought, SoughtFinder
from tests.spark.audit.leaks.fingerprinted import FINDER, FINGERPRINTS, KEY, OTHER, PASSWORD, PIN, SECRETS, TOKEN, VALUE
from tests.spark.audit.leaks.searching import QUIET, search


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


URL = ConfigVariable("vault", "apps/db", "url")
USER = ConfigVariable("vault", "apps/db", "user")
NAME = "etl7-k29fjs-x4"
SECRET = f"jdbc:postgresql://{NAME}:c4nary-Pa55@db/x"


def finder(secret: str = SECRET, *excepted: str) -> SoughtFinder:
    others = [KnownSecret(USER, value) for value in excepted]
    return Sought([KnownSecret(URL, secret)], no_secrets=others).finder()


def encodings(data: bytes, secret: str, *excepted: str) -> list[str]:
    return [one.encoding for one in finder(secret, *excepted).find(data)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"user={NAME} logged in", id="alone"),
        pytest.param(f"jdbc:other://{NAME}:ask@there", id="between the same separators"),
        pytest.param(base64.b64encode(NAME.encode()).decode(), id="base64"),
    ],
)
def test_an_excepted_value_is_no_part_of_a_secret_that_contains_it(text: str) -> None:
    assert encodings(text.encode(), SECRET)
    assert encodings(text.encode(), SECRET, NAME) == []


def test_an_excepted_value_with_the_beginning_of_a_secret_is_no_part_of_it() -> None:
    longer = f"{NAME}-and-more"

    assert encodings(longer.encode(), f"{NAME}-c4nary") == ["plain, in part"]
    assert encodings(longer.encode(), f"{NAME}-c4nary", longer) == []


def test_a_whole_secret_in_an_excepted_value_is_found() -> None:
    assert encodings(SECRET.encode(), NAME, SECRET) == ["plain"]


@pytest.mark.parametrize(
    ("text", "excepted"),
    [
        pytest.param(f"{NAME}:c4na", NAME, id="more of the secret follows"),
        pytest.param(f"{NAME[:-1]}!", NAME, id="not whole"),
        pytest.param(f"{NAME}:c4nary", NAME[5:11], id="in the middle"),
        pytest.param(f"{NAME} {NAME}:c4na", NAME, id="elsewhere"),
        pytest.param(NAME, NAME[-4:], id="too short to be sure"),
    ],
)
def test_a_part_with_more_than_an_excepted_value_is_found(text: str, excepted: str) -> None:
    assert encodings(text.encode(), SECRET, excepted) == ["plain, in part"]


def test_an_excepted_value_that_is_the_secret_hides_no_part_of_it() -> None:
    assert encodings(f"{SECRET} {SECRET[:-5]}".encode(), SECRET, SECRET) == ["plain", "plain, in part"]


def test_blocks_make_no_difference_to_an_excepted_value(tmp_path: Path) -> None:
    secret, excepted = f"{NAME}-c4nary", f"{NAME}{'-and-more' * 40}"
    path = tmp_path / "log"
    path.write_text("\n".join("x" * place + excepted for place in range(0, 900, 7)))
    split = Split(FoundFile(str(path), path.stat().st_size, 0))

    assert search(split, finder(secret), block=512).leaks
    assert search(split, finder(secret, excepted), block=512).leaks == ()


def test_an_excepted_value_stays_in_a_copy_that_replaces_secrets() -> None:
    content = f"user={NAME} url={SECRET}\n".encode()

    assert finder(SECRET, NAME).reversers == ()
    assert b"".join(replaced([content], finder(SECRET, NAME))) == f"user={NAME} url={URL}\n".encode()


def test_what_is_excepted_is_not_in_the_representation() -> None:
    assert NAME not in repr(Sought(no_secrets=[KnownSecret(USER, NAME)]))
