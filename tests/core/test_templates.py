"""Strings that contain Jinja templates."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.templates import can_become, without_templates

TEMPLATES = st.lists(st.sampled_from(["{{", "}}", "{%", "%}", "{", "}", "%", "a", "\n"]), max_size=12).map("".join)


@given(TEMPLATES)
def test_templates_are_left_out_from_each_opening_to_the_next_closing(text: str) -> None:
    assert without_templates(text) == re.sub(r"(?s)\{\{.*?\}\}|\{%.*?%\}", "", text)


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        pytest.param("conf/{{ x }}.yaml", "conf/prod.yaml", True, id="one-expression"),
        pytest.param("conf/{{ x }}.yaml", "conf/prod.properties", False, id="another-end"),
        pytest.param("conf/{{ x }}.yaml", "other/prod.yaml", False, id="another-beginning"),
        pytest.param("{{ x }}/a-{{ y }}/{{ z }}", "dir/a-1/2", True, id="several"),
        pytest.param("{{ x }}/a-{{ y }}/{{ z }}", "dir/1/a-2", False, id="another-order"),
        pytest.param("a{{ x }}a", "a", False, id="no-overlap"),
        pytest.param("{{ x }}", "", True, id="nothing"),
        pytest.param("${env:DIR}/prod.yaml", "/etc/prod.yaml", True, id="reference"),
        pytest.param("conf/{% if x %}prod{% else %}dev{% endif %}.yaml", "conf/dev.yaml", True, id="statements"),
        pytest.param("conf/{% if x %}prod{% else %}dev{% endif %}.yaml", "conf/dev.xml", False, id="after-statements"),
        pytest.param("conf/prod.yaml", "conf/prod.yaml", True, id="no-template"),
        pytest.param("conf/prod.yaml", "conf/dev.yaml", False, id="no-template-and-another"),
        pytest.param("{% x", "{% x", True, id="not-closed"),
        pytest.param("conf/{# of {% x #}prod.yaml", "conf/prod.yaml", True, id="comment"),
        pytest.param("conf/{# of ${env:X} #}prod.yaml", "conf/dev.yaml", False, id="comment-and-another"),
        pytest.param("conf/{{ '{#' }}-{{ x }}{# y #}", "conf/{#-1", True, id="comment-and-a-string"),
        pytest.param("${vault:{# x #}a:k}/a.yaml", "conf/a.yaml", True, id="comment-in-a-reference"),
        pytest.param("conf/{# x", "conf/{# x", True, id="comment-that-is-not-closed"),
        pytest.param("${vault:{{ x }}:k}/a.yaml", "conf/a.yaml", True, id="expression-in-a-reference"),
        pytest.param("${vault:{{ x }}:k}/a.yaml", "conf/b.yaml", False, id="after-such-a-reference"),
        pytest.param("${vault:{% if x %}a{% endif %}:k}.yaml", "conf.yaml", True, id="statements-in-a-reference"),
    ],
)
def test_a_template_can_become_a_text_that_has_its_literals_in_order(template: str, text: str, expected: bool) -> None:
    assert can_become(template, text) is expected


class Searched(str):
    """A string that counts the searches of it that went on to its end in vain."""

    in_vain = 0

    def find(self, *args: Any) -> int:
        found = super().find(*args)
        self.in_vain += found < 0
        return found


@pytest.mark.parametrize(("opening", "kinds"), [("{{", 1), ("{%", 1), ("{{{%", 2)])
def test_very_many_openings_without_closing_are_read_once(opening: str, kinds: int) -> None:
    text = Searched(opening * 10_000)

    assert without_templates(text) == text
    assert text.in_vain == kinds


def test_very_many_comments_are_read_once() -> None:
    template = Searched("{# x #}" * 10_000 + "{#" * 10_000)

    assert can_become(template, "{#" * 10_000)
    assert template.in_vain == 1
