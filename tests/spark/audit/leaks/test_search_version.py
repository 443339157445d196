"""The version of the search is another one for a search that finds something else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from airflow_config_providers.core.reversal.encodings import ENCODINGS, Encoding
from airflow_config_providers.spark.audit.leaks.seen_files import search_version


def reversed_text(text: str) -> Iterator[str]:
    yield text[::-1]


@pytest.mark.parametrize("name", ENCODINGS)
def test_each_encoding_is_a_part_of_the_version(name: str) -> None:
    others = {other: encoding for other, encoding in ENCODINGS.items() if other != name}

    assert search_version(others) != search_version()


@pytest.mark.parametrize(
    "encodings",
    [
        pytest.param({**ENCODINGS, "backwards": reversed_text}, id="one more"),
        pytest.param({**ENCODINGS, "hex": reversed_text}, id="another one with an old name"),
        pytest.param({"bare" if name == "plain" else name: one for name, one in ENCODINGS.items()}, id="a new name"),
    ],
)
def test_a_change_of_the_encodings_is_a_new_version(encodings: Mapping[str, Encoding]) -> None:
    assert search_version(encodings) != search_version()


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "plain"])
def test_an_encoding_that_changes_less_than_now_is_another_version(name: str) -> None:
    assert search_version({**ENCODINGS, name: ENCODINGS["plain"]}) != search_version()


def twice(encoding: Encoding) -> Encoding:
    return lambda text: iter([*encoding(text), *encoding(text)])


def test_encodings_that_make_the_same_forms_in_another_way_are_the_same_version() -> None:
    assert search_version({name: twice(encoding) for name, encoding in ENCODINGS.items()}) == search_version()


def test_all_processes_of_one_version_agree() -> None:
    module = "airflow_config_providers.spark.audit.leaks.seen_files"
    script = f"from {module} import search_version; print(search_version(), end='')"
    versions = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert versions == {search_version()}
