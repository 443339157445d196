"""Strings in a message or a field, and lists."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.text import (
    counted,
    first_of,
    grouped,
    in_all,
    not_one_of,
    reporting_once,
    several,
    shortened,
    there_are,
    whole_number,
)


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(60, 600))
def test_shortened_lines_fit_and_say_how_many_are_missing(found, characters):
    kept = shortened(found, characters=characters, rest="x")

    if len(str(found)) <= characters:
        assert kept == found
    else:
        assert len(str(kept)) <= characters
        assert kept[:-1] == found[: len(kept) - 1]
        assert kept[-1] == f"... and {len(found) - len(kept) + 1} more: x"


@pytest.mark.parametrize("characters", range(100, 140))
def test_shortened_lines_fit_at_every_limit(characters: int) -> None:
    assert len(str(shortened(["a = 1"] * 40, characters=characters, rest="x"))) <= characters


def test_a_long_line_loses_its_middle_before_other_lines_are_left_out() -> None:
    found = [f"a = {'x' * 5000}   # RUN_CONFIG", "b = 1   # DAG_CONFIG"]

    kept = shortened(found, characters=600, rest="x")

    assert kept == [f"a = {'x' * 196} ... (4619 characters) ... {'x' * 185}   # RUN_CONFIG", found[1]]


def test_long_lines_that_fit_are_left_whole() -> None:
    found = ["x" * 5000, "b = 1"]

    assert shortened(found, characters=len(str(found)), rest="x") == found


def test_no_line_is_left_out_if_all_fit_without_their_middle() -> None:
    kept = [f"{'x' * 200} ... (4600 characters) ... {'x' * 200}", "b = 1"]

    assert shortened(["x" * 5000, "b = 1"], characters=len(str(kept)), rest="x") == kept


def test_a_line_loses_its_middle_only_if_that_is_longer_than_each_end() -> None:
    kept = ["x" * 600, f"{'y' * 200} ... (201 characters) ... {'y' * 200}"]

    assert shortened(["x" * 600, "y" * 601], characters=len(str(kept)), rest="x") == kept


@pytest.mark.parametrize(("spare", "count"), [(-1, 4), (0, 5), (1, 5)])
def test_as_many_lines_are_shown_as_fit(spare: int, count: int) -> None:
    shown = [*["a = 1"] * 5, "... and 35 more: x"]

    kept = shortened(["a = 1"] * 40, characters=len(str(shown)) + spare, rest="x")

    assert kept == [*["a = 1"] * count, f"... and {40 - count} more: x"]


@pytest.mark.parametrize("text", ["7", " 7 ", "007", 7])
def test_a_whole_number_is_written_in_digits(text: object) -> None:
    assert whole_number(text) == 7


@pytest.mark.parametrize(
    "text", ["", "-7", "+7", "7.0", "1_000", "\N{ARABIC-INDIC DIGIT SEVEN}", "7" * 5000, None, True]
)
def test_anything_else_is_no_whole_number(text: object) -> None:
    assert whole_number(text) is None


def test_a_whole_number_is_within_its_bounds() -> None:
    assert [whole_number(number, least=2, most=3) for number in (1, 2, 3, 4)] == [None, 2, 3, None]


def test_no_sign_is_read_whatever_the_bounds_are() -> None:
    assert [whole_number(text, least=-5) for text in ("-1", "x", "0")] == [None, None, 0]


def test_a_whole_number_has_as_many_digits_as_its_bound() -> None:
    most = 10**21
    assert [whole_number(str(number), most=most) for number in (most, most + 1)] == [most, None]


def test_a_word_that_is_not_one_of_several_is_named_with_the_nearest() -> None:
    assert not_one_of("kep", ["fail", "keep"]) == "'kep' is not one of fail, keep, did you mean 'keep'?"


def test_a_word_that_resembles_none_ends_the_sentence() -> None:
    assert not_one_of("x", ["fail", "keep"]) == "'x' is not one of fail, keep."


@pytest.mark.parametrize(
    ("count", "text"),
    [
        pytest.param(0, "0 entries", id="none"),
        pytest.param(1, "1 entry", id="one"),
        pytest.param(2, "2 entries", id="several"),
        pytest.param(1.0, "1 entry", id="one-as-a-float"),
        pytest.param(0.5, "0.5 entries", id="less-than-one"),
    ],
)
def test_a_noun_is_in_the_plural_unless_it_is_one(count: float, text: str) -> None:
    assert counted(count, "entry", "entries") == text


@pytest.mark.parametrize(("count", "text"), [(1, "There is 1 key"), (2, "There are 2 keys")])
def test_a_sentence_that_counts_has_the_verb_of_its_noun(count: int, text: str) -> None:
    assert there_are(count, "key") == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param("", "", id="none"),
        pytest.param("ab", "a, b", id="all"),
        pytest.param("abab", "a, b", id="twice"),
        pytest.param("abc", "a, b and 1 more", id="one-more"),
        pytest.param("a\nc", "a, \\n and 1 more", id="on-one-line"),
    ],
)
def test_the_first_names_are_followed_by_how_many_more_there_are(names: str, text: str) -> None:
    assert first_of(names, most=2) == text


def test_others_are_called_what_they_are_if_asked() -> None:
    assert first_of(["a", "b", "c"], most=1, noun="task") == "a and 2 more tasks"


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


def test_a_text_is_told_once() -> None:
    told: list[str] = []
    tell = reporting_once(told.append)
    for text in ("a", "b", "a"):
        tell(text)

    assert told == ["a", "b"]
