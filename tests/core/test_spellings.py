"""The names of the same configuration."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.spellings import current_name, spellings

OLDER = {"old": "new", "oldest": "old", "round": "about", "about": "round"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("old", "new", id="renamed once"),
        pytest.param("oldest", "new", id="renamed twice"),
        pytest.param("new", "new", id="current"),
        pytest.param("other", "other", id="unknown"),
        pytest.param("round", "round", id="in a circle"),
    ],
)
def test_the_current_name(name: str, expected: str) -> None:
    assert current_name(name, OLDER) == expected


def test_all_names_that_matter_are_found_by_each_of_them() -> None:
    group = ("new", "old", "oldest")

    assert spellings(["oldest", "old", "other"], OLDER) == dict.fromkeys(group, group)


def test_a_current_name_alone_is_no_group() -> None:
    assert spellings(["new", "other"], OLDER) == {}
