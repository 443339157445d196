"""Strings in a message or a field."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.text import shortened


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(60, 600))
def test_shortened_lines_fit_and_say_how_many_are_missing(found, characters):
    kept = shortened(found, characters=characters, rest="x")

    if len(str(found)) <= characters:
        assert kept == found
    else:
        assert len(str(kept)) <= characters
        assert kept[:-1] == found[: len(kept) - 1]
        assert kept[-1] == f"... and {len(found) - len(kept) + 1} more: x"
