"""Strings in nested fields of an operator, each with its place."""

from __future__ import annotations

from collections import namedtuple

import pytest

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.nested_texts import map_texts, texts

Pair = namedtuple("Pair", "one other")


def test_keys_with_references_are_refused_together():
    with pytest.raises(ConfigException) as caught:
        texts({"a": [{"${v:p:k}": "x", "x${v:p:l}": "x", 3: "x"}]}, "conf")

    assert [problem.split(" contains")[0] for problem in caught.value.problems] == [
        "conf['a'][0]: the key '${v:p:k}'",
        "conf['a'][0]: the key 'x${v:p:l}'",
    ]


def test_collections_that_are_nested_too_deeply_are_refused():
    value = "x"
    for _ in range(1000):
        value = [value]

    with pytest.raises(ConfigException, match="nested too deeply"):
        texts(value, "args")


def test_strings_of_a_set_have_the_same_places_each_time():
    found = [(text.label, text.text) for text in texts({"b", "a", "c"}, "tags")]

    assert found == [("tags[0]", "a"), ("tags[1]", "b"), ("tags[2]", "c")]


@pytest.mark.parametrize("value", [["a"], ("a",), {"a"}, frozenset("a"), {"k": "a"}, Pair("a", 1)], ids=repr)
def test_a_changed_collection_keeps_its_type(value):
    changed = map_texts(value, "x", lambda text: text.text)

    assert (type(changed), changed) == (type(value), value)


def test_skipped_objects_stay_as_they_are():
    kept = {"k": "a"}

    assert map_texts([kept, "a"], "x", lambda _: "b", skip=[id(kept)]) == [kept, "b"]
