"""The eight names of FLIP-161."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.environment import EnvironmentOverrides

EIGHT = ["key.A-b", "key_A-b", "key.A_b", "key_A_b", "KEY.A-B", "KEY_A-B", "KEY.A_B", "KEY_A_B"]


def test_names_are_the_eight_in_order():
    assert EnvironmentOverrides.names("key.A-b") == EIGHT


@pytest.mark.parametrize("first", range(8), ids=EIGHT)
def test_the_first_name_that_is_set_wins(first):
    environ = {name: str(place) for place, name in reversed(list(enumerate(EIGHT))) if place >= first}

    assert EnvironmentOverrides(environ).lookup("key.A-b") == str(first)


def test_an_empty_value_counts():
    assert EnvironmentOverrides({"key_a": "", "KEY_A": "x"}).lookup("key.a") == ""


def test_nothing_set_is_none():
    assert EnvironmentOverrides({}).lookup("key.a") is None


def test_upper_case_is_that_of_unicode():
    assert EnvironmentOverrides({"STRASSE": "x"}).lookup("straße") == "x"


def test_a_key_is_looked_up_when_asked_for():
    environ = {}
    overrides = EnvironmentOverrides(environ)
    environ["KEY_A"] = "late"

    assert overrides.lookup("key.a") == "late"


def test_a_key_is_looked_up_once():
    environ = {"KEY_A": "first"}
    overrides = EnvironmentOverrides(environ)
    overrides.lookup("key.a")
    environ["KEY_A"] = "second"

    assert overrides.lookup("key.a") == "first"


def test_origin_is_the_variable_that_was_found():
    assert EnvironmentOverrides({"KEY_A": "x"}).origin("key.a") == "KEY_A"


def test_attack_35_spellings_that_disagree_are_reported():
    overrides = EnvironmentOverrides({"key_a": "1", "KEY_A": "2", "KEY_B": "3", "key_b": "3"})

    assert overrides.ambiguous("key.a") == ["key_a", "KEY_A"]
    assert overrides.ambiguous("key.b") == []


@given(st.text(alphabet="aA.-_", min_size=1, max_size=8))
def test_there_are_always_eight_names_and_the_first_is_the_key(key):
    names = EnvironmentOverrides.names(key)

    assert len(names) == 8
    assert names[0] == key
