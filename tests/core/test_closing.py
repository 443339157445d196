"""What closes all that it has opened."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import pytest

from airflow_config_providers.core.closing import Closing, Once, WaitsToClose, close_all, end_of_waiting
from airflow_config_providers.testing import FakeClock
from tests.limits import LONGEST, eventually

_who: ContextVar[str] = ContextVar("_who", default="nobody")


class Hanging:
    def __init__(self) -> None:
        self.goes_on = threading.Event()

    def close(self) -> None:
        self.goes_on.wait(LONGEST)


class Member:
    def __init__(self, error: BaseException | None = None) -> None:
        self.closed = 0
        self.closed_by = ""
        self._error = error

    def close(self) -> None:
        self.closed += 1
        self.closed_by = _who.get()
        if self._error:
            raise self._error


def test_members_are_closed_once():
    members = [Member(), Member()]

    with Closing([("a", members[0]), ("b", members[1])]) as closing:
        assert [member.closed for member in members] == [0, 0]
    closing.close()

    assert [member.closed for member in members] == [1, 1]


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_one_that_fails_is_told_without_its_words_and_keeps_no_other_open(
    caplog: pytest.LogCaptureFixture, kind: type[BaseException]
):
    members = [("Provider a\nb", Member(kind("hunter2"))), ("Provider c", last := Member())]

    close_all(members)

    assert last.closed == 1
    assert caplog.messages == [rf"Provider a\nb could not be closed: {kind.__name__}"]


class Odd:
    """A member whose ``close`` is no method."""

    def __init__(self, close: object) -> None:
        self._close = close

    @property
    def close(self) -> Any:
        if isinstance(self._close, Exception):
            raise self._close
        return self._close


@pytest.mark.parametrize(("close", "kind"), [(None, "TypeError"), (RuntimeError("hunter2"), "RuntimeError")])
def test_one_that_cannot_be_closed_is_told_and_keeps_no_other_open(
    caplog: pytest.LogCaptureFixture, close: object, kind: str
):
    close_all([("Provider a", Odd(close)), ("Provider b", last := Member())])

    assert last.closed == 1
    assert caplog.messages == [f"Provider a could not be closed: {kind}"]


def test_one_that_hangs_is_named_and_keeps_no_other_open(caplog: pytest.LogCaptureFixture):
    members = [("Provider a\nb", first := Hanging()), ("Provider c", last := Member())]

    close_all(members, patience=0.2)

    first.goes_on.set()
    assert caplog.messages[0] == r"Provider a\nb could not be closed: it has not ended after 0.2 seconds"
    assert eventually(lambda: last.closed == 1)


def test_a_member_sees_the_callers_context():
    token = _who.set("the caller")
    try:
        close_all([("a", member := Member())])
    finally:
        _who.reset(token)

    assert member.closed_by == "the caller"


def test_a_member_is_closed_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch):
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    close_all([("a", member := Member())])

    assert member.closed == 1


def test_an_error_inside_is_raised_all_the_same():
    with pytest.raises(ZeroDivisionError), Closing([("a", member := Member())]):
        raise ZeroDivisionError

    assert member.closed == 1


class Waiting(WaitsToClose):
    """Waits for all of the time that it has, if its server is busy."""

    def __init__(self, clock: FakeClock, *, is_busy: bool = True) -> None:
        self._clock = clock
        self._is_busy = is_busy
        self.waited_until = 0.0

    def close(self) -> None:
        self.waited_until = end_of_waiting(self._clock, 5.0)
        if self._is_busy:
            self._clock.sleep(self.waited_until - self._clock())


def test_members_that_are_closed_together_share_the_time_for_which_they_wait():
    clock = FakeClock(100.0)
    members = [Waiting(clock), Waiting(clock)]

    close_all(("a member", member) for member in members)

    assert [member.waited_until for member in members] == [102.5, 105.0]


def test_a_member_that_need_not_wait_leaves_its_share_to_the_others():
    clock = FakeClock(100.0)
    members = [Waiting(clock, is_busy=False), Waiting(clock)]

    close_all(("a member", member) for member in members)

    assert members[1].waited_until == 105.0


def test_members_that_never_wait_have_no_share():
    member = Waiting(FakeClock(100.0))

    close_all([("a", Member()), ("b", member), ("c", Member()), ("d", Member())])

    assert member.waited_until == 105.0


def test_a_member_that_waits_although_it_is_not_known_to_has_the_time_of_the_others():
    class Unknown:
        close = Waiting.close
        _is_busy = True
        _clock = FakeClock(100.0)

    close_all([("a", member := Unknown())])

    assert member.waited_until == 105.0


def test_members_of_a_member_share_its_share():
    clock = FakeClock(100.0)
    member, other = Waiting(clock), Waiting(clock)
    twice = Closing([("a", member), ("b", again := Waiting(clock))])

    class Both(WaitsToClose):
        def close(self) -> None:
            twice.close()

    close_all([("both", Both()), ("other", other)])

    assert [member.waited_until, again.waited_until, other.waited_until] == [101.25, 102.5, 105.0]


def test_a_member_that_is_closed_later_waits_anew():
    clock = FakeClock(100.0)
    members = [Waiting(clock), Waiting(clock), Waiting(clock)]

    close_all([("a", members[0])])
    close_all([("b", members[1])])
    members[2].close()

    assert [member.waited_until for member in members] == [105.0, 110.0, 115.0]


class Interrupting(Hanging):
    """Sends a signal as soon as it is being closed, mostly before its thread is known to have started."""

    def __init__(self) -> None:
        super().__init__()
        self.closings = 0

    def close(self) -> None:
        self.closings += 1
        if self.closings == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
        super().close()


@pytest.fixture
def interrupted() -> Iterator[Interrupting]:
    """A member during whose closing a signal handler raises a ``LookupError``."""

    def stop(*_: object) -> None:
        raise LookupError("stop")

    before = signal.signal(signal.SIGUSR1, stop)
    member = Interrupting()
    yield member
    signal.signal(signal.SIGUSR1, before)
    member.goes_on.set()


def test_a_signal_handler_that_raises_keeps_no_other_open(interrupted: Interrupting):
    with pytest.raises(LookupError, match="stop"):
        close_all([("Provider a", interrupted), ("Provider b", last := Member())])

    interrupted.goes_on.set()
    assert eventually(lambda: last.closed)


def test_a_member_is_closed_once_though_a_signal_handler_raises(interrupted: Interrupting):
    with pytest.raises(LookupError, match="stop"):
        close_all([("Provider a", interrupted), ("Provider b", last := Member())])

    interrupted.goes_on.set()
    assert eventually(lambda: last.closed)
    assert (interrupted.closings, last.closed) == (1, 1)


class Stopping:
    """Raises what a signal handler does when a module is first imported."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def find_spec(self, name: str, *_: object) -> None:
        if name == self._module.__name__ and name not in sys.modules:
            sys.modules[name] = self._module
            raise LookupError("stop")


def test_a_signal_handler_that_raises_in_an_import_keeps_none_open(monkeypatch: pytest.MonkeyPatch):
    from airflow_config_providers.core.concurrency import workers

    monkeypatch.setattr(sys, "meta_path", [Stopping(workers), *sys.meta_path])
    monkeypatch.delitem(sys.modules, workers.__name__)
    members = [Member(), Member()]

    with pytest.raises(LookupError, match="stop"):
        close_all(("a member", member) for member in members)

    assert eventually(lambda: [member.closed for member in members] == [1, 1])


def test_a_call_is_made_once() -> None:
    made: list[int] = []
    once = Once(lambda: made.append(1))
    before = bool(once)
    once()
    once()

    assert (before, bool(once), made) == (True, False, [1])


def test_no_call_does_nothing() -> None:
    once = Once(None)
    once()

    assert not once


def test_one_that_calls_itself_is_made_once() -> None:
    made: list[int] = []

    def call() -> None:
        made.append(1)
        once()

    once = Once(call)
    once()

    assert made == [1]


def test_one_of_many_threads_makes_the_call() -> None:
    made: list[int] = []
    once, start = Once(lambda: made.append(1)), threading.Barrier(8)

    def call() -> None:
        start.wait(LONGEST)
        once()

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [1]
