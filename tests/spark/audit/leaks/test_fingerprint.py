"""Fingerprints reveal nothing of values."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("numpy")

from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.sought import Sought
from tests.spark.audit.leaks.fingerprinted import FINGERPRINTS, KEY, LONG_VALUE, OTHER_KEY, SECRETS, TOKEN, VALUE


def test_a_fingerprint_shows_no_key_and_no_value() -> None:
    assert "kkkk" not in repr(KEY)
    assert VALUE not in repr(Sought(SECRETS, FINGERPRINTS, KEY))


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


def test_without_the_key_nothing_of_it_depends_on_guesses() -> None:
    [mine] = [one for one in KEY.of_secrets(SECRETS[1:2]) if one.encoding == "hex"][:1]
    [theirs] = [one for one in OTHER_KEY.of_secrets(SECRETS[1:2]) if one.encoding == "hex"][:1]

    assert mine.digest != theirs.digest
    assert mine.middle != theirs.middle


def test_without_the_key_a_common_middle_cannot_be_seen() -> None:
    secrets = [KnownSecret(TOKEN, f"{number}-the-same-middle-{number}") for number in range(8)]

    assert len({one.middle for one in KEY.of_secrets(secrets) if one.encoding == "plain"}) == 8


def test_without_the_key_common_edges_cannot_be_seen() -> None:
    secrets = [KnownSecret(TOKEN, f"{LONG_VALUE}{number}{LONG_VALUE}") for number in range(8)]

    assert len({one.edges for one in KEY.of_secrets(secrets) if one.encoding == "plain"}) == 8
