"""What the REST interface answers to errors."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from fastapi.exceptions import RequestValidationError

from airflow_config_providers.plugins.problems import Problem


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        pytest.param("int_parsing", "'first' must be a whole number. Correct it.", id="number"),
        pytest.param("bool_parsing", "'first' must be true or false. Correct it.", id="switch"),
        pytest.param("other", "'first' is invalid (other). Correct it.", id="other"),
    ],
)
def test_a_wrong_parameter_is_told_with_what_it_must_be_and_without_its_value(kind: str, problem: str) -> None:
    error = RequestValidationError([{"type": kind, "loc": ("query", "first"), "input": "hunter2", "msg": "hunter2"}])

    assert Problem.of(error).problems == [problem]
