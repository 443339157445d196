"""What several lists have, what belongs to one key, and one string or more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_config_providers.core.lists import grouped, in_all, several


@pytest.mark.parametrize(
    ("lists", "found"),
    [([], []), ([["b", "a"]], ["b", "a"]), ([["b", "a", "c"], ["a", "c", "b"], ["b", "a"]], ["b", "a"])],
    ids=["none", "one", "several"],
)
def test_what_all_lists_have_is_in_the_order_of_the_first(lists: Sequence[Sequence[str]], found: list[str]) -> None:
    assert in_all(lists) == found


def test_groups_and_their_items_keep_their_order() -> None:
    found = grouped([("b", 2), ("a", 9), ("b", 1)])

    assert [*found.items()] == [("b", [2, 1]), ("a", [9])]


@pytest.mark.parametrize(("given", "found"), [("ab", ["ab"]), (("a", "b"), ["a", "b"])], ids=["string", "strings"])
def test_a_string_by_itself_is_one_and_not_its_letters(given: Sequence[str], found: list[str]) -> None:
    assert several(given) == found
