"""Keyed hashes of values."""

from __future__ import annotations

import hashlib

import pytest

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.job.value_hashes import ValueHashes

SECRET = "a secret of thirty-two bytes ...."
PASSWORD = ConfigVariable("vault", "apps/db", "password")
OTHER = ConfigVariable("vault", "apps/other", "password")


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    """Set the deployment's secret: ``secret("another one")``; the first is set already."""

    def set_secret(text):
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", text)

    set_secret(SECRET)
    return set_secret


def hashes(*pairs):
    return ValueHashes.of_deployment().of(ReverseTransformer.of_pairs(pairs))


def test_the_same_value_has_the_same_hash_in_each_process():
    assert hashes((PASSWORD, "one")) == hashes((PASSWORD, "one"))


def test_another_value_has_another_hash():
    assert hashes((PASSWORD, "one")) != hashes((PASSWORD, "two"))


def test_the_current_value_of_a_reference_is_hashed():
    assert hashes((PASSWORD, "new"), (PASSWORD, "old")) == hashes((PASSWORD, "new"))


def test_a_value_has_the_same_hash_in_two_versions_of_a_bundle():
    def digest(version):
        known = ReverseTransformer.of_pairs([(ConfigVariable("file", f"/bundles/{version}/db", "password"), "one")])
        (found,) = ValueHashes.of_deployment().of(known, lambda path: path.replace(version, "")).values()
        return found

    assert digest("c0ffee") == digest("decade")


def test_two_references_with_the_same_value_have_different_hashes():
    found = hashes((PASSWORD, "one"), (OTHER, "one"))

    assert len(set(found.values())) == 2


def test_a_hash_is_not_that_of_the_value_alone():
    """Otherwise, anyone could try out values."""
    digests = {hashlib.new(name, b"one").hexdigest()[:32] for name in ("md5", "sha1", "sha256", "sha512", "blake2b")}

    assert not digests & set(hashes((PASSWORD, "one")).values())


def test_hashes_with_another_secret_have_another_key(secret):
    before = ValueHashes.of_deployment().key_id
    secret("another secret of thirty-two bytes")

    assert before
    assert ValueHashes.of_deployment().key_id not in ("", before)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "was not set where the task ran", id="no-secret"),
        pytest.param("short", "can be guessed", id="a-guessable-secret"),
    ],
)
def test_without_a_strong_secret_there_are_no_hashes_but_a_reason(secret, text, reason):
    secret(text)
    found = ValueHashes.of_deployment()

    assert found.of(ReverseTransformer.of_pairs([(PASSWORD, "one")])) == {str(PASSWORD): None}
    assert found.key_id == ""
    assert reason in found.reason


def test_neither_key_nor_value_is_shown():
    assert SECRET not in repr(ValueHashes.of_deployment())
