"""The values of a job, sealed for a later process of its task."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from types import SimpleNamespace
from uuid import UUID

import pytest

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.job import sealed_values
from airflow_config_providers.job.sealed_values import ValueHashes, ValueSeal
from tests.canary import CANARY

SECRET = "a secret of thirty-two bytes ...."
PASSWORD = ConfigVariable("vault", "apps/db", "password")
OTHER = ConfigVariable("vault", "apps/other", "password")


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    """Set the deployment's secret: ``secret("another one")``; the first is set already."""

    def set_secret(text, *, old=""):
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", text)
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_OLD_SECRET", old)

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


def test_a_secret_that_cannot_be_read_leaves_no_hashes_but_a_reason(monkeypatch):
    name = "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET"
    monkeypatch.delenv(name)
    monkeypatch.setenv(f"{name}_CMD", "false")
    found = ValueHashes.of_deployment()

    assert found.key_id == ""
    assert "password_encoder_secret_cmd is set, its command has failed" in found.reason


def test_neither_key_nor_value_is_shown():
    assert SECRET not in repr(ValueHashes.of_deployment())


OLD = "c4nary/f0rmer+value"
FIELDS = {"dag_id": "flights", "task_id": "job", "run_id": "run-1", "map_index": -1}

log = logging.getLogger(__name__)


def seal(*use, **fields):
    return ValueSeal.of_task(SimpleNamespace(**{**FIELDS, **fields}), *use, log=log)


def values(*several, hidden=()):
    return ReverseTransformer.of_pairs([(PASSWORD, value) for value in several], hidden=hidden)


def test_all_values_of_a_reference_are_known_again_the_current_one_first():
    opened = seal().open(seal().seal(values(CANARY, OLD, hidden=["dec1phered"])))

    assert opened.pairs == ((PASSWORD, CANARY), (PASSWORD, OLD))
    assert opened.reverse_text(f"{OLD} {CANARY} dec1phered") == f"{PASSWORD} {PASSWORD} [hidden]"


def test_a_reference_is_shown_as_its_author_wrote_it():
    written = ConfigVariable("vault", "", "password", "${vault::password}")
    opened = seal().open(seal().seal(ReverseTransformer({}, {written: CANARY})))

    assert opened.reverse_text(CANARY) == "${vault::password}"


def test_a_sealed_text_shows_no_value_in_any_encoding():
    sealed = seal().seal(values(CANARY))
    content = base64.b64decode(dict(field.split(":") for field in sealed.split(","))["encryptedPassword"])

    assert values(CANARY).reverse_text(sealed) == sealed
    assert CANARY.encode() not in content
    assert b"pairs" not in content


def test_no_two_sealed_texts_are_equal():
    assert seal().seal(values(CANARY)) != seal().seal(values(CANARY))


@pytest.mark.parametrize("field", FIELDS)
def test_another_task_cannot_open_it(field, caplog):
    sealed = seal("deferral", 1).seal(values(CANARY))

    assert seal("deferral", 1, **{field: "another"}).open(sealed) is None
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("use", [("deferral", 2), ("job", 1), ()])
def test_it_opens_for_no_other_use(use):
    assert seal(*use).open(seal("deferral", 1).seal(values(CANARY))) is None


def test_another_iteration_of_a_loop_cannot_open_it():
    """Since Airflow 3.4, all iterations of a task have the same names and the same map index."""
    first, second = ({"region_id": UUID(int=7), "region_index": index} for index in (0, 1))
    sealed = seal("job", 1, **first).seal(values(CANARY))

    assert seal("job", 1, **first).open(sealed) is not None
    assert seal("job", 1, **second).open(sealed) is None
    assert seal("job", 1).open(sealed) is None


def test_outside_of_loops_what_an_earlier_version_has_sealed_is_opened():
    assert seal("job", 1, region_id=UUID(int=0), region_index=-1).owner == ("flights", "job", "run-1", "-1", "job", "1")


def test_names_of_a_task_cannot_be_shifted_into_each_other():
    sealed = seal(dag_id="a", task_id='b", "c').seal(values(CANARY))

    assert seal(dag_id='a", "b', task_id="c").open(sealed) is None


def test_it_is_no_secret_of_the_dynamic_configuration_and_none_is_one_of_it():
    encoder = PasswordEncoder(SECRET)
    content = json.dumps({"version": 1, "pairs": [], "hidden": ["chosen"]})

    assert seal().open(encoder.encode(Password(content))) is None
    with pytest.raises(Exception, match="cannot be decoded"):
        encoder.decode(seal().seal(values(CANARY)))


def test_a_rotated_secret_opens_what_the_old_one_has_sealed(secret):
    sealed = seal().seal(values(CANARY))
    secret("another secret of enough bytes", old=SECRET)

    assert seal().open(sealed).pairs == ((PASSWORD, CANARY),)


@pytest.mark.parametrize("now", ["", "another secret of enough bytes"])
def test_without_its_secret_it_is_one_warning(secret, caplog, now):
    sealed = seal().seal(values(CANARY))
    secret(now)

    assert seal().open(sealed) is None
    assert len(caplog.records) == 1
    assert sealed not in caplog.text


@pytest.mark.parametrize("broken", ["", "text", 7, None, {"a": 1}, "a:b,c:d", "x" * 100_000])
def test_anything_else_is_one_warning_that_does_not_quote_it(caplog, broken):
    with caplog.at_level(logging.INFO):
        assert seal().open(broken) is None

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "xxx" not in caplog.text


def test_a_changed_text_is_not_opened():
    head, _, tail = seal().seal(values(CANARY)).partition("encryptedPassword:")
    changed = ("B" if tail[0] == "A" else "A") + tail[1:]

    assert seal().open(f"{head}encryptedPassword:{changed}") is None


def test_a_cipher_that_detects_no_change_is_not_used(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_CIPHER_ALGORITHM", "AES/CBC/PKCS5Padding")

    assert "AES/GCM/NoPadding" in seal().seal(values(CANARY))


def test_another_version_of_it_is_not_read(monkeypatch):
    sealed = seal().seal(values(CANARY))
    monkeypatch.setattr(sealed_values, "_VERSION", 2)

    assert seal().open(sealed) is None


def test_without_a_secret_nothing_is_sealed_and_nothing_said(secret, caplog):
    secret("")

    assert seal().seal(values(CANARY)) is None
    assert caplog.records == []


def test_values_that_cannot_be_written_are_one_warning_that_does_not_quote_them(caplog):
    assert seal().seal(values(CANARY.encode())) is None

    assert len(caplog.messages) == 1
    assert caplog.messages[0].endswith("its log can show the old ones: TypeError")
    assert CANARY not in caplog.text


def test_without_values_nothing_is_sealed():
    assert seal().seal(values()) is None


def test_a_secret_that_can_be_guessed_seals_nothing(secret, caplog):
    secret("short")

    assert seal().seal(values(CANARY)) is None
    assert "fewer than 16 bytes" in caplog.text


def test_more_than_a_database_should_keep_is_not_sealed(caplog):
    assert seal().seal(values("x" * 25_000)) is None
    assert "more than 32768 characters" in caplog.text
    assert "xxx" not in caplog.text


def test_a_job_that_was_restarted_often_keeps_its_newest_values(caplog):
    user = ConfigVariable("vault", "apps/db", "user")
    known = ReverseTransformer({}, {})
    for number in range(500):
        known = ReverseTransformer({}, {PASSWORD: f"{CANARY}-{number}", user: f"us3r-{number}"}).knowing(known)
    sealed = seal().seal(known)
    opened = seal().open(sealed)

    assert len(sealed) <= 32_768
    assert opened.current == known.current
    assert opened.reverse_text(f"{CANARY}-450") == str(PASSWORD)
    assert caplog.records == []
