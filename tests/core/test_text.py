"""Strings in a message or a field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.text import shortened, whole_number


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
