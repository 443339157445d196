"""The pull model: a driver asks for the configuration that is current."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from uuid import uuid4

import pytest

from airflow_config_providers.core import ConfigLayer, ConfigSource
from airflow_config_providers.core.lookup import FetchOptions
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.reversal.reverse import KEPT
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ProviderUnavailableError,
    UnresolvedReferenceError,
)
from airflow_config_providers.log import installation
from airflow_config_providers.spark import configs, driver_configs, reload_on_change
from airflow_config_providers.spark.driver_configs import DriverConfigs, keep
from airflow_config_providers.testing import FakeClock, InMemoryConfigProvider
from tests.core.forks import in_child
from tests.limits import LONGEST, eventually

KEY = "spark.app.db.password"
VALUES = [f"c4nary-{number}-s3cret+value" for number in range(4)]


class Driver:
    """A driver whose secret a test rotates, and whose time it moves."""

    def __init__(self, ttl=None, kept=KEPT, value=VALUES[0]):
        self.provider = InMemoryConfigProvider({"db": {"password": value}}, ttl=ttl)
        self.clock = FakeClock(100.0)
        keep(DriverConfigs(self.resolve, self.resolve(), clock=self.clock, kept=kept))
        self.provider.calls.clear()

    def resolve(self):
        layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {KEY: "${vault:db:password}", "spark.app.name": "stream"})
        return ConfigResolver({"vault": self.provider}, options=FetchOptions(timeout=60)).resolve([layer])

    def rotate(self, number):
        self.provider.data["db"]["password"] = VALUES[number]


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture(autouse=True)
def forgotten():
    before = installation._active.reversers
    yield
    for current in driver_configs._OF_SESSION:
        for one in current._installations:
            one.uninstall()
    driver_configs._OF_SESSION.clear()
    assert installation._active.reversers == before


def test_without_a_session_there_is_nothing_to_read_again():
    with pytest.raises(ConfigException, match=r"Call session\(\) first"):
        configs()


def test_the_values_are_those_of_the_references_now(driver):
    assert configs() == {KEY: VALUES[0], "spark.app.name": "stream"}

    driver.rotate(1)
    driver.clock.sleep(10)
    assert configs()[KEY] == VALUES[1]


def test_however_often_they_are_asked_for_they_are_read_once_in_ten_seconds(driver):
    for _ in range(100):
        configs()
        driver.clock.sleep(0.25)
    assert len(driver.provider.calls) == 2


@pytest.mark.parametrize(("ttl", "seconds"), [(5_000, 5), (0, 1), (3_600_000, 10)], ids=["short", "none", "long"])
def test_they_are_read_again_when_their_ttl_is_over(ttl, seconds):
    driver = Driver(ttl)
    driver.clock.sleep(seconds - 0.01)
    configs()
    assert not driver.provider.calls
    driver.clock.sleep(0.01)
    configs()
    assert len(driver.provider.calls) == 1


def test_a_new_value_is_logged_by_its_reference_and_the_first_one_is_not(driver, caplog):
    caplog.set_level("INFO")
    driver.clock.sleep(10)
    configs()
    assert caplog.messages == []

    driver.rotate(1)
    driver.clock.sleep(10)
    configs()
    assert caplog.messages == ["${vault:db:password} has a new value."]


@pytest.mark.parametrize(
    ("value", "doubt"), [("", "is empty."), ("c4nary\n", "ends with a line end,")], ids=["empty", "line end"]
)
def test_a_doubtful_value_is_told_once_by_its_reference(caplog, value, doubt):
    driver = Driver(value=value)
    for later in (VALUES[1], value):
        driver.provider.data["db"]["password"] = later
        driver.clock.sleep(10)
        configs()

    (told,) = [one for one in caplog.messages if doubt in one]
    assert told.startswith("The value of ${vault:db:password} ")
    assert "c4nary" not in caplog.text


def test_a_doubtful_value_that_comes_later_is_told(driver, caplog):
    driver.provider.data["db"]["password"] = ""
    driver.clock.sleep(10)
    configs()

    assert "The value of ${vault:db:password} is empty." in caplog.text


def test_while_the_store_does_not_answer_the_last_values_stay(driver, caplog):
    driver.provider.error = ProviderUnavailableError("Vault is sealed.")
    driver.clock.sleep(10)
    assert configs()[KEY] == VALUES[0]
    assert "The last values stay in effect: " in caplog.text
    assert "c4nary" not in caplog.text


def test_a_refusal_is_an_error(driver):
    driver.provider.error = AccessDeniedError("The policy has changed.")
    driver.clock.sleep(10)
    with pytest.raises(AccessDeniedError):
        configs()


def test_a_refusal_is_asked_for_once_in_a_second_and_ends(driver):
    driver.provider.error = AccessDeniedError("The policy has changed.")
    driver.clock.sleep(10)
    for _ in range(20):
        with pytest.raises(AccessDeniedError, match="The policy has changed"):
            configs()
        driver.clock.sleep(0.1)
    assert len(driver.provider.calls) == 2

    driver.provider.error = None
    driver.clock.sleep(1)
    assert configs()[KEY] == VALUES[0]


def test_a_missing_value_is_an_error_until_it_is_back(driver):
    value = driver.provider.data["db"].pop("password")
    driver.clock.sleep(10)
    with pytest.raises(UnresolvedReferenceError):
        configs()

    driver.provider.data["db"]["password"] = value
    driver.clock.sleep(1)
    assert configs()[KEY] == VALUES[0]


@pytest.fixture
def hanging(monkeypatch):
    """A driver whose store hangs at each read until the test lets it go on, and whose next read is due."""
    driver, driver.goes_on, driver.reads = Driver(), threading.Event(), []

    def resolve():
        driver.reads.append(threading.current_thread())
        driver.goes_on.wait(LONGEST)
        return driver.resolve()

    monkeypatch.setattr(driver_configs, "_PATIENCE", 0.05)
    driver_configs._OF_SESSION[0]._resolve = resolve
    driver.clock.sleep(10)
    yield driver
    driver.goes_on.set()
    for thread in driver.reads:
        thread.join(LONGEST)


def go_on(hanging):
    """Let the store answer, and wait until the answer is known."""
    hanging.goes_on.set()
    hanging.reads[-1].join(LONGEST)


def test_while_the_store_hangs_the_last_values_stay_and_it_is_asked_once(hanging, caplog):
    for _ in range(5):
        assert configs()[KEY] == VALUES[0]
        hanging.clock.sleep(60)
    assert len(hanging.reads) == 1
    assert caplog.messages == ["The last values stay in effect: no answer within 0.05 seconds."]


def test_while_the_store_hangs_only_the_first_call_waits(hanging, monkeypatch):
    configs()
    monkeypatch.setattr(driver_configs, "_PATIENCE", LONGEST)

    assert configs()[KEY] == VALUES[0]
    assert not hanging.goes_on.is_set()


def test_a_late_answer_counts_from_the_next_call_on(hanging):
    configs()
    hanging.rotate(1)
    go_on(hanging)

    assert configs()[KEY] == VALUES[1]


def test_after_a_late_answer_calls_wait_again(hanging, monkeypatch):
    configs()
    go_on(hanging)
    monkeypatch.setattr(driver_configs, "_PATIENCE", LONGEST)
    hanging.rotate(1)
    hanging.clock.sleep(10)

    assert configs()[KEY] == VALUES[1]


def test_a_late_refusal_is_raised_at_the_next_call(hanging):
    configs()
    hanging.provider.error = AccessDeniedError("The policy has changed.")
    go_on(hanging)

    with pytest.raises(AccessDeniedError, match="The policy has changed"):
        configs()


def test_threads_that_ask_at_the_same_time_share_one_read(hanging, monkeypatch):
    monkeypatch.setattr(driver_configs, "_PATIENCE", LONGEST)
    hanging.rotate(1)
    found = []
    asking = [threading.Thread(target=lambda: found.append(configs()[KEY])) for _ in range(8)]
    for thread in asking:
        thread.start()
    hanging.goes_on.set()
    for thread in asking:
        thread.join(LONGEST)

    assert (found, len(hanging.reads)) == ([VALUES[1]] * 8, 1)


def test_an_error_of_somebody_else_is_raised_by_each_call(driver):
    def fail():
        raise ZeroDivisionError

    driver_configs._OF_SESSION[0]._resolve = fail
    driver.clock.sleep(10)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            configs()


def test_an_error_of_somebody_else_is_raised_again_after_a_read_that_was_not_waited_for(driver):
    def fail():
        raise ZeroDivisionError

    driver_configs._OF_SESSION[0]._waits = False
    driver_configs._OF_SESSION[0]._resolve = fail
    driver.clock.sleep(10)
    with suppress(ZeroDivisionError):  # it can still return the last values
        configs()
    assert eventually(lambda: driver_configs._OF_SESSION[0]._waits)
    with pytest.raises(ZeroDivisionError):
        configs()


def test_what_is_printed_shows_references_in_place_of_all_values_so_far(driver, capsys):
    driver.rotate(1)
    driver.clock.sleep(10)
    print("now", configs()[KEY], "before", VALUES[0])

    assert capsys.readouterr().out == "now ${vault:db:password} before ${vault:db:password}\n"


def printed_after_rotations(capsys, number):
    """Return how a driver that knows one earlier value prints the value with ``number`` after three rotations."""
    values = [uuid4().hex for _ in range(4)]  # which no other driver has had
    driver = Driver(kept=1, value=values[0])
    for value in values[1:]:
        driver.provider.data["db"]["password"] = value
        driver.clock.sleep(10)
        configs()
    print(values[number])
    return capsys.readouterr().out.replace(values[number], "the value")


@pytest.mark.parametrize("number", [0, 2, 3], ids=["first", "last", "current"])
def test_the_values_that_can_still_be_printed_are_shown_as_references(number, capsys):
    assert printed_after_rotations(capsys, number) == "${vault:db:password}\n"


def test_values_from_before_the_last_ones_are_forgotten_so_that_output_stays_fast(capsys):
    assert printed_after_rotations(capsys, 1) == "the value\n"


def value_in_a_child_forked_during_a_read():
    """Return what ``configs`` answers in a child, forked while another thread reads the secret after a rotation."""
    driver, begun, end, parent = Driver(), threading.Event(), threading.Event(), os.getpid()

    def resolve():
        if os.getpid() == parent:
            begun.set()
            end.wait(LONGEST)
        return driver.resolve()

    driver_configs._OF_SESSION[0]._resolve = resolve
    driver.rotate(1)
    driver.clock.sleep(10)
    reading = threading.Thread(target=configs)
    reading.start()
    begun.wait(LONGEST)
    value = in_child(lambda: signal.alarm(int(LONGEST)) or configs()[KEY])
    end.set()
    reading.join()
    return value


def test_a_child_that_is_forked_during_a_read_reads_by_itself():
    assert value_in_a_child_forked_during_a_read() == VALUES[1]


def test_a_child_has_the_values_of_its_parent_until_they_are_too_old(driver):
    driver.rotate(1)

    assert in_child(lambda: configs()[KEY]) == VALUES[0]


def test_the_answer_cannot_be_changed(driver):
    with pytest.raises(TypeError):
        configs()[KEY] = "other"


class Query:
    """A streaming query that runs for some rounds."""

    def __init__(self, values, rounds, each=lambda: None):
        self.values = values
        self.is_stopped = False
        self._rounds = rounds
        self._each = each

    def awaitTermination(self, timeout):  # noqa: N802 - as in PySpark
        self._rounds -= 1
        self._each()
        return self._rounds < 0

    def stop(self):
        self.is_stopped = True


def test_a_query_is_started_anew_when_a_value_has_changed(driver):
    started = []

    def pass_and_rotate():
        driver.clock.sleep(10)
        if len(started) < 3:
            driver.rotate(len(started))

    def start(values):
        started.append(Query(values, 3, pass_and_rotate))
        return started[-1]

    reload_on_change(start)
    assert [query.values[KEY] for query in started] == VALUES[:3]
    assert all(query.is_stopped for query in started)


def test_a_query_is_left_alone_while_nothing_changes(driver):
    started = []
    reload_on_change(lambda values: started.append(Query(values, 50, lambda: driver.clock.sleep(10))) or started[-1])
    assert len(started) == 1


def test_a_query_is_stopped_when_its_values_are_refused(driver):
    def refuse():
        driver.clock.sleep(10)
        driver.provider.error = AccessDeniedError("The policy has changed.")

    query = Query({}, 9, refuse)
    with pytest.raises(AccessDeniedError):
        reload_on_change(lambda values: query)
    assert query.is_stopped
