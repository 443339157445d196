from __future__ import annotations

import pytest

from airflow_config_providers.core.nested import map_leaves


def _upper(value):
    return value.upper() if value == "a" else value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("a", "A", id="text"),
        pytest.param({"a": "b"}, {"A": "b"}, id="key"),
        pytest.param({"b": {"c": ["a", 1]}}, {"b": {"c": ["A", 1]}}, id="nested"),
        pytest.param(("a", None), ("A", None), id="tuple"),
        pytest.param({"a", "b"}, {"A", "b"}, id="set"),
        pytest.param(frozenset({"a"}), frozenset({"A"}), id="frozenset"),
    ],
)
def test_leaves_are_changed(value, expected):
    changed = map_leaves(value, _upper)

    assert (changed, type(changed)) == (expected, type(expected))


def test_what_does_not_change_is_given_back_itself():
    value = {"b": [("c", {"d"})]}

    assert map_leaves(value, _upper) is value


def test_nothing_is_changed_in_place():
    value = {"b": ["a"]}

    map_leaves(value, _upper)

    assert value == {"b": ["a"]}


def test_a_circle_is_an_error():
    value = {}
    value["b"] = [value]

    with pytest.raises(RecursionError):
        map_leaves(value, _upper)
