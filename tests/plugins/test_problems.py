"""What the REST interface answers to errors."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InvalidRequestError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

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


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OperationalError("SELECT 1", {}, Exception("at db.example.com, hunter2")), id="away"),
        pytest.param(NoFreeConnection("QueuePool limit, hunter2"), id="no-free-connection"),
    ],
)
def test_a_database_that_fails_while_airflow_asks_it_for_the_user_is_unavailable(error: SQLAlchemyError) -> None:
    problem = Problem.of(error)

    assert (problem.status, problem.kind) == (503, "unavailable")
    assert "run airflow db check" in problem.problems[0]
    assert "hunter2" not in problem.problems[0]


def test_a_mistake_in_the_use_of_the_database_is_no_outage() -> None:
    assert Problem.of(InvalidRequestError("hunter2")).status == 500
