"""The leak matrix of a real run: ours leaks nothing that the documentation does not name."""

from __future__ import annotations

import importlib.util

import pytest

from tests.integration.conftest import java  # noqa: F401 - a fixture
from tests.leaks import declared
from tests.leaks.canaries import CONF, ENVIRONMENT, FILE, QUERY, Column
from tests.leaks.run import LeakRun
from tests.leaks.sinks import Sink

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.usefixtures("java"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(f"airflow.providers.{name}") is None for name in ("openlineage", "apache.livy")),
        reason="no OpenLineage or no Livy: make .venv/.leaks",
    ),
]

LEAKS_OF_THE_STOCK_OPERATOR = [
    (Sink.TASK_LOG, Column.VARIABLE),
    (Sink.SCHEDULER_OUTPUT, Column.CONNECTION),
    (Sink.RENDERED, Column.VARIABLE),
    (Sink.DATABASE, Column.VARIABLE),
    (Sink.DAG_SOURCE, Column.LITERAL),
    (Sink.ARGUMENTS, Column.CONNECTION),
    (Sink.SPARK_UI, Column.CONNECTION),
    (Sink.EVENT_LOG, Column.CONNECTION),
    (Sink.XCOM, Column.VARIABLE),
    (Sink.TRIGGER, Column.CONNECTION),
]

STOCK = {Column.VARIABLE: ("local", "pyspark"), Column.CONNECTION: ("local", "deferred"), Column.LITERAL: ("deferred",)}
"""Tasks that leave a secret in each of these places."""

WHERE_A_JOB_OF_OURS_HAS_VALUES = [
    (Sink.OPEN_FILES, CONF[0]),
    (Sink.OPEN_FILES, FILE),
    (Sink.ENVIRONMENTS, ENVIRONMENT),
    (Sink.SPARK_UI, QUERY),
    (Sink.EVENT_LOG, QUERY),
]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """
    A run whose tasks ended, got values and were stored as they have to be: ``proof`` requires it.

    Of the stock operators it has those that show that the search finds something. ``make leaks`` has all.
    """
    return LeakRun(tmp_path_factory.mktemp("leaks"), print, stock=STOCK).matrix()


def test_ours_leaks_nothing_undeclared(matrix):
    assert {leak: matrix.found[leak] for leak in declared.undeclared(matrix)} == {}


def test_what_is_declared_does_leak(matrix):
    assert declared.not_found(matrix) == []


def test_every_sink_had_something_to_search(matrix):
    assert declared.not_searched(matrix) == []
    assert matrix.unread == []


@pytest.mark.parametrize(("sink", "column"), LEAKS_OF_THE_STOCK_OPERATOR)
def test_the_search_finds_what_the_stock_operator_is_known_to_leak(matrix, sink, column):
    assert [leak for leak in matrix.found if (leak.sink, leak.column) == (sink, column)]


@pytest.mark.parametrize(("sink", "slot"), WHERE_A_JOB_OF_OURS_HAS_VALUES)
def test_the_job_of_a_dag_that_nobody_edited_has_values(matrix, sink, slot):
    assert [leak for leak in matrix.found if (leak.sink, leak.column, leak.slot) == (sink, Column.UNEDITED, slot)]
