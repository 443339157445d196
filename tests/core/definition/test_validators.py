"""Validators refuse what Kafka's refuse, and do not quote it."""

from __future__ import annotations

import math

import pytest

from airflow_config_providers.core.definition.validators import (
    CaseInsensitiveValidString,
    CompositeValidator,
    LambdaValidator,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNullValidator,
    Range,
    Validator,
    ValidList,
    ValidString,
)
from airflow_config_providers.core.invalid_value import invalid_value
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import ConfigException


def _refuse_odd(name: str, value: int) -> None:
    if value % 2:
        raise invalid_value(name, "Value must be even")


EVEN = LambdaValidator.with_(_refuse_odd, "even numbers")


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        pytest.param(Range.at_least(1), 1, id="range-lower-bound-included"),
        pytest.param(Range.between(1, 5.5), 5.5, id="range-upper-bound-included"),
        pytest.param(Range(maximum=5), -1000, id="range-without-lower-bound"),
        pytest.param(ValidString.in_("a", "b"), "b", id="valid-string"),
        pytest.param(CaseInsensitiveValidString.in_("straße"), "STRASSE", id="case-insensitive-full-upper-case"),
        pytest.param(ValidList.in_("a", "b"), ["a", "a"], id="valid-list-repeated"),
        pytest.param(ValidList.in_("a"), [], id="valid-list-empty"),
        pytest.param(ListSize.at_most_of_size(2), ["a", "b"], id="list-size"),
        pytest.param(NonNullValidator(), "", id="non-null-empty"),
        pytest.param(NonEmptyString(), " ", id="non-empty-blank"),
        pytest.param(NonEmptyString(), None, id="non-empty-none"),
        pytest.param(NonEmptyStringWithoutControlChars(), "a\u2028b", id="line-separator-is-no-control-character"),
        pytest.param(NonEmptyStringWithoutControlChars(), None, id="without-control-chars-none"),
        pytest.param(CompositeValidator.of(NonNullValidator(), EVEN), 2, id="composite"),
    ],
)
def test_value_passes(validator: Validator, value: object) -> None:
    validator.ensure_valid("k", value)


@pytest.mark.parametrize(
    ("validator", "value", "reason"),
    [
        pytest.param(Range.at_least(1), 0, "Value must be at least 1", id="range-below"),
        pytest.param(Range.between(1, 5), 6, "Value must be no more than 5", id="range-above"),
        pytest.param(Range.at_least(1), None, "Value must be non-null", id="range-none"),
        pytest.param(ValidString.in_("a", "b"), "A", "String must be one of: a, b", id="valid-string"),
        pytest.param(ValidString.in_("a"), None, "String must be one of: a", id="valid-string-none"),
        pytest.param(
            CaseInsensitiveValidString.in_("a", "b"),
            "c",
            r"String must be one of \(case insensitive\): A, B",
            id="case-insensitive",
        ),
        pytest.param(CaseInsensitiveValidString.in_("a"), None, "String must be one of", id="case-insensitive-none"),
        pytest.param(ValidList.in_("a"), ["a", "z"], "Each item of the list must be one of: a", id="valid-list"),
        pytest.param(ListSize.at_most_of_size(1), ["a", "b"], r"exceeds maximum list size of \[1\]", id="list-size"),
        pytest.param(NonNullValidator(), None, "entry must be non null", id="non-null"),
        pytest.param(NonEmptyString(), "", "String must be non-empty", id="non-empty"),
        pytest.param(NonEmptyStringWithoutControlChars(), "", "String may not be empty", id="control-chars-empty"),
        pytest.param(
            NonEmptyStringWithoutControlChars(),
            "a\x85b",
            "String may not contain control sequences$",
            id="control-chars-c1",
        ),
        pytest.param(EVEN, 3, "Value must be even", id="lambda"),
        pytest.param(CompositeValidator.of(NonNullValidator(), EVEN), None, "entry must be non null", id="composite"),
    ],
)
def test_value_is_refused(validator: Validator, value: object, reason: str) -> None:
    with pytest.raises(ConfigException, match=f"^Invalid value for configuration k: {reason}"):
        validator.ensure_valid("k", value)


def test_difference_nan_is_in_no_range() -> None:
    with pytest.raises(ConfigException, match="Value must be at least 0"):
        Range.at_least(0).ensure_valid("k", math.nan)


def test_difference_range_compares_whole_numbers_exactly() -> None:
    with pytest.raises(ConfigException, match="Value must be no more than"):
        Range.between(0, 2**62).ensure_valid("k", 2**62 + 1)


@pytest.mark.parametrize(
    "validator",
    [pytest.param(ValidList.in_("a"), id="valid-list"), pytest.param(ListSize.at_most_of_size(1), id="list-size")],
)
def test_difference_list_validators_refuse_none(validator: Validator) -> None:
    with pytest.raises(ConfigException):
        validator.ensure_valid("k", None)


@pytest.mark.parametrize(
    ("validator", "secret"),
    [
        pytest.param(NonEmptyString(), "", id="non-empty"),
        pytest.param(NonEmptyStringWithoutControlChars(), "a\n", id="control-chars"),
        pytest.param(ValidString.in_("a"), "b", id="valid-string"),
        pytest.param(CaseInsensitiveValidString.in_("a"), "b", id="case-insensitive"),
    ],
)
def test_difference_validators_of_texts_check_passwords(validator: Validator, secret: str) -> None:
    with pytest.raises(ConfigException):
        validator.ensure_valid("k", Password(secret))


@pytest.mark.parametrize(
    ("validator", "text"),
    [
        pytest.param(Range.at_least(1), "[1,...]", id="at-least"),
        pytest.param(Range.between(1, 5), "[1,...,5]", id="between"),
        pytest.param(Range(maximum=5), "[...,5]", id="at-most"),
        pytest.param(ValidString.in_("a", "b"), "[a, b]", id="valid-string"),
        pytest.param(CaseInsensitiveValidString.in_("a"), "(case insensitive) [A]", id="case-insensitive"),
        pytest.param(ValidList.in_("a", "b"), "[a, b]", id="valid-list"),
        pytest.param(ListSize.at_most_of_size(3), "List containing maximum of 3 elements", id="list-size"),
        pytest.param(NonEmptyString(), "non-empty string", id="non-empty"),
        pytest.param(CompositeValidator.of(NonNullValidator(), EVEN), "non-null string, even numbers", id="composite"),
        pytest.param(
            NonEmptyStringWithoutControlChars(), "non-empty string without ISO control characters", id="control-chars"
        ),
    ],
)
def test_text_form_tells_the_documentation_what_is_valid(validator: Validator, text: str) -> None:
    assert text == str(validator)
