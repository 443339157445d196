from __future__ import annotations

import base64
import copy
import json
import pickle
import threading
import time
import traceback
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.exceptions import ConfigException

CANARY = "Zq8-s3cr3t"
KAFKA = json.loads(Path(__file__).with_name("kafka_encoded.json").read_text(encoding="utf-8"))
"""Texts that Kafka 3.9's own encoder wrote."""

FAST = {"iterations": 1000}
CIPHERS = [
    *(f"AES/{mode}/PKCS5Padding" for mode in ("CBC", "CFB", "OFB")),
    "AES/CFB/NoPadding",
    "AES/OFB/NoPadding",
    "AES/GCM/NoPadding",
]


def fields(text: str) -> dict[str, str]:
    return dict(field.rsplit(":", 1) for field in text.split(","))


def with_fields(text: str, **changes: str | None) -> str:
    changed = {**fields(text), **changes}
    return ",".join(f"{name}:{value}" for name, value in changed.items() if value is not None)


def flipped(octets: str, place: int) -> str:
    raw = bytearray(base64.b64decode(octets))
    raw[place] ^= 1
    return base64.b64encode(bytes(raw)).decode()


@pytest.fixture(scope="module")
def encoder() -> PasswordEncoder:
    return PasswordEncoder("the-secret", **FAST)


# --- there and back ---------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.text(), st.sampled_from(CIPHERS), st.sampled_from([128, 192, 256]), st.sampled_from([1, 256, 384, 512]))
def test_what_is_encoded_is_decoded(password, cipher, key_length, bits):
    encoder = PasswordEncoder(
        "s",
        cipher_algorithm=cipher,
        key_length=key_length,
        iterations=1,
        key_factory_algorithm=f"PBKDF2WithHmacSHA{bits}",
    )

    assert encoder.decode(encoder.encode(Password(password))) == Password(password)


@pytest.mark.parametrize("cipher", KAFKA["texts"])
def test_what_kafka_wrote_is_read_whatever_the_encoder_itself_writes(cipher):
    encoder = PasswordEncoder(KAFKA["secret"])

    assert encoder.decode(KAFKA["texts"][cipher]).value == KAFKA["password"]


def test_the_text_is_kafkas(encoder):
    written = fields(encoder.encode(Password("a\U0001f600")))

    assert (written["keyFactoryAlgorithm"], written["cipherAlgorithm"], written["keyLength"]) == (
        "PBKDF2WithHmacSHA512",
        "AES/GCM/NoPadding",
        "256",
    )
    assert (written["iterations"], written["passwordLength"], written["authenticationTagLength"]) == (
        "1000",
        "3",
        "128",
    )


def test_fields_stand_in_any_order_with_blanks_around_and_names_in_any_case_of_java(encoder):
    text = encoder.encode(Password("x"))
    shuffled = " , ".join(f" {name} : {value} " for name, value in reversed(fields(text).items()))

    assert encoder.decode(shuffled.replace("AES/GCM/NoPadding", "aes/gcm/nopadding")).value == "x"


def test_one_password_never_gives_one_text_twice(encoder):
    assert len({encoder.encode(Password("x")) for _ in range(50)}) == 50


def test_two_encoders_do_not_share_a_salt():
    texts = [PasswordEncoder("s", **FAST).encode(Password("x")) for _ in range(2)]

    assert fields(texts[0])["salt"] != fields(texts[1])["salt"]


def test_an_encoder_goes_on_with_the_salt_of_what_it_read(encoder):
    text = encoder.encode(Password("x"))
    later = PasswordEncoder("the-secret", **FAST)

    later.decode(text)

    assert fields(later.encode(Password("y")))["salt"] == fields(text)["salt"]


def test_it_does_not_go_on_with_a_salt_of_others():
    encoder = PasswordEncoder(KAFKA["secret"], iterations=4096)
    text = KAFKA["texts"]["AES/GCM/NoPadding"]

    encoder.decode(text)

    assert fields(encoder.encode(Password("y")))["salt"] != fields(text)["salt"]


def test_it_serves_several_threads():
    encoder, wrong = PasswordEncoder("s", **FAST), []

    def work(number):
        for place in range(20):
            password = Password(f"{number}-{place}")
            if encoder.decode(encoder.encode(password)) != password:
                wrong.append(password)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# --- rotation ---------------------------------------------------------------------------------------


def test_a_text_of_the_old_secret_is_read_and_wants_to_be_encoded_anew():
    text = PasswordEncoder("old", **FAST).encode(Password("x"))
    rotating = PasswordEncoder("new", old_secret="old", **FAST)

    assert rotating.decode(text).value == "x"
    assert rotating.wants_reencoding(text)
    assert not rotating.wants_reencoding(rotating.encode(Password("x")))


def test_what_is_written_during_a_rotation_needs_only_the_new_secret():
    text = PasswordEncoder("new", old_secret="old", **FAST).encode(Password("x"))

    assert PasswordEncoder("new", **FAST).decode(text).value == "x"


@pytest.mark.parametrize(
    "weaker",
    [
        {"cipher_algorithm": "AES/CBC/PKCS5Padding"},
        {"key_length": 128},
        {"iterations": 999},
        {"key_factory_algorithm": "PBKDF2WithHmacSHA256"},
    ],
    ids=str,
)
def test_a_weaker_text_wants_to_be_encoded_anew(encoder, weaker):
    text = PasswordEncoder("the-secret", **{**FAST, **weaker}).encode(Password("x"))

    assert encoder.wants_reencoding(text)
    assert not PasswordEncoder("the-secret", **{**FAST, **weaker}).wants_reencoding(encoder.encode(Password("x")))


def test_a_text_of_others_wants_to_be_encoded_anew_however_strong_it_is():
    encoder = PasswordEncoder(KAFKA["secret"], iterations=4096)

    assert encoder.wants_reencoding(KAFKA["texts"]["AES/GCM/NoPadding"])


def test_what_cannot_be_decoded_has_no_answer(encoder):
    with pytest.raises(ConfigException, match="cannot be decoded"):
        PasswordEncoder("other", **FAST).wants_reencoding(encoder.encode(Password("x")))


# --- refusals ---------------------------------------------------------------------------------------


def test_kafkas_vector_a_bit_of_the_vector_changes_a_text_without_integrity_unnoticed():
    """This is why this encoder writes another mode, and wants such texts re-encrypted."""
    encoder = PasswordEncoder("s", cipher_algorithm="AES/CBC/PKCS5Padding", **FAST)
    text = encoder.encode(Password("test-password"))

    tampered = with_fields(text, initializationVector=flipped(fields(text)["initializationVector"], 0))

    assert encoder.decode(tampered).value == "uest-password"
    assert PasswordEncoder("s", **FAST).wants_reencoding(tampered)


@pytest.mark.parametrize("cipher", CIPHERS)
def test_another_secret_and_another_text_are_refused_with_the_same_words(cipher):
    encoder = PasswordEncoder("the-secret", cipher_algorithm=cipher, **FAST)
    text = encoder.encode(Password(CANARY * 20))  # so long that what another key decrypts is never text by chance
    written = fields(text)
    raw = base64.b64decode(written["encryptedPassword"])
    tampered = [
        with_fields(text, encryptedPassword=base64.b64encode(raw[:-1]).decode()),
        with_fields(text, encryptedPassword=""),
        with_fields(text, passwordLength="11"),
        with_fields(text, salt=flipped(written["salt"], -1)),
        with_fields(text, iterations="1001"),
        with_fields(text, keyLength="128"),
    ]
    attempts = [(PasswordEncoder("another", **FAST), text), *((encoder, each) for each in tampered)]

    told = set()
    for reader, each in attempts:
        with pytest.raises(ConfigException, match="cannot be decoded") as error:
            reader.decode(each)
        told.add(str(error.value))
        assert error.value.__context__ is None

    assert len(told) == 1
    assert CANARY not in told.pop()


@pytest.mark.parametrize(
    "name",
    [
        "keyFactoryAlgorithm",
        "cipherAlgorithm",
        "keyLength",
        "salt",
        "iterations",
        "encryptedPassword",
        "passwordLength",
        "initializationVector",
        "authenticationTagLength",
    ],
)
def test_a_missing_field_is_named(encoder, name):
    with pytest.raises(ConfigException, match=f"{name} is missing"):
        encoder.decode(with_fields(encoder.encode(Password("x")), **{name: None}))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"keyFactoryAlgorithm": "hunter2"}, "keyFactoryAlgorithm is unknown"),
        ({"cipherAlgorithm": "AES/ECB/PKCS5Padding"}, "cipherAlgorithm is unknown"),
        ({"cipherAlgorithm": "DES/CBC/PKCS5Padding"}, "cipherAlgorithm is unknown"),
        ({"keyLength": "64"}, "keyLength is not one of"),
        ({"keyLength": "-128"}, "keyLength is not a number"),
        ({"iterations": "0"}, "iterations is not from 1"),
        ({"iterations": "1000001"}, "iterations is not from 1 to 1000000"),
        ({"iterations": "9" * 20}, "iterations is not a number"),
        ({"iterations": "\u0661"}, "iterations is not a number"),
        ({"salt": ""}, "salt does not have"),
        ({"salt": base64.b64encode(b"x" * 1025).decode()}, "salt does not have"),
        ({"salt": "hunter2!"}, "salt is not base64"),
        ({"encryptedPassword": "hunter2\u00e9"}, "encryptedPassword is not base64"),
        ({"initializationVector": "AAAA"}, "initializationVector does not have"),
        ({"authenticationTagLength": "32"}, "authenticationTagLength is not 128"),
        ({"passwordLength": ""}, "passwordLength is not a number"),
    ],
    ids=str,
)
def test_a_field_that_does_not_fit_is_named_and_not_quoted(encoder, changes, problem):
    with pytest.raises(ConfigException, match=problem) as error:
        encoder.decode(with_fields(encoder.encode(Password("x")), **changes))

    assert "hunter2" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize(
    "text", ["", "hunter2", "hunter2," * 3, ":", "a:b", "x" * 2_000_000, "${vault:p:k}"], ids=lambda text: text[:20]
)
def test_what_is_no_encrypted_password_is_refused(encoder, text):
    with pytest.raises(ConfigException, match="cannot be read") as error:
        encoder.decode(text)

    assert "hunter2" not in str(error.value)


def test_a_field_that_stands_twice_is_refused(encoder):
    text = encoder.encode(Password("x"))

    with pytest.raises(ConfigException, match="twice"):
        encoder.decode(f"{text},iterations:1")


@given(st.text(max_size=200))
def test_any_other_text_is_a_config_exception(text):
    with pytest.raises(ConfigException):
        PasswordEncoder("s", iterations=1).decode(text)


OCTETS = ["encryptedPassword", "initializationVector", "salt"]
FIELDS = [
    *OCTETS,
    *("authenticationTagLength", "cipherAlgorithm", "iterations", "keyFactoryAlgorithm", "keyLength", "passwordLength"),
]


@given(st.sampled_from(FIELDS), st.text(max_size=20) | st.integers(0, 9999).map(str))
def test_any_other_field_is_a_config_exception(encoder, name, value):
    text = encoder.encode(Password(CANARY))
    assume(value.strip().upper() != fields(text)[name].upper())

    with pytest.raises(ConfigException):
        encoder.decode(with_fields(text, **{name: value}))


@given(st.sampled_from(OCTETS), st.integers(min_value=0))
def test_any_other_octet_is_a_config_exception(encoder, name, place):
    text = encoder.encode(Password(CANARY))
    octets = fields(text)[name]

    with pytest.raises(ConfigException):
        encoder.decode(with_fields(text, **{name: flipped(octets, place % len(base64.b64decode(octets)))}))


def test_the_costliest_text_does_not_hold_anybody_up(encoder):
    text = with_fields(encoder.encode(Password("x")), iterations="1000000")
    begin = time.thread_time()

    with pytest.raises(ConfigException):
        encoder.decode(text)

    assert time.thread_time() - begin < 30


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": ""},
        {"secret": "\ud800"},
        {"secret": "s", "old_secret": ""},
        {"secret": "s", "iterations": 0},
        {"secret": "s", "key_length": 100},
        {"secret": "s", "cipher_algorithm": "AES"},
        {"secret": "s", "key_factory_algorithm": "MD5"},
    ],
    ids=ascii,
)
def test_parameters_that_cannot_be_used_are_refused(wrong):
    with pytest.raises(ConfigException, match="Password encoder: "):
        PasswordEncoder(wrong.pop("secret"), **wrong)


def test_all_wrong_parameters_are_told_at_once():
    with pytest.raises(ConfigException) as error:
        PasswordEncoder("", iterations=0, key_length=1, cipher_algorithm="x")

    assert len(error.value.problems) == 4


def test_a_cipher_that_does_not_pad_refuses_what_it_cannot_take():
    encoder = PasswordEncoder("s", cipher_algorithm="AES/CBC/NoPadding", **FAST)

    assert encoder.decode(encoder.encode(Password("x" * 32))).value == "x" * 32
    with pytest.raises(ConfigException, match="does not pad") as error:
        encoder.encode(Password(CANARY))
    assert error.value.__context__ is None


def test_it_shows_and_gives_away_nothing():
    encoder = PasswordEncoder(Password(CANARY), old_secret=CANARY, **FAST)

    assert CANARY not in repr(encoder)
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leak(encoder)
