from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from airflow_config_providers.core.nested import is_mapping, map_leaves


class Proxy:
    """Says that it has the class of another object, as a proxy does whose object is made on first use."""

    def __init__(self, other):
        self._other = other

    @property
    def __class__(self):
        return type(self._other)


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
        pytest.param(deque("ab"), deque("Ab"), id="deque"),
    ],
)
def test_leaves_are_changed(value, expected):
    changed = map_leaves(value, _upper)

    assert (changed, type(changed)) == (expected, type(expected))


def test_a_deque_keeps_its_longest_length():
    assert map_leaves(deque("ab", 2), _upper).maxlen == 2


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({}, True, id="dict"),
        pytest.param(MappingProxyType({}), True, id="mapping"),
        pytest.param(Proxy({}), True, id="proxy-of-a-mapping"),
        pytest.param(Proxy([]), False, id="proxy-of-a-list"),
        pytest.param("keys", False, id="string"),
        pytest.param(dict, False, id="class-of-mappings"),
    ],
)
def test_a_mapping_is_known_by_its_class_even_behind_a_proxy(value, expected):
    assert is_mapping(value) is isinstance(value, Mapping) is expected
