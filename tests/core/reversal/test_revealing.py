from __future__ import annotations

import random
import string

import pytest

from airflow_config_providers.core.reversal.revealing import CUT, LONGEST, RUN, holds, spots


def _tells(text):
    data = text.encode()
    return bool(spots(data, data).runs)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Zq8-s3cr3t/v", id="letters-and-digits"),
        pytest.param("3f2a9c41d07b", id="hexadecimal"),
        pytest.param("JBSWY3DPEHPK3PXP", id="base32"),
        pytest.param("wJalrXUtnFEMI/K7MDENG", id="aws-secret-key"),
        pytest.param("qzkvxwpmtrjh", id="letters-that-no-word-has"),
        pytest.param("k#8$xQ!2@v%L", id="marks"),
        pytest.param("https://user:p4Ss9xK2m1@host.example.com/x", id="password-in-a-url"),
        pytest.param("AccountKey=Zm9vYmFyYmF6cXV4==;EndpointSuffix=core.windows.net", id="connection-string"),
    ],
)
def test_what_a_machine_made_tells(text):
    assert _tells(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("correct horse battery staple", id="words"),
        pytest.param("com.amazonaws.auth.DefaultAWSCredentialsProviderChain", id="class"),
        pytest.param("jdbc:postgresql://db1a.c9akciq32rtm.eu-west-1.rds.amazonaws.com:5432/app", id="host-in-a-url"),
        pytest.param("kafka-b1.msk2a.c2xyz9.kafka.eu-west-1.amazonaws.com", id="host"),
        pytest.param("2026-11-22T10:18:00.123Z", id="moment"),
        pytest.param("4711081512345678", id="number"),
        pytest.param("10.20.30.40:5432", id="address"),
        pytest.param("hadoop-aws-3.4.1.jar:postgresql-42.7.3.jar", id="versions"),
        pytest.param("log4j2.properties in utf8mb4 by sha256 and x86_64", id="algorithms"),
        pytest.param("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ", id="what-every-key-begins-with"),
        pytest.param("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ", id="what-every-token-begins-with"),
        pytest.param("%7B%22type%22%3A%20%22service_account%22%7D", id="escapes"),
    ],
)
def test_what_is_in_many_texts_does_not_tell(text):
    assert not _tells(text)


@pytest.mark.parametrize("length", [RUN, CUT])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("12345678-1234-4123-8123-123456789012", id="UUID"),
        pytest.param("ABCDEFAB-1234-4123-8123-123456789012", id="UUID in capitals"),
        pytest.param("key=0123456789012345678a", id="number"),
        pytest.param("0123456789012345678901234567890A", id="number in capitals"),
    ],
)
def test_any_part_of_a_hexadecimal_number_tells(text, length):
    found = spots(text.encode(), text.encode())
    first = text.find("=") + 1

    places = range(first, len(text) - length + 1)
    assert all(holds(found.runs if length == RUN else found.cuts, place, place + length) for place in places)


def test_a_long_decimal_number_does_not_tell():
    assert not _tells("0123456789012345678901234567890123456789")


@pytest.mark.parametrize(
    ("characters", "share"),
    [
        pytest.param(string.ascii_letters + string.digits, 0.95, id="letters-and-digits"),
        pytest.param("0123456789abcdef", 0.9, id="hexadecimal"),
        pytest.param(string.ascii_uppercase + "234567", 0.95, id="base32"),
        pytest.param(string.ascii_letters + string.digits + "-_/+=.", 0.9, id="base64"),
        pytest.param(string.ascii_lowercase, 0.88, id="lower-case"),
    ],
)
def test_most_runs_of_random_texts_tell(characters, share):
    random_ = random.Random(11)
    texts = ["".join(random_.choices(characters, k=RUN)) for _ in range(2_000)]

    assert sum(map(_tells, texts)) / len(texts) > share


def test_a_longer_part_tells_if_a_shorter_one_in_it_does():
    text = b"the password of it is Zq8-s3cr3t/val+1 and no other"
    found = spots(text, text).runs

    assert not holds(found, 0, 24)
    assert holds(found, 22, 34)
    assert holds(found, 0, len(text))


def test_in_a_form_whose_characters_are_longer_a_part_is_longer():
    text = b"Zq8-s3cr3t/val+1"
    plain, form = spots(text, text), spots(text.hex().encode(), text)

    assert (form.run, form.cut) == (2 * plain.run, 2 * plain.cut)
    assert list(form.runs) == [(2 * first, 2 * last) for first, last in plain.runs]


@pytest.mark.parametrize("unit", [b"eyJ", b"eyJ.", b"eyJa-eyJ"])
def test_of_a_text_full_of_heads_that_are_none_each_octet_is_looked_at_once(unit):
    text = unit * 200_000  # were it looked at from each head, this would take hours

    assert spots(text, text).runs == spots(text[:LONGEST], text[:LONGEST]).runs


def test_the_head_of_a_token_tells_only_where_it_is_cut_off():
    token = b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeK"
    head = token.index(b".")

    assert not [run for run in spots(token, token).runs if run[1] <= head]
    assert [cut for cut in spots(token, token).cuts if cut[1] <= head]
