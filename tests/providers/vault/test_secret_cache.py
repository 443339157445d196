from __future__ import annotations

import threading

import pytest

from airflow_config_providers.providers.vault.secret_cache import Swept


@pytest.mark.parametrize("before", [0, 16, 32])
def test_entries_of_two_threads_are_both_kept(before: int) -> None:
    """The second thread comes whenever the first asks what is good."""
    others: list[threading.Thread] = []

    def is_good(_: object) -> bool:
        if threading.current_thread() is threading.main_thread() and not others:
            others.append(threading.Thread(target=swept.keep, args=("other", 1)))
            others[0].start()
            others[0].join(0.1)
        return True

    swept: Swept[object, int] = Swept(is_good)
    for number in range(before):
        swept.keep(number, number)
    swept.keep("mine", 2)
    for other in others:
        other.join()
        assert swept.get("other") == 1
    assert swept.get("mine") == 2


@pytest.mark.parametrize("share", [0, 1], ids=["all outdated", "all good"])
def test_an_entry_costs_the_same_however_many_there_are(share: int) -> None:
    asked = []
    swept: Swept[int, int] = Swept(lambda entry: bool(asked.append(entry)) or bool(share))
    for number in range(10_000):
        swept.keep(number, number)
    assert len(asked) <= 2 * 10_000


def test_outdated_entries_do_not_pile_up() -> None:
    swept: Swept[int, int] = Swept(lambda _: False)
    for number in range(1000):
        swept.keep(number, number)
    assert len(swept) <= 16


def test_the_last_entry_is_kept_even_if_it_is_outdated() -> None:
    swept: Swept[int, int] = Swept(lambda _: False)
    for number in range(100):
        swept.keep(number, number)
        assert swept.get(number) == number


def test_nothing_is_left_after_a_clear() -> None:
    swept: Swept[str, int] = Swept(lambda _: True)
    swept.keep("a", 1)
    swept.clear()
    assert swept.get("a") is None


def test_a_forked_child_begins_with_nothing_and_does_not_wait_for_the_parent() -> None:
    swept: Swept[str, int] = Swept(lambda _: True)
    swept.keep("a", 1)
    with swept._lock:
        swept.forget()
        swept.keep("b", 2)
    assert (swept.get("a"), swept.get("b")) == (None, 2)
