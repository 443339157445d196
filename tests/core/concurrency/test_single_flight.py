from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_config_providers.core.concurrency.shared_calls import SingleFlight
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from tests.limits import LONGEST


class Slow:
    """A call that waits until ``go`` is set, and then gives or raises ``outcome``."""

    def __init__(self, outcome: object) -> None:
        self.outcome = outcome
        self.calls = 0
        self.started, self.go = threading.Event(), threading.Event()

    def __call__(self) -> object:
        self.calls += 1
        self.started.set()
        assert self.go.wait(LONGEST)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class Observed(SingleFlight):
    """Counts who has found a flight to wait for."""

    def __init__(self, *, asks_again: bool = False) -> None:
        super().__init__(asks_again=asks_again)
        self.waiting = threading.Semaphore(0)

    def _landed(self, flight: Future[object]) -> object:
        self.waiting.release()
        return super()._landed(flight)

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.waiting.acquire(timeout=LONGEST)


def outcome(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except BaseException as error:  # noqa: BLE001 - it is what the test looks at
        return error


def outcomes(call: Slow, threads: int) -> list[object]:
    """Let the others ask while the first call runs, and return the result of each, the first one first."""
    flights = Observed()
    with ThreadPoolExecutor(threads) as pool:
        first = pool.submit(outcome, lambda: flights.run("key", call))
        assert call.started.wait(LONGEST)
        others = [pool.submit(outcome, lambda: flights.run("key", call)) for _ in range(threads - 1)]
        flights.wait_for(threads - 1)
        call.go.set()
        return [future.result() for future in [first, *others]]


def test_threads_that_ask_at_the_same_time_share_one_call() -> None:
    call = Slow("answer")

    assert outcomes(call, 16) == ["answer"] * 16
    assert call.calls == 1


def test_nothing_is_kept() -> None:
    flights, answers = SingleFlight(), iter(range(2))

    assert [flights.run("key", lambda: next(answers)) for _ in range(2)] == [0, 1]


def test_a_failure_is_not_kept() -> None:
    flights = SingleFlight()

    with pytest.raises(ZeroDivisionError):
        flights.run("key", lambda: 1 // 0)
    assert flights.run("key", lambda: 1) == 1


def test_other_keys_do_not_wait() -> None:
    flights, call = SingleFlight(), Slow("slow")
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(flights.run, "slow", call)
        assert call.started.wait(LONGEST)
        assert flights.run("quick", lambda: "quick") == "quick"
        call.go.set()
        assert slow.result() == "slow"


def test_a_call_may_ask_for_another() -> None:
    flights = SingleFlight()

    assert flights.run("path", lambda: flights.run("login", lambda: "token") + "!") == "token!"


def test_each_thread_gets_an_error_of_its_own() -> None:
    call = Slow(AccessDeniedError("one", "two"))
    found = outcomes(call, 17)

    assert call.calls == 1
    assert len({id(error) for error in found}) == 17
    assert {(type(error), error.problems) for error in found} == {(AccessDeniedError, ("one", "two"))}
    assert all(error.__cause__ is error.__context__ is None for error in found)


def test_of_an_error_that_is_not_ours_others_get_only_the_type() -> None:
    found = outcomes(Slow(KeyError("c4nary")), 2)

    assert [type(error) for error in found] == [KeyError, ProviderLookupError]
    assert "c4nary" not in f"{found[1]!r}"


def first_and_eight_others(flights: Observed, call: Slow) -> tuple[object, list[object]]:
    """Return what comes of a call, and of those of eight threads that wait for it and would have an answer."""
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(outcome, lambda: flights.run("key", call))
        assert call.started.wait(LONGEST)
        others = [pool.submit(outcome, lambda: flights.run("key", lambda: "answer")) for _ in range(8)]
        flights.wait_for(8)
        call.go.set()
        return first.result(), [other.result() for other in others]


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_where_the_thread_that_calls_is_interrupted_another_goes_on(interrupt: type[BaseException]) -> None:
    """Airflow ends a task that takes too long with an exception in its thread."""
    first, others = first_and_eight_others(Observed(), Slow(interrupt()))

    assert isinstance(first, interrupt)
    assert others == ["answer"] * 8


def test_who_waits_for_a_call_that_gets_no_answer_asks_itself() -> None:
    """The time of the first one was over, and not that of the others."""
    first, others = first_and_eight_others(Observed(asks_again=True), Slow(ProviderUnavailableError("no answer")))

    assert isinstance(first, ProviderUnavailableError)
    assert others == ["answer"] * 8


def test_who_waits_shares_the_failure_of_a_call_that_began_after_it_asked() -> None:
    """A server that hangs costs those who wait two calls, however many they are."""
    flights = Observed(asks_again=True)
    first, second = Slow(ProviderUnavailableError("1")), Slow(ProviderUnavailableError("2"))
    with ThreadPoolExecutor(9) as pool:
        leader = pool.submit(outcome, lambda: flights.run("key", first))
        assert first.started.wait(LONGEST)
        others = [pool.submit(outcome, lambda: flights.run("key", second)) for _ in range(8)]
        flights.wait_for(8)
        first.go.set()
        assert second.started.wait(LONGEST)
        flights.wait_for(7)
        second.go.set()
        assert str(leader.result()) == "1"
        assert [str(other.result()) for other in others] == ["2"] * 8
    assert second.calls == 1


def test_a_thread_that_is_interrupted_before_its_call_leaves_nobody_waiting() -> None:
    class Interrupted(SingleFlight):
        interrupts = iter([KeyboardInterrupt()])

        def _fly(self, key, mine, call):
            for interrupt in self.interrupts:
                raise interrupt
            return super()._fly(key, mine, call)

    flights = Interrupted(patience=LONGEST)
    with pytest.raises(KeyboardInterrupt):
        flights.run("key", lambda: "never")
    assert flights.run("key", lambda: "answer") == "answer"


def test_patience_has_an_end() -> None:
    flights, call = SingleFlight(patience=0.05), Slow("late")
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flights.run, "key", call)
        assert call.started.wait(LONGEST)
        with pytest.raises(ProviderUnavailableError, match=r"for 0\.05 seconds") as caught:
            flights.run("key", call)
        call.go.set()
        assert first.result() == "late"
    assert caught.value.__context__ is None


def test_without_a_limit_the_others_wait_as_long_as_it_takes() -> None:
    flights, call = SingleFlight(patience=None), Slow("late")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(flights.run, "key", call)
        assert call.started.wait(LONGEST)
        second = pool.submit(flights.run, "key", call)
        with pytest.raises(TimeoutError):
            second.result(0.1)
        call.go.set()
        assert first.result() == second.result() == "late"


def test_a_child_that_makes_a_new_one_does_not_wait_for_its_parent(tmp_path: Path) -> None:
    flights, call, answer = SingleFlight(), Slow("parent"), tmp_path / "answer"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(flights.run, "key", call)
        assert call.started.wait(LONGEST)
        pid = os.fork()
        if pid == 0:
            answer.write_text(SingleFlight().run("key", lambda: "child"))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        call.go.set()
        assert first.result() == "parent"
    assert answer.read_text() == "child"


def test_an_error_of_ours_keeps_its_problems_for_everyone() -> None:
    found = outcomes(Slow(ConfigProvidersError("a", "b", "c")), 3)

    assert {str(error) for error in found} == {"3 problems:\n- a\n- b\n- c"}
