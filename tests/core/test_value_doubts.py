"""Values that are probably not what was meant to be stored."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.resolved_config import value_doubts
from airflow_config_providers.core.variable import ConfigVariable

ENDED = "The value of ${mounted:/x:k} ends with a line end, which is part of the value."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("", "The value of ${mounted:/x:k} is empty.", id="empty"),
        pytest.param("c4nary\n", ENDED, id="a line end"),
        pytest.param("c4nary\r\n", ENDED, id="a line end of Windows"),
        pytest.param("c4nary\r", ENDED, id="a carriage return"),
        pytest.param("\n", ENDED, id="nothing but a line end"),
        pytest.param("c4nary", "", id="a line"),
        pytest.param("c4nary ", "", id="a blank"),
        pytest.param("-----BEGIN\nc4nary\n-----END\n", "", id="several lines"),
        pytest.param("c4nary\n\n", "", id="an empty line at the end"),
        pytest.param("one\rc4nary\n", "", id="several lines of an old Mac"),
    ],
)
def test_a_value_is_told_by_its_reference(value: str, expected: str) -> None:
    found = " ".join(value_doubts({ConfigVariable("mounted", "/x", "k"): value}))

    assert found.startswith(expected)
    assert bool(found) == bool(expected)
    assert "c4nary" not in found


def test_of_many_only_some_are_named() -> None:
    (found,) = value_doubts({ConfigVariable("mounted", "/x", f"k{n:02}"): "" for n in range(11)})

    assert found.startswith("The values of ${mounted:/x:k00}, ")
    assert "k09} and 1 more are empty." in found
