"""Each validator refuses what Kafka's refuses, for the same reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.definition.validators import (
    CaseInsensitiveValidString,
    CompositeValidator,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNullValidator,
    Range,
    Validator,
    ValidList,
    ValidString,
)
from airflow_config_providers.exceptions import ConfigException

WORDS = ["a", "B", "straße", "ĳ", ""]
NUMBERS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.floats(allow_nan=False), st.integers(-2, 12))
STRINGS = st.one_of(
    st.sampled_from([*WORDS, "A", "b", "STRASSE", "Ĳ", "ß"]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5),
    st.text(alphabet="a\x00\x1f\x7f\x80\x85\x9f\xa0\xad\u2028", max_size=4),
)
LISTS = st.lists(st.sampled_from([*WORDS, "A", "z"]), max_size=4)

Pair = tuple[Validator, Callable[[Any], Any]]


def _in(name: str) -> Callable[[Any], Any]:
    return lambda kafka: getattr(getattr(kafka.definition, name), "in")(kafka.texts(*WORDS))


def _composite(kafka: Any) -> Any:
    validators = kafka.gateway.new_array(kafka.definition.Validator, 2)
    validators[0] = kafka.definition.NonNullValidator()
    validators[1] = kafka.definition.NonEmptyString()
    return kafka.definition.CompositeValidator.of(validators)


NUMERIC: list[Any] = [
    pytest.param((Range.at_least(1), lambda k: k.definition.Range.atLeast(1)), id="at-least"),
    pytest.param((Range.between(-1, 10), lambda k: k.definition.Range.between(-1, 10)), id="between"),
    pytest.param((Range.between(0.5, 9.5), lambda k: k.definition.Range.between(0.5, 9.5)), id="between-doubles"),
]
TEXTUAL: list[Any] = [
    pytest.param((ValidString.in_(*WORDS), _in("ValidString")), id="valid-string"),
    pytest.param((CaseInsensitiveValidString.in_(*WORDS), _in("CaseInsensitiveValidString")), id="case-insensitive"),
    pytest.param((NonEmptyString(), lambda k: k.definition.NonEmptyString()), id="non-empty"),
    pytest.param(
        (NonEmptyStringWithoutControlChars(), lambda k: k.definition.NonEmptyStringWithoutControlChars()),
        id="without-control-chars",
    ),
    pytest.param((NonNullValidator(), lambda k: k.definition.NonNullValidator()), id="non-null"),
    pytest.param((CompositeValidator.of(NonNullValidator(), NonEmptyString()), _composite), id="composite"),
]
OF_LISTS: list[Any] = [
    pytest.param((ValidList.in_(*WORDS), _in("ValidList")), id="valid-list"),
    pytest.param((ListSize.at_most_of_size(2), lambda k: k.definition.ListSize.atMostOfSize(2)), id="list-size"),
]

cases = settings(max_examples=150, derandomize=True, deadline=None)


@pytest.mark.parametrize("pair", NUMERIC)
@cases
@given(value=st.none() | NUMBERS)
def test_same_numbers_are_refused(kafka: Any, pair: Pair, value: float | None) -> None:
    _compare(kafka, pair, value)


@pytest.mark.parametrize("pair", TEXTUAL)
@cases
@given(value=st.none() | STRINGS)
def test_same_texts_are_refused(kafka: Any, pair: Pair, value: str | None) -> None:
    _compare(kafka, pair, value)


@pytest.mark.parametrize("pair", OF_LISTS)
@cases
@given(value=LISTS)
def test_same_lists_are_refused(kafka: Any, pair: Pair, value: list[str]) -> None:
    _compare(kafka, pair, value)


@pytest.mark.parametrize("pair", [param for param in [*NUMERIC, *TEXTUAL, *OF_LISTS] if param.id != "case-insensitive"])
def test_same_text_form(kafka: Any, pair: Pair) -> None:
    assert str(pair[0]) == pair[1](kafka).toString()


def _compare(kafka: Any, pair: Pair, value: object) -> None:
    ours, theirs = pair
    _, error = kafka.run(lambda: theirs(kafka).ensureValid("k", value))

    reason = _refusal(ours, value)
    assert (reason is None) == (error is None)
    assert error is None or _gist(reason) in error


def _refusal(validator: Validator, value: object) -> str | None:
    try:
        validator.ensure_valid("k", value)
    except ConfigException as error:
        return str(error)
    return None


def _gist(reason: str | None) -> str:
    """Return the reason up to the words that depend on the order of a set, or that differ for lists."""
    gist = str(reason).partition(" for configuration k: ")[2]
    for end in ("case insensitive", "one of"):
        if end in gist:
            return end
    return gist
