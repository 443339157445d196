"""Garbage is looked for seldom only as long as an audit runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from airflow_config_providers.spark.audit.leaks.leak_audit import seldom_collected


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def collections() -> int:
    return sum(each["collections"] for each in gc.get_stats())


def test_objects_that_stay_are_hardly_gone_through() -> None:
    gc.set_threshold(700, 10, 10)
    with seldom_collected():
        before = collections()
        made = [[] for _ in range(100_000)]  # type: list[list[int]]

        assert collections() - before <= 1
        assert len(made) == 100_000


def test_circles_do_not_fill_the_memory() -> None:
    gc.set_threshold(700, 10, 10)
    with seldom_collected():
        before = collections()
        for _ in range(1_000_000):
            circle: list[object] = []
            circle.append(circle)

        assert collections() - before >= 2


@pytest.mark.parametrize("threshold", [(700, 10, 10), (0, 10, 10), (10_000_000, 5, 5)], ids=["usual", "off", "seldom"])
def test_the_process_is_as_before_at_the_end_and_after_an_error(threshold: tuple[int, int, int]) -> None:
    gc.set_threshold(*threshold)
    inside: list[int] = []

    with pytest.raises(KeyError), seldom_collected():
        _fail(inside)

    assert gc.get_threshold() == threshold
    assert inside[0] >= threshold[0]
    assert (inside[0] == 0) == (threshold[0] == 0)


def _fail(inside: list[int]) -> None:
    inside.append(gc.get_threshold()[0])
    raise KeyError
