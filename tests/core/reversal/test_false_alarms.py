from __future__ import annotations

import random

import pytest

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from benchmarks.innocent import texts, values

TEXTS = {what: text for what, text in texts() if text}  # without those of libraries that are not installed


@pytest.fixture(scope="module")
def reverser():
    found = values(210, random.Random(7))
    return ReverseTransformer({}, {ConfigVariable("v", "", f"k{i:04}"): value for i, value in enumerate(found)})


@pytest.mark.parametrize("what", TEXTS)
def test_nothing_is_found_in_a_text_that_has_no_value(reverser, what):
    data = TEXTS[what].encode()[:2_000_000]

    assert len(data) > 1_000
    assert [data[start:end] for start, end, _ in reverser.finder.find(data)] == []


def test_other_values_of_the_same_kinds_are_left_alone(reverser):
    known = set(values(210, random.Random(7)))
    others = [value for value in values(2_100, random.Random(8)) if value not in known and not value.startswith("eyJ")]
    data = "\n".join(others).encode()

    assert [data[start:end] for start, end, _ in reverser.finder.find(data)] == []


def test_a_token_of_the_same_issuer_is_taken_for_the_value_and_not_shown(reverser):
    token = next(value for value in values(2_100, random.Random(8)) if value.startswith("eyJ"))

    assert reverser.reverse_text(token).startswith("${v:")


@pytest.mark.parametrize("form", ["&#{};", "&#x{:x};"])
def test_texts_written_as_references_of_html_are_left_alone(reverser, form):
    text = "\n".join(TEXTS.values())[:100_000]
    data = "".join(c if c.isalnum() or c.isspace() else form.format(ord(c)) for c in text).encode()

    assert [data[start:end] for start, end, _ in reverser.finder.find(data)] == []
