"""The grammar of references matches what Kafka's pattern matches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.variable import ConfigVariable, parse

TEXTS = st.one_of(
    st.text(alphabet="${}:ab \n", max_size=40),
    st.lists(
        st.sampled_from(
            ["${", "}", ":", "$", "{", "${p:k}", "${p:a:k}", "${p::k}", "${:}", "${}", "a", " ", "\n", "é😀"]
        )
    ).map("".join),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=10).map(lambda text: f"${{{text}:{text}}}"),
)
REPLACEMENT = "\ue000$1\ue001$3\ue001$4\ue002"


@settings(max_examples=800, derandomize=True, deadline=None)
@given(text=TEXTS)
@example(text="${a:${b:c}")
@example(text="$${a:b}\\${a:b}")
@example(text="${p:a:b:c:d}")
@example(text="${${a:b}:c}")
def test_same_references(kafka: Any, text: str) -> None:
    expected = kafka.config.ConfigTransformer.DEFAULT_PATTERN.matcher(text).replaceAll(REPLACEMENT)

    assert "".join(map(_marked, parse(text))) == expected


@pytest.mark.parametrize(
    "text",
    [pytest.param("${a:" * 60, id="never-closed"), pytest.param("${" * 2000 + "}", id="closed-once")],
)
def test_same_references_in_hostile_text(kafka: Any, text: str) -> None:
    expected = kafka.config.ConfigTransformer.DEFAULT_PATTERN.matcher(text).replaceAll(REPLACEMENT)

    assert "".join(map(_marked, parse(text))) == expected


def _marked(segment: str | ConfigVariable) -> str:
    if isinstance(segment, str):
        return segment
    return f"\ue000{segment.provider}\ue001{segment.path}\ue001{segment.key}\ue002"
