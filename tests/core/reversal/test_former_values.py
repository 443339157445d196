"""Values that references had one after the other."""

from __future__ import annotations

from hashlib import sha256

import pytest

from airflow_config_providers.core.reversal.former_values import FormerValues
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_text
from airflow_config_providers.core.variable import ConfigVariable

PASSWORD = ConfigVariable("vault", "db", "password")
USER = ConfigVariable("vault", "db", "user")
VALUES = [sha256(bytes([number])).hexdigest()[:24] for number in range(200)]  # which have no part in common


def after(number: int, *, kept: int) -> FormerValues:
    """Return what is known of a password after so many values of it, and of a user that never changes."""
    found = FormerValues(kept)
    for value in VALUES[:number]:
        found.add(ReverseTransformer({}, {PASSWORD: value, USER: "us3r-name"}, hidden=["Wn5-h1dden"]))
    return found


def shown(text: str, known: FormerValues) -> str:
    return reverse_text(text, known.reversers)


@pytest.mark.parametrize("kept", [1, 16, 80])
@pytest.mark.parametrize("number", [1, 2, 100, 200])
def test_the_current_value_the_last_ones_and_the_first_are_replaced(number: int, kept: int):
    known = after(number, kept=kept)

    values = {*VALUES[max(0, number - 1 - kept) : number], VALUES[0]}
    assert {shown(value, known) for value in values} == {str(PASSWORD)}
    assert shown("us3r-name Wn5-h1dden", known) == f"{USER} [hidden]"


def test_values_from_before_the_last_ones_are_forgotten():
    known = after(200, kept=16)

    assert [shown(VALUES[number], known) for number in (1, 100, 150)] == [VALUES[1], VALUES[100], VALUES[150]]


def test_a_value_that_comes_back_stays_known():
    known = after(100, kept=16)
    for value in [VALUES[50], *VALUES[100:110]]:
        known.add(ReverseTransformer({}, {PASSWORD: value}))

    assert shown(VALUES[50], known) == str(PASSWORD)


def test_a_change_has_few_values_compiled_again():
    known = FormerValues(80)
    compiled = 0
    for value in VALUES:
        before = known.reversers
        known.add(ReverseTransformer({}, {PASSWORD: value}))
        compiled += sum(len(one.pairs) for one in known.reversers if all(one is not other for other in before))

    assert compiled < len(VALUES) * 20  # and not 80 for each change


def test_two_values_that_touch_are_replaced_together_although_they_are_in_two_parts():
    known = after(100, kept=80)

    assert shown(f"{VALUES[60]}{VALUES[99]}", known) == f"{PASSWORD}{PASSWORD}"
