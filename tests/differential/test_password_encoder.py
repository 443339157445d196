"""Kafka reads what we write, and we read what Kafka writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.exceptions import ConfigException

SECRET = "the-encoder-secret-\u00fc"
CIPHERS = ["AES/CBC/PKCS5Padding", "AES/CFB/PKCS5Padding", "AES/OFB/PKCS5Padding", "AES/GCM/NoPadding"]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)

cases = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def kafkas(kafka_security: Any, cipher: str, *, key_length: int = 256, secret: str = SECRET) -> Any:
    security, password = kafka_security
    return security.PasswordEncoder.encrypting(password(secret), None, cipher, key_length, 1000)


def ours(cipher: str, *, secret: str = SECRET) -> PasswordEncoder:
    return PasswordEncoder(secret, cipher_algorithm=cipher, iterations=1000)


@pytest.mark.parametrize("cipher", CIPHERS)
@cases
@given(password=TEXTS, key_length=st.sampled_from([128, 192, 256]))
def test_we_read_what_kafka_writes(kafka_security: Any, cipher: str, password: str, key_length: int) -> None:
    _, kafka_password = kafka_security
    text = kafkas(kafka_security, cipher, key_length=key_length).encode(kafka_password(password))

    assert PasswordEncoder(SECRET).decode(text).value == password


@pytest.mark.parametrize("cipher", CIPHERS)
@cases
@given(password=TEXTS)
def test_kafka_reads_what_we_write(kafka_security: Any, cipher: str, password: str) -> None:
    text = ours(cipher).encode(Password(password))

    assert kafkas(kafka_security, cipher).decode(text).value() == password


@pytest.mark.parametrize("cipher", CIPHERS)
def test_neither_reads_what_was_written_with_another_secret(kafka_security: Any, cipher: str) -> None:
    from py4j.protocol import Py4JJavaError

    _, kafka_password = kafka_security
    theirs = kafkas(kafka_security, cipher, secret="other")

    with pytest.raises(Py4JJavaError, match="ConfigException"):
        theirs.decode(ours(cipher).encode(Password("password")))
    with pytest.raises(ConfigException, match="cannot be decoded"):
        ours(cipher).decode(theirs.encode(kafka_password("password")))
