"""What is wrong with the body of a request, in the order in which it is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from airflow_config_providers.exceptions import MalformedRequestError
from airflow_config_providers.plugins.request import alteration, rolled_back, setting_of

pytest.importorskip("airflow")


HALF = "\ud800"


def problems(read: Callable[[Mapping[str, Any]], object], body: Mapping[str, Any]) -> tuple[str, ...]:
    with pytest.raises(MalformedRequestError) as caught:
        read(body)
    return caught.value.problems


@pytest.mark.parametrize(
    ("read", "body"),
    [
        pytest.param(alteration, {"extra": 1, "operations": 1}, id="alter"),
        pytest.param(alteration, {"operations": [{"extra": 1, "name": "a", "value": HALF}]}, id="an operation"),
        pytest.param(rolled_back, {"extra": 1, "to_version": "x"}, id="rollback"),
        pytest.param(setting_of, {"extra": 1, "setting": HALF}, id="why-not"),
    ],
)
def test_unknown_fields_are_named_after_what_is_wrong_with_the_known_ones(read: Any, body: Mapping[str, Any]):
    first, last = problems(read, body)

    assert "extra" not in first
    assert "extra' is an unknown field." in last


def test_operations_that_are_no_list_are_not_called_missing():
    assert problems(alteration, {"operations": 1}) == ("'operations': expected a list.",)


@pytest.mark.parametrize("body", [{}, {"operations": []}, {"operations": None}], ids=str)
def test_a_body_without_operations_says_what_to_add(body: Mapping[str, Any]):
    (problem,) = problems(alteration, body)

    assert problem.startswith("'operations' is missing or empty.")


def test_a_field_that_is_required_and_not_there_is_called_missing():
    assert problems(alteration, {"operations": [{"value": "1"}]}) == ("'operations.0.name' is missing. Add a string.",)


def test_a_field_with_a_value_of_another_type_is_not_called_missing():
    assert problems(alteration, {"operations": [{"name": None}]}) == ("'operations.0.name': expected a string.",)


def test_keys_that_a_rollback_leaves_out_are_strings():
    assert problems(rolled_back, {"leave_out": ["spark.a", 1]}) == ("'leave_out': expected a list of keys.",)
