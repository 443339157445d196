"""Parts of the sentences of messages."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.wording import counted, first_of, not_one_of, there_are


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
