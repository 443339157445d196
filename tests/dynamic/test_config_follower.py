"""Followers notice changes by other processes, which another ``ConfigAdmin`` on the same store replaces here."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.concurrency.timetable import Timetable
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.reconfigurable import Reconfigurable, Reconfigurables
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import DEPLOYMENT, Document, name_of, read, write
from airflow_config_providers.dynamic.followers import ConfigFollower, Followers
from airflow_config_providers.dynamic.inheritance import inherited, settled
from airflow_config_providers.dynamic.store import ReadOnlyStore
from airflow_config_providers.exceptions import ConfigException, ForbiddenError, ProviderUnavailableError
from airflow_config_providers.testing import FakeClock, InMemoryConfigStore
from tests.limits import eventually

DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
OTHER_TASK = ConfigResource.of_task("flights", "other")
OTHER_DAG = ConfigResource(ResourceType.DAG, "trains")
REFERENCE = "${vault:db:password}"
CANARY = "hunter2"


class Pool(Reconfigurable):
    """Remembers its calls, and behaves as its fields say."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.refuses: Callable[[], Exception | None] = lambda: None
        self.fails: Callable[[], Exception | None] = lambda: None
        self.when_told: Callable[[], object] = lambda: None

    def reconfigurable_configs(self) -> Sequence[str]:
        return ["a", "password"]

    def validate_reconfiguration(self, configs: Mapping[str, object]) -> None:
        if error := self.refuses():
            raise error

    def reconfigure(self, configs: Mapping[str, object]) -> None:
        self.when_told()
        if error := self.fails():
            raise error
        self.told.append(configs.get("a"))


class CountingStore(InMemoryConfigStore):
    """Notes the names of each request, and fails while it is away."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[set[str]] = []
        self.is_away = False
        self.after_read: Callable[[], object] | None = None

    def read(self, names):
        self.requests.append(set(names))
        if self.is_away:
            raise ProviderUnavailableError("The store is away.")
        found = super().read(names)
        if happening := self.after_read:
            self.after_read = None
            happening()
        return found


class SignallingStore(InMemoryConfigStore):
    """Sends a signal when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.signal: Callable[[], object] | None = None

    def listen(self, call: Callable[[], object]) -> SignallingStore:
        self.signal = call
        return self

    def close(self) -> None:
        self.signal = None


class Process:
    """A process that follows resources, in time that a test lets pass."""

    def __init__(self, store: InMemoryConfigStore, *resources: ConfigResource, fetch=None) -> None:
        self.clock = FakeClock()
        self.timetable = Timetable("test", self.clock, start=lambda run: None)
        self.pools = {resource: Pool() for resource in resources}
        self.sets = {resource: Reconfigurables({}) for resource in resources}
        for resource, pool in self.pools.items():
            self.sets[resource].add(pool)
        self.admin = ConfigAdmin(store, followers=self.sets)
        self.follower = ConfigFollower(
            store,
            Followers(self.sets),
            lambda resource, snapshot: settled(
                {one: snapshot.config(one) for one in inherited(resource)}, [], ConfigDef()
            ),
            fetch=fetch,
            timetable=self.timetable,
        )
        self.timetable.run_due()

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.timetable.run_due()

    def told(self, resource: ConfigResource = DAG) -> list[object]:
        return self.pools[resource].told


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def elsewhere(store: CountingStore) -> ConfigAdmin:
    return ConfigAdmin(store)


def alter(admin: ConfigAdmin, resource: ConfigResource = DAG, **values: str) -> None:
    admin.incremental_alter_configs({resource: [AlterConfigOp(key, value) for key, value in values.items()]})


# What they are told


@pytest.mark.parametrize("changed", [TASK, DAG, DEPLOYMENT], ids=str)
def test_a_change_elsewhere_reaches_who_follows_the_resource_or_inherits_from_it(store, elsewhere, changed):
    process = Process(store, TASK)

    alter(elsewhere, changed, a="1")
    process.sleep(10)

    assert process.told(TASK) == ["1"]
    assert process.sets[TASK].current["a"] == "1"


def test_a_signal_of_the_store_is_followed_within_a_second():
    store = SignallingStore()
    process = Process(store, DAG)
    alter(ConfigAdmin(store), a="1")
    process.sleep(1)
    assert process.told() == []

    store.signal()
    process.sleep(1)

    assert process.told() == ["1"]


def test_signals_end_with_the_follower():
    store = SignallingStore()
    process = Process(store, DAG)
    process.follower.close()

    assert store.signal is None


def test_a_follower_that_gets_no_signals_because_of_an_error_leaves_nothing_that_polls():
    class Away(SignallingStore):
        def listen(self, call: Callable[[], object]) -> SignallingStore:
            raise ProviderUnavailableError("down")

    members, polled = Reconfigurables({}), []
    members.add(Pool())
    clock = FakeClock()
    timetable = Timetable("test", clock, start=lambda run: None)
    with pytest.raises(ProviderUnavailableError):
        ConfigFollower(
            Away(), Followers({DAG: members}), lambda *asked: polled.append(asked) or {}, timetable=timetable
        )
    timetable.run_due()

    assert polled == []


def test_what_was_changed_before_they_followed_reaches_them_at_once(store, elsewhere):
    alter(elsewhere, a="1")

    assert Process(store, DAG).told() == ["1"]


@pytest.mark.parametrize("changed", [OTHER_DAG, OTHER_TASK], ids=str)
def test_a_change_of_another_resource_is_no_news(store, elsewhere, changed):
    process = Process(store, TASK)

    alter(elsewhere, changed, a="1")
    process.sleep(10)

    assert process.told(TASK) == []


def test_a_burst_of_changes_is_one_application_of_the_newest(store, elsewhere):
    process = Process(store, DAG)

    for number in "123":
        alter(elsewhere, a=number)
    process.sleep(10)
    process.sleep(10)

    assert process.told() == ["3"]


def test_a_change_by_this_process_is_not_applied_twice(store):
    process = Process(store, DAG, fetch=lambda texts: {key: f"value of {text}" for key, text in texts.items()})

    for number in "12":
        alter(process.admin, a=number, password=f"${{vault:db:{number}}}")
        process.sleep(10)
        process.sleep(10)

    assert process.told() == ["1", "2"]


def test_an_older_configuration_never_follows_a_newer_one_of_this_process(store, elsewhere):
    process = Process(store, DAG)
    alter(elsewhere, a="1")
    store.after_read = lambda: alter(process.admin, a="2")

    process.sleep(10)

    assert process.told() == ["2"]


def test_all_that_a_process_follows_is_one_request_each_time(store):
    process = Process(store, DAG, TASK, OTHER_DAG)
    process.sleep(0)
    store.requests.clear()

    for _ in range(6):
        process.sleep(10)

    names = {name_of(resource) for resource in (DEPLOYMENT, DAG, OTHER_DAG)}
    assert store.requests == [names] * 6


def test_they_are_told_within_the_interval(store, elsewhere):
    process = Process(store, DAG)
    for _ in range(50):
        process.sleep(10)
        before = len(process.told())
        alter(elsewhere, a=str(before))
        process.sleep(10)
        assert len(process.told()) == before + 1


# Failures


def test_one_change_that_a_follower_refuses_reaches_none_of_those_that_it_concerns(store, elsewhere, caplog):
    process = Process(store, DAG, OTHER_DAG)
    process.pools[OTHER_DAG].refuses = lambda: ConfigException("1 is odd.")

    alter(elsewhere, DEPLOYMENT, a="1")
    process.sleep(10)

    assert process.told(DAG) == process.told(OTHER_DAG) == []
    assert "DAG 'trains': Pool refuses the configuration (1 is odd.)" in caplog.text


def test_of_two_changes_one_that_is_refused_keeps_the_other_from_nobody(store, elsewhere):
    process = Process(store, DAG, OTHER_DAG)
    process.pools[OTHER_DAG].refuses = lambda: ConfigException("1 is odd.")

    alter(elsewhere, DAG, a="1")
    alter(elsewhere, OTHER_DAG, a="1")
    process.sleep(10)

    assert (process.told(DAG), process.told(OTHER_DAG)) == (["1"], [])


def test_if_one_fails_all_have_the_old_configuration(store, elsewhere, caplog):
    alter(elsewhere, DEPLOYMENT, a="0")
    process = Process(store, DAG, OTHER_DAG)
    process.pools[OTHER_DAG].fails = lambda: OSError(CANARY)

    alter(elsewhere, DEPLOYMENT, a="1")
    process.sleep(10)

    assert process.told(DAG) == ["0", "1", "0"]
    assert {members.current["a"] for members in process.sets.values()} == {"0"}
    assert "Pool could not be reconfigured (OSError)" in caplog.text
    assert CANARY not in caplog.text


def test_what_failed_is_tried_again_at_the_next_change_and_is_not_lost(store, elsewhere):
    process = Process(store, DAG)
    process.pools[DAG].fails = OSError
    alter(elsewhere, a="1")
    process.sleep(10)
    process.pools[DAG].fails = lambda: None

    process.sleep(10)
    assert process.told() == []

    alter(elsewhere, unrelated="x")
    process.sleep(10)
    assert process.told() == ["1"]


def test_a_store_that_is_away_is_asked_again_and_complained_about_once(store, elsewhere, caplog):
    process = Process(store, DAG)
    alter(elsewhere, a="1")
    store.is_away = True
    for _ in range(3):
        process.sleep(10)
    store.is_away = False

    process.sleep(10)

    assert process.told() == ["1"]
    assert caplog.text.count("The store is away.") == 1


def test_a_store_that_is_away_again_is_complained_about_again(store, elsewhere, caplog):
    process = Process(store, DAG)
    for is_away in (True, False, True):
        store.is_away = is_away
        process.sleep(10)

    assert caplog.text.count("The store is away.") == 2


def test_a_document_that_cannot_be_read_keeps_no_other_resource_back(store, elsewhere, caplog):
    process = Process(store, DAG, OTHER_DAG)
    store.texts[name_of(DAG)] = "odd"

    alter(elsewhere, OTHER_DAG, a="1")
    process.sleep(10)

    assert process.told(OTHER_DAG) == ["1"]
    assert f"'{name_of(DAG)}' cannot be read" in caplog.text


def test_a_member_that_asks_for_the_turn_is_refused_and_not_stuck(store, elsewhere):
    process = Process(store, DAG)
    process.pools[DAG].when_told = lambda: alter(process.admin, b="2")

    alter(elsewhere, a="1")
    with pytest.raises(ConfigException, match="could not be reconfigured"):
        process.follower.catch_up()


# References whose values change (KIP-421)


@pytest.fixture
def secrets() -> dict[str, str]:
    return {REFERENCE: "old"}


@pytest.fixture
def process(store, elsewhere, secrets) -> Process:
    alter(elsewhere, a="1", password=REFERENCE, other="${vault:other:key}")
    process = Process(store, DAG, fetch=lambda texts: {key: secrets[text] for key, text in texts.items()})
    process.told().clear()
    return process


@pytest.mark.parametrize("resource", [DAG, DEPLOYMENT], ids=str)
def test_a_refresh_tells_those_whose_values_differ(process, elsewhere, secrets, resource):
    secrets[REFERENCE] = "new"

    elsewhere.refresh([resource])
    process.sleep(10)

    assert process.told() == ["1"]


def test_a_refresh_that_finds_equal_values_tells_nobody(process, elsewhere):
    elsewhere.refresh([DAG])
    process.sleep(10)

    assert process.told() == []


def test_values_are_not_read_again_without_a_change(process, secrets):
    secrets[REFERENCE] = "new"

    process.sleep(10)

    assert process.told() == []


def test_an_alter_that_changes_nothing_in_the_text_tells_those_whose_values_differ(store, process, elsewhere, secrets):
    secrets[REFERENCE] = "new"

    alter(elsewhere, password=REFERENCE)
    process.sleep(10)

    assert process.told() == ["1"]
    assert [entry.event for entry in store.audit] == ["alter", "refresh"]


def test_an_alter_of_another_key_tells_those_whose_values_differ(process, elsewhere, secrets):
    secrets[REFERENCE] = "new"

    alter(elsewhere, unrelated="x")
    process.sleep(10)

    assert process.told() == ["1"]


def test_another_text_is_told_once_and_not_as_another_value_too(process, elsewhere, secrets):
    secrets["${vault:db:second}"] = "second"

    alter(elsewhere, password="${vault:db:second}")
    process.sleep(10)
    process.sleep(10)

    assert process.told() == ["1"]


def test_values_that_cannot_be_read_now_are_read_at_the_next_time(process, elsewhere, secrets, caplog):
    del secrets[REFERENCE]
    elsewhere.refresh([DAG])
    process.sleep(10)
    assert process.told() == []

    secrets[REFERENCE] = "new"
    process.sleep(10)

    assert process.told() == ["1"]
    assert "the values of its references cannot be read (KeyError)" in caplog.text


def test_an_administrator_has_values_read_by_the_function_that_it_is_given(store, elsewhere):
    members, asked = Reconfigurables({}), []
    members.add(Pool())

    def fetch(texts: Mapping[str, str]) -> Mapping[str, str]:
        asked.append(dict(texts))
        return texts

    with ConfigAdmin(store, followers={DAG: members}).follow(interval=3600, fetch=fetch) as follower:
        elsewhere.incremental_alter_configs({DAG: [AlterConfigOp("a", "${vault:a:b}")]})
        follower.catch_up()

    assert asked[-1] == {"a": "${vault:a:b}"}


def test_a_refresh_that_a_follower_could_not_take_is_not_lost(process, elsewhere, secrets):
    process.pools[DAG].fails = OSError
    secrets[REFERENCE] = "new"
    elsewhere.refresh([DAG])
    process.sleep(10)
    process.pools[DAG].fails = lambda: None

    elsewhere.refresh([DAG])
    process.sleep(10)

    assert process.told() == ["1"]


def test_without_a_way_to_read_values_a_refresh_tells_all_with_references(store, elsewhere):
    alter(elsewhere, a="1", password=REFERENCE)
    alter(elsewhere, OTHER_DAG, a="2")
    process = Process(store, DAG, OTHER_DAG)

    elsewhere.refresh([DAG, OTHER_DAG])
    process.sleep(10)

    assert (process.told(DAG), process.told(OTHER_DAG)) == (["1", "1"], ["2"])


def test_values_are_in_no_log_and_in_no_field(process, elsewhere, secrets, caplog):
    secrets[REFERENCE] = CANARY
    process.pools[DAG].refuses = lambda: ValueError(CANARY)
    with caplog.at_level(logging.DEBUG):
        elsewhere.refresh([DAG])
        process.sleep(10)

    assert "Pool refuses the configuration (ValueError)" in caplog.text
    assert CANARY not in caplog.text + repr(vars(process.follower))


# Threads and processes


@pytest.fixture
def following(store) -> Iterator[tuple[ConfigFollower, Pool]]:
    members, pool = Reconfigurables({}), Pool()
    members.add(pool)
    with ConfigAdmin(store, followers={DAG: members}).follow(interval=0.02) as follower:
        yield follower, pool


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "config-follower"]


def test_a_thread_tells_them(elsewhere, following):
    alter(elsewhere, a="1")

    assert eventually(lambda: following[1].told == ["1"])


def test_close_ends_the_thread(elsewhere, following):
    follower, pool = following
    follower.close()
    assert eventually(lambda: not threads())

    alter(elsewhere, a="1")
    follower.catch_up()

    assert pool.told == []


def test_without_followers_there_is_no_thread(elsewhere):
    with elsewhere.follow(interval=0.02):
        assert threads() == []


@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_tells_nobody_and_is_not_stuck(store, elsewhere, following):
    follower, pool = following
    inside, leave = threading.Event(), threading.Event()
    pool.when_told = lambda: (inside.set(), leave.wait(10))
    alter(elsewhere, a="1")
    assert inside.wait(10)

    child = os.fork()
    if not child:
        os._exit(_result_in_child(follower, elsewhere))
    leave.set()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _result_in_child(follower: ConfigFollower, admin: ConfigAdmin) -> int:
    alive = threads()
    follower.catch_up()
    follower.close()
    return len(alive)


# Marks


def test_a_refresh_is_audited_and_is_no_version_to_return_to(store, elsewhere):
    alter(elsewhere, a="1")
    alter(elsewhere, a="2")

    assert elsewhere.refresh([DAG]) == {DAG: 3}

    assert [(entry.event, entry.dag_id) for entry in store.audit][-1] == ("refresh", "flights")
    assert [change.version for change in elsewhere.history(DAG)] == [1, 2]
    elsewhere.incremental_alter_configs({DAG: [AlterConfigOp("a", "3")]}, if_version={DAG: 2})
    assert elsewhere.rollback(DAG).entries["a"].value == "2"


def test_a_refresh_of_what_nothing_was_ever_set_for_is_marked(store, elsewhere):
    elsewhere.refresh([TASK])

    assert read(store.texts[name_of(DAG)], name=name_of(DAG)).config(TASK).refreshed == 1
    assert read(store.texts[name_of(DEPLOYMENT)], name=name_of(DEPLOYMENT)).lists(name_of(DAG))


def test_a_refresh_stays_beside_a_change_and_where_there_is_none_nothing_is_written():
    document = Document().changed({DAG: {"a": "1"}})
    assert "refreshed" not in write(document)

    refreshed = document.changed({}, [DAG]).changed({DAG: {"a": "2"}})

    config = read(write(refreshed), name="x").config(DAG)
    assert (config.version, config.refreshed) == (3, 2)


def test_a_request_that_only_validates_or_rolls_back_to_the_same_refreshes_nothing(store, elsewhere):
    alter(elsewhere, password=REFERENCE)
    texts = dict(store.texts)

    elsewhere.incremental_alter_configs({DAG: [AlterConfigOp("password", REFERENCE)]}, validate_only=True)
    elsewhere.rollback(DAG, 1)

    assert store.texts == texts


# Reading without writing


def test_a_process_that_can_only_read_follows_too(store, elsewhere):
    process = Process(ReadOnlyStore(store.texts.get), DAG)

    alter(elsewhere, a="1")
    process.sleep(10)

    assert process.told() == ["1"]


def test_documents_that_do_not_belong_together_are_read_again(store, elsewhere):
    """The deployment's document is read first, and then both are written together."""
    alter(elsewhere, DEPLOYMENT, a="0")
    old = store.texts[name_of(DEPLOYMENT)]
    elsewhere.incremental_alter_configs({DEPLOYMENT: [AlterConfigOp("a", "1")], DAG: [AlterConfigOp("b", "1")]})
    seen = {**store.texts, name_of(DEPLOYMENT): old}

    process = Process(ReadOnlyStore(seen.get), DAG)
    assert process.told() == []

    seen.update(store.texts)
    process.sleep(10)
    assert process.told() == ["1"]


def test_a_process_that_can_only_read_changes_nothing(store):
    with pytest.raises(ForbiddenError, match="can only read"):
        alter(ConfigAdmin(ReadOnlyStore(store.texts.get)), a="1")
