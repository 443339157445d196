"""Tokens of well-known formats are found by their prefixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.file_listing import FoundFile, splits_of
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.leaks.token_finder import FORMATS, TokenFinder
from tests.spark.audit.leaks.searching import search

FINDER = TokenFinder()
TOKENS = {  # put together here, so that no scanner takes them for real ones
    "AWS access key id": "AKIA" + "Q7" * 8,
    "Databricks access token": "dapi" + "0f" * 16,
    "Docker access token": "dckr_pat_" + "aB1" * 9,
    "GitHub token": "ghp_" + "aB1c" * 9,
    "GitLab token": "glpat-" + "aB1_-" * 4,
    "Google API key": "AIza" + "aB1_-" * 7,
    "Hugging Face token": "hf_" + "aB" * 17,
    "npm token": "npm_" + "aB1c" * 9,
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "PyPI token": "pypi-" + "AgEIcHlwaS5vcmc" + "aB1_-" * 20,
    "SendGrid API key": "SG." + "a1" * 11 + "." + "bC3" * 14 + "d",
    "Slack token": "xoxb-" + "12345678901-" + "aB1c" * 6,
    "Stripe secret key": "sk_live_" + "aB1c" * 6,
    "Vault token": "hvs." + "aB1_-c" * 8,
}
BODY = "\n".join(["aB1+/c" * 10] * 26 + ["aB1="])
KEY = "-----BEGIN " + f"PRIVATE KEY-----\n{BODY}\n-----END " + "PRIVATE KEY-----"
ENCRYPTED = KEY.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\n", 1)
OTHERS = {
    "GitHub token": "ghs_" + "12345_" + "eyJ" + "aB1_-" * 20 + ("." + "aB1_-" * 40) * 2,
    "GitLab token": "glpat-" + "aB1_-" * 40 + ".01." + "0a1b2c3d4",
    "Hugging Face token": "hf_" + "aB1" * 11 + "z",
    "PyPI token": "pypi-" + "AgENdGVzdC5weXBpLm9yZw" + "aB1_-" * 20,
    "Slack token": "xapp-" + "1-A012BCDE3-12345678901-" + "0f" * 32,
}
FINE_GRAINED = "github_pat_" + "aB" * 11 + "_" + "c4" * 29 + "d"


def test_each_format_has_an_example() -> None:
    assert set(TOKENS) == set(FORMATS)


@pytest.mark.parametrize(("name", "token"), [*TOKENS.items(), ("GitHub token", FINE_GRAINED), *OTHERS.items()])
@pytest.mark.parametrize("around", [("", ""), ("token=", "\n"), ('"', '"'), ("é", "é")])
def test_a_token_is_found_and_named(name: str, token: str, around: tuple[str, str]) -> None:
    before, after = (part.encode() for part in around)

    [one] = FINDER.find(before + token.encode() + after)

    assert (one.start, one.end) == (len(before), len(before) + len(token))
    assert (one.reference, one.encoding, one.age) == (f"[token: {name}]", "plain", "unknown")


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize(
    "before", [r"\n", r"\u003d", r"\x3d", r"\075", "%3D", "\x1b[1;31m", "\x1b[0m", "\x1b[38;5;208m"]
)
def test_a_token_after_an_escape_or_a_colour_is_found(token: str, before: str) -> None:
    assert [one.start for one in FINDER.find(f"a{before}{token}".encode())] == [len(before) + 1]


@pytest.mark.parametrize("key", [KEY, ENCRYPTED, KEY.partition("\naB1=")[0]], ids=["whole", "encrypted", "cut"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", r"\n", "\n    "])
def test_a_private_key_is_found_with_its_lines(key: str, line_end: str) -> None:
    text = key.replace("\n", line_end)

    [one] = FINDER.find(f"key: {text}\nand more of the log".encode())

    assert (one.start, one.end) == (5, 5 + len(text))


def test_words_after_the_first_line_of_a_private_key_are_none_of_it() -> None:
    header = TOKENS["private key"]

    [one] = FINDER.find(f"{header} is how such files begin: they have extraordinarily long lines".encode())

    assert (one.start, one.end) == (0, len(header))


@pytest.mark.parametrize("beginning", ["abcd: ", "A" * 20 + "\n", "\n", " ", "A" * 15 + "\n"])
def test_a_hostile_private_key_costs_no_more_than_its_length(beginning: str) -> None:
    hostile = "-----BEGIN " + "PRIVATE KEY-----\n" + beginning * 5_000

    assert len(list(FINDER.find(hostile.encode()))) == 1


def test_the_examples_of_a_manual_are_no_keys() -> None:
    assert list(FINDER.find(b"AKIA" + b"IOSFODNN7EXAMPLE " + b"AKIA" + b"I44QH8DHBEXAMPLE")) == []


@pytest.mark.parametrize("token", [token for name, token in TOKENS.items() if name != "private key"])
def test_what_continues_a_word_is_none(token: str) -> None:
    assert list(FINDER.find(b"x" + token.encode())) == []


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_the_beginning_of_a_token_is_none(token: str) -> None:
    assert list(FINDER.find(token.encode()[:12] + b" ")) == []


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_around_a_seam_is_found_once(tmp_path: Path, token: str) -> None:
    for place in range(3_000 - len(token) - 2, 3_003, 7):
        (tmp_path / "log").write_bytes(b"." * place + token.encode() + b"." * 2_000)
        splits = splits_of(FoundFile(str(tmp_path / "log"), place + len(token) + 2_000, 0), size=3_000)

        found = [leak.occurrence.start for split in splits for leak in search(split, FINDER, block=64).leaks]

        assert found == [place]


def test_a_known_value_that_is_a_token_counts_as_its_reference() -> None:
    token = TOKENS["GitHub token"]
    secret = KnownSecret(ConfigVariable("vault", "ci", "token"), token)

    [one] = Sought([secret], tokens=True).finder().find(f"token={token}".encode())

    assert one.reference == "${vault:ci:token}"


def test_only_tokens_can_be_sought() -> None:
    found = [one.reference for one in Sought(tokens=True).finder().find(" ".join(TOKENS.values()).encode())]

    assert found == [f"[token: {name}]" for name in TOKENS]


def test_the_sources_and_the_documentation_of_this_project_have_none() -> None:
    root = Path(__file__).parents[4]
    texts = [path for name in ("docs", "dags_examples", "tests") for path in (root / name).rglob("*.[mp][dy]")]

    assert len(texts) > 300
    found = {one.reference: path.name for path in texts for one in FINDER.find(path.read_bytes())}
    assert set(found) <= {"[token: private key]"}, found  # of keys, tests have the first line
