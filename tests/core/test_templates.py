"""Strings that contain Jinja templates."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.templates import without_templates

TEMPLATES = st.lists(st.sampled_from(["{{", "}}", "{%", "%}", "{", "}", "%", "a", "\n"]), max_size=12).map("".join)


@given(TEMPLATES)
def test_templates_are_left_out_from_each_opening_to_the_next_closing(text: str) -> None:
    assert without_templates(text) == re.sub(r"(?s)\{\{.*?\}\}|\{%.*?%\}", "", text)


@pytest.mark.parametrize("opening", ["{{", "{%", "{{{%"])
def test_very_many_openings_without_closing_are_read_once(opening: str) -> None:
    assert without_templates(opening * 500_000) == opening * 500_000
