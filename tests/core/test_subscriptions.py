"""KIP-297's subscribe and unsubscribe, answered by reading again."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_config_providers.core import ConfigData
from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.core.polled_provider import PolledConfigProvider
from airflow_config_providers.core.subscriptions import Courier, Polled, Subscriber, Subscriptions
from airflow_config_providers.exceptions import AccessDeniedError, ProviderDefinitionError, ProviderUnavailableError
from airflow_config_providers.testing import FakeClock
from tests.limits import LONGEST, eventually

PATH = "apps/db"


class Source:
    """Values that a test changes, the subscriptions to them, and a time that it moves."""

    def __init__(self, *, ttl=None):
        self.values = {PATH: {"user": "app", "password": "one"}}
        self.ttl = ttl
        self.error = None
        self.reads = []
        self.followed = ()
        self.clock = FakeClock(1000.0)
        self.timetable = Timetable("test", self.clock, start=lambda _: None)
        self.subscriptions = Subscriptions(
            self.read, interval=lambda: 60_000, make_watch=lambda: self, timetable=self.timetable
        )
        self.add, self.remove = self.subscriptions.add, self.subscriptions.remove

    def read(self, path, keys):
        self.reads.append((path, keys))
        if self.error:
            raise self.error
        return ConfigData({k: v for k, v in self.values.get(path, {}).items() if keys is None or k in keys}, self.ttl)

    def follow(self, paths, touch):
        self.followed = paths

    def pass_(self, seconds=70.0):
        self.clock.sleep(seconds)
        self.timetable.run_due()

    def rotate(self, password, *, path=PATH):
        self.values[path] = {**self.values.get(path, {}), "password": password}
        self.pass_()


class Heard(list):
    """A callback that remembers its calls."""

    def __call__(self, path, data):
        self.append((path, dict(data.data)))


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def heard():
    return Heard()


def test_a_change_is_told_once_with_all_keys_that_were_subscribed_to(source, heard):
    source.add(PATH, {"user", "password"}, heard)
    source.rotate("two")
    source.pass_()

    assert eventually(lambda: heard)
    assert heard == [(PATH, {"user": "app", "password": "two"})]


def test_no_keys_are_named_for_all_keys(source, heard):
    source.add(PATH, None, heard)
    source.values[PATH]["port"] = "5432"
    source.pass_()

    assert eventually(lambda: heard)
    assert heard == [(PATH, {"user": "app", "password": "one", "port": "5432"})]


def test_a_value_that_stays_the_same_is_no_change(source, heard):
    source.add(PATH, {"password"}, heard)
    for _ in range(3):
        source.rotate("one")
    assert not heard


def test_a_change_of_another_key_is_not_told(source, heard):
    source.add(PATH, {"user"}, heard)
    source.add(PATH, {"password"}, others := Heard())
    source.rotate("two")

    assert eventually(lambda: others)
    assert not heard


def test_each_change_is_told(source, heard):
    source.add(PATH, {"password"}, heard)
    for number, password in enumerate(("two", "three", "one"), start=1):
        source.rotate(password)
        assert eventually(lambda number=number: len(heard) == number)
    assert [data["password"] for _, data in heard] == ["two", "three", "one"]


def test_a_hundred_subscriptions_to_a_path_read_it_once(source, heard):
    for _ in range(100):
        source.add(PATH, {"password"}, heard)
    source.reads.clear()
    source.rotate("two")

    assert eventually(lambda: len(heard) == 100)
    assert source.reads == [(PATH, {"password"})]
    assert source.followed == (PATH,)


def test_values_with_a_short_ttl_are_read_when_it_has_passed(heard):
    source = Source(ttl=5_000)
    source.add(PATH, {"password"}, heard)
    source.reads.clear()

    source.pass_(4.9)
    assert not source.reads
    source.pass_(0.7)
    assert len(source.reads) == 1


@pytest.mark.parametrize("ttl", [0, 1, 999])
def test_a_ttl_below_a_second_is_a_second(ttl, heard):
    source = Source(ttl=ttl)
    source.add(PATH, {"password"}, heard)
    source.reads.clear()

    source.pass_(0.99)
    assert not source.reads
    source.pass_(0.2)
    assert len(source.reads) == 1


def test_a_sign_of_a_change_has_the_path_read_soon(source, heard):
    source.add(PATH, {"password"}, heard)
    source.values[PATH]["password"] = "two"
    source.subscriptions.touch(PATH)

    source.pass_(0.3)
    assert eventually(lambda: heard)


def test_a_value_that_is_gone_for_a_moment_is_no_change(source, heard):
    source.add(PATH, {"password"}, heard)
    kept = source.values.pop(PATH)
    source.pass_()
    source.values[PATH] = kept
    source.pass_(0.6)
    source.pass_()
    assert not heard


def test_a_value_that_stays_gone_is_told(source, heard):
    source.add(PATH, {"password"}, heard)
    del source.values[PATH]
    source.pass_()
    source.pass_(0.6)

    assert eventually(lambda: heard)
    assert heard == [(PATH, {})]


def test_what_cannot_be_read_is_tried_again_and_is_no_change(source, heard, caplog):
    source.add(PATH, {"password"}, heard)
    source.error = ProviderUnavailableError("c4nary is down")
    source.pass_()
    source.pass_()
    assert not heard
    assert caplog.text.count("could not be read to look for changes (ProviderUnavailableError)") == 1
    assert "c4nary" not in caplog.text

    source.error = None
    source.rotate("two")
    assert eventually(lambda: heard)


def test_what_cannot_be_read_at_first_is_not_subscribed_to(source, heard):
    source.error = AccessDeniedError("no")
    with pytest.raises(AccessDeniedError):
        source.add(PATH, {"password"}, heard)
    assert source.followed == ()


def test_a_subscriber_that_fails_harms_no_other(source, heard, caplog):
    def fail(path, data):
        raise ValueError(data.data["password"])

    source.add(PATH, {"password"}, fail)
    source.add(PATH, {"password"}, heard)
    source.rotate("c4nary")

    assert eventually(lambda: heard)
    assert "A subscriber of apps/db failed (ValueError)" in caplog.text
    assert "c4nary" not in caplog.text


def test_a_subscriber_that_does_not_return_harms_no_other_and_later_hears_the_newest(source, heard):
    is_in, may_return, late = threading.Event(), threading.Event(), Heard()

    def hang(path, data):
        is_in.set()
        may_return.wait(LONGEST)
        late(path, data)

    source.add(PATH, {"password"}, hang)
    source.add(PATH, {"password"}, heard)
    source.rotate("two")
    assert is_in.wait(LONGEST)
    for password in ("three", "four"):
        source.rotate(password)  # which takes more time than is waited for a callback
    assert eventually(lambda: heard and heard[-1][1] == {"password": "four"})

    may_return.set()
    assert eventually(lambda: late and late[-1][1] == {"password": "four"})
    assert [data["password"] for _, data in late] == ["two", "four"]


class Stuck(Source):
    """A source in which ``stuck`` is read without an end until ``goes_on`` is set."""

    def __init__(self):
        super().__init__()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.values["stuck"] = {"password": "one"}
        self.subscriptions = Subscriptions(self.read, interval=lambda: 60_000, timetable=self.timetable, patience=0.2)
        self.add, self.remove = self.subscriptions.add, self.subscriptions.remove

    def read(self, path, keys):
        if path == "stuck":
            self.goes_on.wait(LONGEST)
        return super().read(path, keys)


@pytest.fixture
def stuck():
    source = Stuck()
    yield source
    source.goes_on.set()


def test_a_path_that_cannot_be_read_to_its_end_keeps_no_other_from_being_read(stuck, heard, caplog):
    stuck.add("stuck", None, heard)
    stuck.add(PATH, {"password"}, heard)
    stuck.goes_on.clear()
    for password in ("two", "three"):
        stuck.rotate(password)
        assert eventually(lambda password=password: (PATH, {"password": password}) in heard)
    told = [message for message in caplog.messages if message.startswith("stuck")]
    assert told == ["stuck could not be read to look for changes (no answer after 0.2 seconds). It is tried again."]


def test_a_path_that_is_still_being_read_is_not_read_again_beside_that(stuck, heard):
    stuck.add("stuck", None, heard)
    stuck.goes_on.clear()
    for _ in range(5):
        stuck.pass_()
    stuck.goes_on.set()
    assert eventually(lambda: len(stuck.reads) == 2)  # with the one of ``add``


def test_a_change_that_was_read_late_is_told_and_later_ones_are_too(stuck, heard):
    stuck.add("stuck", None, heard)
    stuck.goes_on.clear()
    stuck.rotate("two", path="stuck")
    stuck.goes_on.set()
    assert eventually(lambda: ("stuck", {"password": "two"}) in heard)
    stuck.rotate("three", path="stuck")

    def is_told():
        stuck.pass_()  # again and again, as in a run: on a busy machine, one can end before its read
        return ("stuck", {"password": "three"}) in heard

    assert eventually(is_told)


def test_who_subscribes_to_a_path_that_was_being_read_for_others_is_told_changes(stuck, heard):
    stuck.add("stuck", None, gone := Heard())
    stuck.goes_on.clear()
    stuck.pass_()
    stuck.remove("stuck", None, gone)
    stuck.error = RuntimeError()
    stuck.goes_on.set()
    assert eventually(lambda: len(stuck.reads) == 2)
    stuck.error = None
    stuck.add("stuck", None, heard)
    for _ in range(3):
        stuck.rotate("two", path="stuck")
    assert eventually(lambda: heard)
    assert not gone


def test_after_unsubscribe_nothing_is_told_or_read(source, heard):
    source.add(PATH, ["password", "user"], heard)
    source.remove(PATH, ["user", "password"], heard)
    source.reads.clear()
    source.rotate("two")
    assert (heard, source.reads, source.followed) == ([], [], ())


def test_one_unsubscribe_undoes_one_subscribe(source, heard):
    source.add(PATH, {"password"}, heard)
    source.add(PATH, {"password"}, heard)
    source.remove(PATH, {"password"}, heard)
    source.rotate("two")
    assert eventually(lambda: heard)
    assert len(heard) == 1


@pytest.mark.parametrize("arguments", [("other", {"password"}), (PATH, {"user"}), (PATH, None)])
def test_what_was_not_subscribed_to_can_be_unsubscribed(source, heard, arguments):
    source.add(PATH, {"password"}, heard)
    source.remove(*arguments, heard)
    source.rotate("two")
    assert eventually(lambda: heard)


def test_a_subscriber_can_unsubscribe_in_its_callback(source):
    heard = Heard()

    def once(path, data):
        source.remove(PATH, None, once)
        heard(path, data)

    source.add(PATH, None, once)
    source.rotate("two")
    assert eventually(lambda: heard)
    source.rotate("three")
    assert len(heard) == 1


class Marked(Source):
    """Values with a mark, which costs less to look at."""

    def __init__(self):
        super().__init__()
        self.mark = 1
        self.asked = []
        self.subscriptions = Subscriptions(self.read, interval=lambda: 60_000, poll=self.poll, timetable=self.timetable)
        self.add, self.remove = self.subscriptions.add, self.subscriptions.remove

    def poll(self, path, keys, mark):
        self.asked.append(mark)
        return Polled(None, mark) if mark == self.mark is not None else Polled(self.read(path, keys), self.mark)


def test_values_with_the_same_mark_are_not_read_again(heard):
    source = Marked()
    source.add(PATH, None, heard)
    for _ in range(3):
        source.pass_()
    assert source.asked == [None, 1, 1]
    assert len(source.reads) == 2

    source.mark = 2
    source.rotate("two")
    assert eventually(lambda: heard)
    assert (source.asked[3:], len(source.reads)) == ([1], 3)


def test_values_without_a_mark_are_read_each_time(heard):
    source = Marked()
    source.mark = None
    source.add(PATH, None, heard)
    source.pass_()
    source.rotate("two")
    assert eventually(lambda: heard)


def test_a_subscriber_that_came_later_is_told_when_the_values_of_the_first_come_back(heard):
    source = Marked()
    source.add(PATH, None, Heard())
    source.pass_()
    source.values[PATH]["password"] = "two"
    source.add(PATH, None, heard)
    source.rotate("one")

    assert eventually(lambda: heard)
    assert heard == [(PATH, {"user": "app", "password": "one"})]


def test_a_mark_of_values_that_are_gone_for_a_moment_is_not_kept(heard):
    source = Marked()
    source.add(PATH, None, heard)
    source.mark = 2
    del source.values[PATH]["password"]
    source.pass_()
    source.pass_(0.6)
    assert eventually(lambda: heard)
    assert heard == [(PATH, {"user": "app"})]


def absent(path, keys):
    return ConfigData({}, absence="There is nothing.")


def test_an_absence_is_no_change_and_is_told_once(source, heard, caplog):
    source.add(PATH, None, heard)
    source.subscriptions._poll = lambda *_: Polled(absent(PATH, None))
    for _ in range(3):
        source.pass_()
    assert not heard
    assert caplog.text.count("could not be read to look for changes (there is nothing)") == 1


def test_what_is_absent_at_first_is_told_when_it_is_there(source, heard, caplog):
    read, source.subscriptions._read = source.subscriptions._read, absent
    source.add(PATH, None, heard)
    source.subscriptions._poll = lambda *_: Polled(absent(PATH, None))
    source.pass_()
    assert "could not be read" not in caplog.text  # the read at the start has told

    source.subscriptions._poll = lambda *_: Polled(read(PATH, None))
    source.pass_()
    assert eventually(lambda: heard)
    assert heard == [(PATH, {"user": "app", "password": "one"})]


def test_a_read_that_fails_because_it_was_unsubscribed_meanwhile_is_not_told(source, heard, caplog):
    def close(path, keys, mark):
        source.subscriptions.clear()
        raise ProviderUnavailableError("closed")

    source.subscriptions._poll = close
    source.add(PATH, None, heard)
    source.pass_()
    source.pass_()
    assert "could not be read" not in caplog.text


def test_a_forked_child_has_no_subscription_and_can_have_its_own(heard):
    provider = Values()
    provider.configure({"poll.interval": "1000"})
    provider.subscribe(PATH, None, heard)
    read, write = os.pipe()
    if not (child := os.fork()):
        try:
            own = Heard()
            provider.subscribe(PATH, None, own)
            provider.values = {"password": "two"}
            eventually(lambda: own)
            os.write(write, b"%d %d" % (len(own), len(heard)))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert answer.read() == "1 0"
    os.waitpid(child, 0)
    provider.close()


class Values(PolledConfigProvider):
    def __init__(self):
        self.values = {"password": "one"}

    def get(self, path, keys=None):
        return ConfigData(self.values)


def test_a_polled_provider_has_no_thread_before_it_is_subscribed_to_and_after_it_is_closed(heard):
    before = set(threading.enumerate())
    provider = Values()
    provider.configure({"poll.interval": "1000"})
    assert set(threading.enumerate()) <= before  # one of another test can end meanwhile

    provider.subscribe(PATH, None, heard)
    (thread,) = set(threading.enumerate()) - before
    provider.values = {"password": "two"}
    assert eventually(lambda: heard)
    provider.close()
    thread.join(LONGEST)
    assert not thread.is_alive()


@pytest.mark.parametrize("interval", ["", "0", "999", "-1000", "1e3", "soon", "9" * 30])
def test_a_poll_interval_is_milliseconds_from_a_second_on(interval):
    with pytest.raises(ProviderDefinitionError, match=r"poll\.interval"):
        Values().configure({"poll.interval": interval})


def test_unsubscribing_before_any_subscribe_does_nothing(heard):
    provider = Values()
    provider.unsubscribe(PATH, None, heard)
    provider.unsubscribe_all()


def test_first_subscriptions_in_several_threads_are_all_kept():
    provider, heard, together = Values(), [Heard() for _ in range(16)], threading.Barrier(16, timeout=LONGEST)
    provider.configure({"poll.interval": "1000"})

    def subscribe(callback):
        together.wait()
        provider.subscribe(PATH, None, callback)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(subscribe, heard))
    provider.values = {"password": "two"}
    assert eventually(lambda: all(heard))
    provider.close()


def test_a_read_that_would_end_a_program_is_tried_again(source, heard, caplog):
    """As a panic of a library in Rust, which is no ``Exception``."""
    source.add(PATH, {"password"}, heard)
    source.error = SystemExit("two")
    source.rotate("two")
    source.error = None
    source.pass_()

    assert eventually(lambda: heard)
    assert "SystemExit" in caplog.text
    assert "two" not in caplog.text


@pytest.mark.parametrize("keys", [None, {"user", "password"}])
def test_a_key_with_none_is_one_that_is_gone(source, heard, keys):
    source.values[PATH]["more"] = None
    source.add(PATH, keys, heard)
    source.rotate(None)
    source.pass_(0.6)
    assert eventually(lambda: heard)

    source.rotate("two")
    assert eventually(lambda: len(heard) == 2)
    assert heard == [(PATH, {"user": "app"}), (PATH, {"user": "app", "password": "two"})]


def of_a_ttl_that_is_no_number(source):
    source.values[PATH]["password"], source.ttl = "two", "soon"


def of_a_value_that_is_no_string(source):
    source.values[PATH]["password"] = 5


@pytest.mark.parametrize("spoil", [of_a_ttl_that_is_no_number, of_a_value_that_is_no_string])
def test_after_an_odd_answer_a_subscription_goes_on_and_says_so_once(source, heard, caplog, spoil):
    source.add(PATH, {"password"}, heard)
    spoil(source)
    for _ in range(4):
        source.pass_()
    assert caplog.text.count("could not be read to look for changes") == 1

    source.ttl = None
    source.rotate("three")
    assert eventually(lambda: (PATH, {"password": "three"}) in heard)


def test_what_is_subscribed_while_all_is_undone_leaves_nothing(source, heard):
    class Closing(dict):
        def get(self, path, default=None):
            source.subscriptions.clear()
            return super().get(path, default)

    source.values = Closing(source.values)
    source.add(PATH, {"password"}, heard)
    source.reads.clear()
    source.pass_()

    assert source.reads == []
    assert source.followed == ()


class Threads:
    """Starts no thread while there are none, and otherwise runs a function at once."""

    def __init__(self):
        self.are_there = False

    def start(self, run):
        if not self.are_there:
            raise RuntimeError("can't start new thread")
        run()


def test_a_change_is_told_later_if_no_thread_can_be_started(source, heard, caplog):
    threads = Threads()
    courier = Courier(source.timetable, threads.start)
    courier.send(Subscriber(PATH, None, heard), ConfigData({"password": "two"}))
    source.pass_()
    threads.are_there = True
    source.pass_()

    assert heard == [(PATH, {"password": "two"})]
    assert "no thread can be started" in caplog.text


def test_a_change_is_told_at_once_after_one_for_which_no_thread_could_be_started(source, heard):
    threads = Threads()
    courier = Courier(source.timetable, threads.start)
    courier.send(Subscriber(PATH, None, Heard()), ConfigData({"password": "two"}))
    threads.are_there = True
    courier.send(Subscriber(PATH, None, heard), ConfigData({"password": "three"}))

    assert heard == [(PATH, {"password": "three"})]


def test_a_subscription_for_which_no_thread_could_be_started_can_be_made_again(heard):
    threads, started = Threads(), []
    timetable = Timetable("test", FakeClock(), lambda run: threads.start(lambda: started.append(run)))
    subscriptions = Subscriptions(lambda path, keys: ConfigData({}), interval=lambda: 60_000, timetable=timetable)
    with pytest.raises(RuntimeError):
        subscriptions.add(PATH, None, heard)
    threads.are_there = True
    subscriptions.add(PATH, None, heard)

    assert len(started) == 1


def test_a_provider_that_returns_more_than_it_was_asked_for_reports_no_change(heard):
    source = Source()
    source.subscriptions = Subscriptions(
        lambda path, keys: source.read(path, None), interval=lambda: 60_000, timetable=source.timetable
    )
    source.subscriptions.add(PATH, {"password"}, heard)
    source.pass_()

    assert heard == []


def test_after_a_fork_no_watch_is_made_without_subscriptions():
    source = Source()
    made = []
    source.subscriptions = Subscriptions(
        source.read, interval=lambda: 60_000, make_watch=lambda: made.append(1) or source
    )
    source.subscriptions.forget()
    source.subscriptions.clear()

    assert made == []
