"""A part of a secret is no leak where it stands only in a value that is no secret."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.leaks.files import FoundFile, Split
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.reversed_copies import replaced
from airflow_config_providers.spark.audit.leaks.sought import Sought, SoughtFinder
from tests.spark.audit.leaks.searching import search

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
