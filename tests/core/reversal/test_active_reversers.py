"""Several reversers as one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from tests.limits import LONGEST


def reverser(key: str) -> ReverseTransformer:
    return ReverseTransformer({}, {ConfigVariable("v", "", key): f"s3cret-{key}"})


def test_all_of_them_reverse_a_text() -> None:
    active = ActiveReversers()
    active.add(reverser("a"))
    active.know(reverser("b"))

    assert active.text("s3cret-a s3cret-b") == "${v:a} ${v:b}"


def test_one_that_was_added_twice_is_active_until_it_was_removed_twice() -> None:
    active, one = ActiveReversers(), reverser("a")
    active.add(one)
    active.add(one)
    active.remove(one)

    assert active.reversers == (one,)


def test_one_that_was_pruned_can_be_removed() -> None:
    active, one, other = ActiveReversers(), reverser("a"), reverser("b")
    active.add(one)
    active.add(other)
    one.forget()
    active.prune()
    active.remove(one)

    assert active.reversers == (other,)


def test_one_that_is_known_twice_is_there_once() -> None:
    active, one, other = ActiveReversers(), reverser("a"), reverser("b")
    for each in (one, other, one):
        active.know(each)

    assert active.reversers == (other, one)


def test_one_that_has_forgotten_its_values_stays_until_it_is_pruned() -> None:
    active, one, other = ActiveReversers(), reverser("a"), reverser("b")
    active.add(one)
    active.add(other)
    one.forget()
    before, with_values = active.reversers, active.with_values
    active.prune()

    assert (before, with_values, active.reversers) == ((one, other), (other,), (other,))


def test_one_that_has_forgotten_its_values_is_left_when_another_is_known() -> None:
    active, one, other = ActiveReversers(), reverser("a"), reverser("b")
    active.know(one)
    one.forget()
    active.know(other)

    assert active.reversers == (other,)


def test_a_reader_keeps_what_it_has_read_during_a_change() -> None:
    active, one = ActiveReversers(), reverser("a")
    active.add(one)
    read = active.reversers
    active.remove(one)

    assert read == (one,)


@pytest.fixture
def switching_often() -> Iterator[None]:
    """Let threads interrupt each other almost everywhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching_often")
@pytest.mark.parametrize("way", ["add", "know"])
def test_none_is_lost_that_threads_add_at_once(way: str) -> None:
    active, start = ActiveReversers(), Barrier(8)
    given = [[reverser(f"{thread}.{n}") for n in range(40)] for thread in range(8)]

    def add_all(reversers: list[ReverseTransformer]) -> None:
        start.wait(LONGEST)
        for each in reversers:
            getattr(active, way)(each)

    threads = [Thread(target=add_all, args=(each,)) for each in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {*map(id, active.reversers)} == {id(each) for reversers in given for each in reversers}
