from __future__ import annotations

import random
import string

import pytest

from airflow_config_providers.core.reversal.revealing import CUT, LONGEST, RUN, Spots, holds, is_random, spots


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
        pytest.param("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", id="no-head-although-it-begins-like-one"),
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


@pytest.mark.parametrize(
    ("text", "runs", "cuts"),
    [
        pytest.param("a1....b2..c3", [(0, 12)], [(0, 8), (6, 12)], id="three-odd-neighbours-in-a-run"),
        pytest.param("a1....b2...c3", [], [(0, 8), (6, 13)], id="three-in-one-more-than-a-run"),
        pytest.param("a1.....b2", [], [], id="two-in-one-more-than-a-cut"),
        pytest.param("a1b........c2d........e3", [(11, 14)], [(0, 3), (11, 14)], id="two-where-five-are-around"),
        pytest.param("a1b........c2d........e", [], [(0, 3), (11, 14)], id="two-where-four-are-around"),
        pytest.param("a1%20%20b2%2E%2E%2E.c3", [(0, 22)], [(0, 10), (8, 22)], id="an-escape-is-one-character"),
        pytest.param("a1%20%20b2%2E%2E%2E..c3", [], [(0, 10)], id="escapes-in-one-more-than-a-run"),
        pytest.param("qzkvx", [(0, 4), (1, 5)], [(0, 3), (1, 4), (2, 5)], id="letters-that-no-word-has"),
        pytest.param("http://h1j2k3l4/a1....b2..c3", [(16, 28)], [(16, 24), (22, 28)], id="behind-a-host"),
    ],
)
def test_the_shortest_parts_that_tell_are_found(text, runs, cuts):
    assert spots(text.encode(), text.encode()) == (runs, cuts, RUN, CUT)


def test_each_run_of_a_hexadecimal_number_is_a_part_that_tells():
    text = b"0123456789012345678a"

    assert spots(text, text).runs == [(first, first + RUN) for first in range(len(text) - RUN + 1)]


def test_the_parts_of_a_form_are_where_it_encodes_those_of_the_text():
    text = b"a1....b2..c3"

    assert spots(text.hex().encode(), text) == ([(0, 24)], [(0, 16), (12, 24)], 2 * RUN, 2 * CUT)


@pytest.mark.parametrize(("text", "expected"), [("a1.....b2", False), ("a1....b2", True), ("a1....b2..c3", True)])
def test_spots_are_true_if_a_part_tells(text, expected):
    assert bool(spots(text.encode(), text.encode())) is expected


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(0, 4)], [(0, 12)], id="at-the-beginning"),
        pytest.param([(11, 15)], [(0, 23)], id="so-near-to-it-that-no-run-is-before"),
        pytest.param([(12, 16)], [(4, 24)], id="behind-a-run"),
        pytest.param([(30, 50)], [(30, 50)], id="longer-than-a-run"),
        pytest.param([(56, 60)], [(48, 60)], id="at-the-end"),
        pytest.param([(0, 4), (24, 28)], [(0, 36)], id="two-with-a-run-between"),
        pytest.param([(0, 4), (25, 29)], [(0, 12), (17, 37)], id="two-farther-apart"),
    ],
)
def test_the_stretches_in_which_a_run_can_tell_are_found(runs, expected):
    assert list(Spots(runs, [], RUN, CUT).stretches(60)) == expected


@pytest.mark.parametrize(("text", "expected"), [(b"a1....", True), (b"a1.....", False), (b"word 1 2 Words", False)])
def test_a_text_is_random_if_letters_digits_and_case_change_often(text, expected):
    assert is_random(text) is expected


def test_nothing_behind_the_last_part_tells():
    assert not holds([(1, 3)], 2, 9)
