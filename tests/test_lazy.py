"""What is made on first use: modules, names and properties."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_config_providers.lazy import LazyModule, cached_property
from tests.limits import LONGEST


def test_a_lazy_module_has_the_names_of_the_module() -> None:
    assert LazyModule("json").dumps is json.dumps


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_a_lazy_module_can_be_copied(duplicate) -> None:  # type: ignore[no-untyped-def]
    assert duplicate(LazyModule("json")).dumps is json.dumps


class Thing:
    def __init__(self, work=lambda: None):
        self.made = 0
        self.work = work

    @cached_property
    def value(self):
        """What it is worth."""
        self.made += 1
        self.work()
        return object()


def test_it_is_worked_out_once_for_each_object():
    one, other = Thing(), Thing()

    assert one.value is one.value is not other.value
    assert one.made == 1


def test_threads_that_work_it_out_at_once_get_the_same():
    both = threading.Barrier(2, timeout=LONGEST)
    thing = Thing(both.wait)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: thing.value, range(2))
    assert one is other


def test_an_object_does_not_wait_for_another():
    """As it would if they had one lock: the second is asked for while the first is worked out."""
    second = Thing()
    first = Thing(lambda: second.value)

    with ThreadPoolExecutor(1) as pool:
        first.work = lambda: pool.submit(lambda: second.value).result(timeout=LONGEST)
        assert first.value is not second.value


def test_the_class_shows_what_it_is():
    assert Thing.value.__doc__ == "What it is worth."
