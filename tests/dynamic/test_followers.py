"""Those who follow a resource: asked before a change is written, told after; what is stored is what is in effect."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("airflow")

from airflow.models.log import Log
from sqlalchemy import select

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.reconfigurable import Reconfigurable, Reconfigurables
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import Sealed, name_of
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.dynamic.store import ConfigStore
from airflow_config_providers.exceptions import (
    ConfigException,
    PolicyViolation,
    ProviderUnavailableError,
    UnknownResourceError,
)
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.testing import FakeClock

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
OTHER_TASK = ConfigResource.of_task("flights", "other")
OTHER_DAG = ConfigResource(ResourceType.DAG, "trains")
DEFINITION = ConfigDef().define("password", ConfigType.PASSWORD, None)
CANARY = "hunter2"


class Pool(Reconfigurable):
    """Records what it is asked and notified about, and behaves as its fields say."""

    def __init__(self, name: str = "pool", keys: Sequence[str] = ("a", "password")) -> None:
        self.name, self.keys = name, keys
        self.log: list[tuple[object, ...]] = []
        self.refuses: Callable[[Mapping[str, object]], Exception | None] = lambda configs: None
        self.fails: Callable[[Mapping[str, object]], BaseException | None] = lambda configs: None
        self.when_told: Callable[[], object] = lambda: None
        self.look: Callable[[], object] = lambda: None
        self.configs: Mapping[str, object] = {}

    def reconfigurable_configs(self) -> Sequence[str]:
        return self.keys

    def validate_reconfiguration(self, configs: Mapping[str, object]) -> None:
        self.log.append(("ask", self.name, configs.get("a"), self.look()))
        if error := self.refuses(configs):
            raise error

    def reconfigure(self, configs: Mapping[str, object]) -> None:
        self.log.append(("tell", self.name, configs.get("a"), self.look()))
        self.when_told()
        if error := self.fails(configs):
            raise error
        self.configs = dict(configs)

    @property
    def told(self) -> list[object]:
        return [event[2] for event in self.log if event[0] == "tell"]

    @property
    def asked(self) -> list[object]:
        return [event[2] for event in self.log if event[0] == "ask"]


class Happening:
    """A store at which things happen before something is written."""

    def __init__(self, store: ConfigStore, *happenings: Callable[[], object]) -> None:
        self.inner, self.happenings = store, list(happenings)

    def read(self, names):
        return self.inner.read(names)

    def swap(self, expected, texts, audit):
        if self.happenings:
            self.happenings.pop(0)()
        return self.inner.swap(expected, texts, audit)


class Afterwards(Happening):
    """A store at which things happen after something was written."""

    def swap(self, expected, texts, audit):
        done = self.inner.swap(expected, texts, audit)
        if self.happenings:
            self.happenings.pop(0)()
        return done


class Policy(AlterConfigPolicy):
    """Denies one value, and counts its calls."""

    def __init__(self, denies: str = "") -> None:
        self.asked, self.denies = 0, denies

    def validate(self, request: RequestMetadata) -> None:
        self.asked += 1
        if request.configs_after.get("a", "") == self.denies:
            raise PolicyViolation("a must be another")


@pytest.fixture
def pool() -> Pool:
    return Pool()


def nothing() -> None:
    """Let nothing happen."""


def following(store: ConfigStore, *members: Reconfigurable, resource: ConfigResource = DAG) -> Reconfigurables:
    everybody = Reconfigurables(ConfigAdmin(store).settled(resource))
    for member in members:
        everybody.add(member)
    return everybody


def admin(store: ConfigStore, pool: Pool, *policies: AlterConfigPolicy, **more: object) -> ConfigAdmin:
    followers = {DAG: following(store, pool)}
    return ConfigAdmin(store, DEFINITION, policies, **{"followers": followers, "sleep": FakeClock().sleep, **more})


def set_(key: str, value: str) -> AlterConfigOp:
    return AlterConfigOp(key, value)


def stored(store: ConfigStore, resource: ConfigResource = DAG, key: str = "a") -> object:
    return ConfigAdmin(store).settled(resource).get(key)


def fails_on(value: str, error: BaseException | None = None) -> Callable[[Mapping[str, object]], BaseException | None]:
    return lambda configs: (error or OSError(CANARY)) if configs.get("a") == value else None


WAYS = [
    pytest.param(lambda one: one.incremental_alter_configs({DAG: [set_("a", "3")]}), id="incremental"),
    pytest.param(lambda one: one.alter_configs({DAG: {"a": "3"}}), id="whole"),
    pytest.param(lambda one: one.rollback(DAG), id="rollback"),
]


@pytest.fixture
def changed_twice(store) -> VariableStore:
    """A store in which ``a`` was 3 and is 2."""
    for value in ("3", "2"):
        ConfigAdmin(store).incremental_alter_configs({DAG: [set_("a", value)]})
    return store


# What they get


def test_they_get_what_counts_with_all_layers(store, pool):
    def layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
        return [
            ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"a": "conf", "b": "conf", "c": "${env:C}"}),
            ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "file", {"c": "file", "d": "file"}),
        ]

    one = admin(store, pool, followers={TASK: following(store, pool, resource=TASK)}, layers=layers)
    one.incremental_alter_configs({DEFAULT: [set_("a", "default"), set_("e", "default")], TASK: [set_("a", "task")]})

    assert pool.configs == {"a": "task", "b": "conf", "c": "${env:C}", "d": "file", "e": "default"}
    assert one.settled(TASK) == pool.configs


OVERHEAD, OLDER_OVERHEAD = "spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"


def test_they_get_what_is_set_under_an_older_name_under_the_current_one(store):
    pool = Pool(keys=[OVERHEAD])
    file = ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "file", {OVERHEAD: "1g"})
    followers = {DAG: following(store, pool)}
    one = ConfigAdmin(store, spark_definition("4.0.0"), layers=lambda resource: [file], followers=followers)

    one.incremental_alter_configs({DAG: [set_(OLDER_OVERHEAD, "4g")]})

    assert pool.configs == one.settled(DAG) == {OVERHEAD: "4g"}
    assert one.describe_configs([DAG])[DAG][OVERHEAD].value == "4g"


def test_what_is_set_under_a_name_that_is_beaten_concerns_nobody(store):
    pool = Pool(keys=[OVERHEAD])
    ConfigAdmin(store).incremental_alter_configs({DAG: [set_(OVERHEAD, "1g")]})
    followers = {DAG: following(store, pool)}

    ConfigAdmin(store, spark_definition("4.0.0"), followers=followers).incremental_alter_configs(
        {DEFAULT: [set_(OLDER_OVERHEAD, "4g")]}
    )

    assert pool.log == []


@pytest.mark.parametrize(
    ("changed", "followed", "is_told"),
    [
        (DEFAULT, DEFAULT, True),
        (DEFAULT, DAG, True),
        (DEFAULT, TASK, True),
        (DAG, DAG, True),
        (DAG, TASK, True),
        (TASK, TASK, True),
        (DAG, DEFAULT, False),
        (TASK, DAG, False),
        (OTHER_TASK, TASK, False),
        (OTHER_DAG, TASK, False),
    ],
    ids=str,
)
def test_a_change_concerns_who_follow_it_and_who_follow_what_inherits_it(store, pool, changed, followed, is_told):
    one = admin(store, pool, followers={followed: following(store, pool, resource=followed)})

    one.incremental_alter_configs({changed: [set_("a", "1")]})

    assert pool.told == (["1"] if is_told else [])


def test_what_is_beaten_by_a_stronger_layer_concerns_nobody(store, pool):
    ConfigAdmin(store).incremental_alter_configs({DAG: [set_("a", "dag")]})

    admin(store, pool).incremental_alter_configs({DEFAULT: [set_("a", "default")]})

    assert pool.log == []


def test_deleting_gives_the_next_synonym(store, pool):
    ConfigAdmin(store).incremental_alter_configs({DEFAULT: [set_("a", "default")], DAG: [set_("a", "dag")]})

    admin(store, pool).incremental_alter_configs({DAG: [AlterConfigOp("a", op=OpType.DELETE)]})

    assert pool.told == ["default"]


def test_a_sealed_secret_stays_sealed_and_who_has_the_key_opens_it(store, pool):
    encoder = PasswordEncoder("key", iterations=1000)

    admin(store, pool, seal=encoder.encode).incremental_alter_configs({DAG: [set_("password", CANARY)]})

    sealed = pool.configs["password"]
    assert isinstance(sealed, Sealed)
    assert encoder.decode(sealed.text).value == CANARY
    assert CANARY not in repr(pool.configs)


def test_another_secret_is_a_change(store, pool):
    one = admin(store, pool, seal=PasswordEncoder("key", iterations=1000).encode)
    for secret in (CANARY, "hunter3"):
        one.incremental_alter_configs({DAG: [set_("password", secret)]})

    assert [event[0] for event in pool.log] == ["ask", "tell", "ask", "tell"]


@pytest.mark.parametrize(
    ("resource", "kind"), [(ConfigResource(ResourceType.DAG), ConfigException), (TASK, UnknownResourceError)], ids=str
)
def test_what_is_not_there_has_nothing_that_counts(store, resource, kind):
    def layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
        raise UnknownResourceError(f"There is no {resource}.")

    with pytest.raises(kind):
        ConfigAdmin(store, layers=layers).settled(resource)


# Asking


def test_they_are_asked_before_it_is_written_and_told_after(store, pool):
    pool.look = lambda: stored(store)

    admin(store, pool).incremental_alter_configs({DAG: [set_("a", "1")]})

    assert pool.log == [("ask", "pool", "1", None), ("tell", "pool", "1", "1")]


@pytest.mark.parametrize("change", WAYS)
@pytest.mark.parametrize(
    "error",
    [pytest.param(ConfigException("3 is odd."), id="refuses"), pytest.param(ValueError(CANARY), id="fails")],
)
def test_who_refuses_keeps_a_change_from_being_written_whatever_way_it_comes(changed_twice, pool, change, error):
    pool.refuses = lambda configs: error
    before = ConfigAdmin(changed_twice).history(DAG)

    with pytest.raises(
        ConfigException, match=r"follower of DAG 'flights' refuses the change of .*: Pool refuses"
    ) as refused:
        change(admin(changed_twice, pool))

    assert ConfigAdmin(changed_twice).history(DAG) == before
    assert pool.told == []
    assert CANARY not in "".join(traceback.format_exception(refused.value))


def test_validating_asks_and_tells_nobody(store, pool):
    admin(store, pool).incremental_alter_configs({DAG: [set_("a", "1")]}, validate_only=True)

    assert (pool.asked, pool.told, stored(store)) == (["1"], [], None)


def test_validating_tells_who_refuses(store, pool):
    pool.refuses = lambda configs: ConfigException("1 is odd.")

    with pytest.raises(ConfigException, match="1 is odd"):
        admin(store, pool).incremental_alter_configs({DAG: [set_("a", "1")]}, validate_only=True)


def test_who_refuses_is_told_together_with_policies_that_deny(store, pool):
    pool.refuses = lambda configs: ConfigException("it is odd.")

    with pytest.raises(ConfigException) as refused:
        admin(store, pool, Policy(denies="1")).incremental_alter_configs({DAG: [set_("a", "1")]})

    denied, refusal = refused.value.problems
    assert "Policy 'Policy' denies" in denied
    assert "it is odd" in refusal


def test_what_policies_deny_is_no_part_of_what_others_are_asked(store, pool):
    pool.refuses = lambda configs: ConfigException("it is odd.") if configs.get("a") == "dag" else None

    with pytest.raises(ConfigException, match="other resources were changed: the deployment default"):
        admin(store, pool, Policy(denies="dag")).incremental_alter_configs(
            {DEFAULT: [set_("a", "default")], DAG: [set_("a", "dag")]}
        )

    assert (stored(store, DEFAULT), pool.told) == ("default", ["default"])


def test_a_refusal_concerns_what_its_followers_get_and_keeps_nothing_else_from_its_change(store, pool):
    other = Pool("other")
    pool.refuses = lambda configs: ConfigException("it is odd.")
    one = admin(
        store,
        pool,
        followers={DAG: following(store, pool), OTHER_DAG: following(store, other, resource=OTHER_DAG)},
    )

    with pytest.raises(ConfigException) as refused:
        one.incremental_alter_configs(
            {DEFAULT: [set_("a", "default")], DAG: [set_("b", "x")], OTHER_DAG: [set_("b", "x")]}
        )

    assert [problem.partition(" refuses ")[2][:30] for problem in refused.value.problems[:2]] == [
        "the change of the deployment d",
        "the change of DAG 'flights': P",
    ]
    assert refused.value.problems[2] == "The other resources were changed: DAG 'trains'."
    assert (stored(store, DEFAULT), stored(store, OTHER_DAG, "b")) == (None, "x")
    assert other.asked == ["default"], "without the default the other one is not concerned"
    assert other.told == []


def test_where_others_write_meanwhile_they_are_asked_anew(store, pool):
    def interfere() -> None:
        ConfigAdmin(store).incremental_alter_configs({DAG: [set_("b", "other")]})

    admin(Happening(store, interfere), pool).incremental_alter_configs({DAG: [set_("a", "1")]})

    assert pool.asked == ["1", "1"]
    assert pool.configs == {"a": "1", "b": "other"}


def test_a_followed_document_that_cannot_be_read_refuses_what_concerns_it(store, pool):
    followers = {DAG: following(store, pool)}
    name = name_of(DAG)
    store.swap(store.read([name]), {name: "odd"}, [])

    with pytest.raises(ConfigException, match=r"'config_providers\.dynamic\.dag\.flights' cannot be read"):
        admin(store, pool, followers=followers).incremental_alter_configs({DEFAULT: [set_("a", "1")]})

    assert stored(store, DEFAULT) is None


# Telling


@pytest.mark.parametrize("change", WAYS)
def test_who_fails_has_the_stored_change_taken_back_whatever_way_it_came(changed_twice, sessions, pool, change):
    pool.fails = fails_on("3")

    with pytest.raises(ConfigException) as failed:
        change(admin(changed_twice, pool))

    assert failed.value.problems == (
        "DAG 'flights': Pool could not be reconfigured (OSError). The old configuration stays in effect.",
        "The change of DAG 'flights' was taken back: version 4 has the previous configuration.",
    )
    assert ConfigAdmin(changed_twice).describe_configs([DAG])[DAG]["a"].value == "2"
    past = ConfigAdmin(changed_twice).history(DAG)[-1]
    assert (past.version, past.event, past.was, past.became) == (4, "take_back", {"a": "3"}, {"a": "2"})
    with sessions() as session:
        assert session.scalars(select(Log.event).order_by(Log.id)).all()[-1] == "config_providers.take_back"


def test_no_error_of_others_is_quoted(store, pool):
    pool.fails = fails_on("1")

    with pytest.raises(ConfigException) as failed:
        admin(store, pool).incremental_alter_configs({DAG: [set_("a", "1"), set_("b", CANARY)]})

    assert CANARY not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__context__ is None


def test_in_several_sets_those_told_before_go_back_the_last_first(store):
    log: list[tuple[object, ...]] = []
    pools = {DEFAULT: Pool("x"), DAG: Pool("y"), TASK: Pool("z")}
    for pool in pools.values():
        pool.log = log
    pools[TASK].fails = fails_on("1")
    followers = {resource: following(store, pool, resource=resource) for resource, pool in pools.items()}

    with pytest.raises(ConfigException, match="task 'report' of DAG 'flights': Pool could not be reconfigured"):
        admin(store, pools[DAG], followers=followers).incremental_alter_configs({DEFAULT: [set_("a", "1")]})

    told = [event[1:3] for event in log if event[0] == "tell"]
    assert told == [("x", "1"), ("y", "1"), ("z", "1"), ("y", None), ("x", None)]
    assert [members.current for members in followers.values()] == [{}, {}, {}]
    assert stored(store, DEFAULT) is None


def test_who_cannot_go_back_is_named_and_the_others_go_back(store, pool):
    stuck, broken = Pool("stuck"), Pool("broken")
    stuck.fails = lambda configs: None if "a" in configs else OSError(CANARY)
    broken.fails = fails_on("1")
    followers = {
        DEFAULT: following(store, pool, stuck, resource=DEFAULT),
        DAG: following(store, broken),
    }

    with pytest.raises(ConfigException) as failed:
        admin(store, pool, followers=followers).incremental_alter_configs({DEFAULT: [set_("a", "1")]})

    assert "the deployment default: Pool could not go back to the old configuration (OSError). Restart it." in (
        failed.value.problems
    )
    assert pool.configs == {}
    assert stored(store, DEFAULT) is None


def test_no_policy_is_asked_about_going_back(store, pool):
    policy = Policy()
    ConfigAdmin(store).incremental_alter_configs({DAG: [set_("a", "2")]})
    pool.fails = fails_on("1")

    with pytest.raises(ConfigException):
        admin(store, pool, policy).incremental_alter_configs({DAG: [set_("a", "1")]})

    assert policy.asked == 1


def test_what_nobody_follows_is_changed_all_the_same(store, pool):
    pool.fails = fails_on("1")

    with pytest.raises(ConfigException, match="other resources were changed: DAG 'trains'"):
        admin(store, pool).incremental_alter_configs(
            {DEFAULT: [set_("b", "1")], DAG: [set_("a", "1")], OTHER_DAG: [set_("a", "1")]}
        )

    assert (stored(store, DEFAULT, "b"), stored(store), stored(store, OTHER_DAG)) == (None, None, "1")


def test_a_sealed_secret_is_taken_back_as_it_was(store, pool):
    encoder = PasswordEncoder("key", iterations=1000)
    one = admin(store, pool, seal=encoder.encode)
    one.incremental_alter_configs({DAG: [set_("password", CANARY)]})
    before, pool.fails = stored(store, key="password"), fails_on("1")

    with pytest.raises(ConfigException):
        one.incremental_alter_configs({DAG: [set_("a", "1"), set_("password", "hunter3")]})

    assert stored(store, key="password") == before == pool.configs["password"]


def test_an_interruption_takes_the_change_back(store, pool):
    first = Pool("first")
    pool.fails = fails_on("1", KeyboardInterrupt())
    followers = {DEFAULT: following(store, first, resource=DEFAULT), DAG: following(store, pool)}

    with pytest.raises(KeyboardInterrupt):
        admin(store, pool, followers=followers).incremental_alter_configs({DEFAULT: [set_("a", "1")]})

    assert first.told == ["1", None]
    assert stored(store, DEFAULT) is None


# Others


def test_what_others_changed_beside_it_stays(store, pool):
    """They write into the same document, once before the change is taken back and once while it is."""
    happening = Happening(
        store,
        nothing,
        lambda: ConfigAdmin(store).incremental_alter_configs({OTHER_TASK: [set_("a", "other")]}),
    )
    pool.fails = fails_on("1")
    pool.when_told = lambda: ConfigAdmin(store).incremental_alter_configs({TASK: [set_("a", "other")]})

    with pytest.raises(ConfigException, match="DAG 'flights' was taken back: version 4 has"):
        admin(happening, pool).incremental_alter_configs({DAG: [set_("a", "1")]})

    assert [stored(store, one) for one in (DAG, TASK, OTHER_TASK)] == [None, "other", "other"]


def test_what_others_changed_on_top_of_it_is_not_taken_back_and_told(store, pool):
    pool.fails = fails_on("1")
    pool.when_told = lambda: ConfigAdmin(store).incremental_alter_configs({DAG: [set_("b", "other")]})

    with pytest.raises(ConfigException) as failed:
        admin(store, pool).incremental_alter_configs({DAG: [set_("a", "1")]})

    assert failed.value.problems[1] == (
        "Others changed DAG 'flights' meanwhile, so its change was not taken back: version 2 is stored, but the "
        "previous configuration stays in effect. Describe DAG 'flights', and decide again."
    )
    assert (stored(store), stored(store, key="b")) == ("1", "other")


@pytest.mark.parametrize("error", [ProviderUnavailableError("It is down."), OSError(CANARY)], ids=["ours", "another"])
def test_a_store_that_does_not_take_it_back_is_told(store, pool, error):
    def fail() -> None:
        raise error

    pool.fails = fails_on("1")

    with pytest.raises(ConfigException, match=r"could not be taken back .*version 1 is perhaps still stored") as failed:
        admin(Happening(store, nothing, fail), pool).incremental_alter_configs({DAG: [set_("a", "1")]})

    assert "Pool could not be reconfigured" in failed.value.problems[0]
    assert CANARY not in "".join(traceback.format_exception(failed.value))


def test_what_others_changed_elsewhere_can_be_caught_up_with(store, pool):
    members = following(store, pool)
    ConfigAdmin(store).incremental_alter_configs({DAG: [set_("a", "elsewhere")]})

    members.apply(ConfigAdmin(store).settled(DAG))

    assert pool.told == ["elsewhere"]


def test_who_changes_next_waits_until_all_are_told(store, pool):
    members = following(store, pool)
    next_one = ConfigAdmin(store, followers={DAG: members})
    other = threading.Thread(target=next_one.incremental_alter_configs, args=({DAG: [set_("a", "2")]},))

    def start() -> None:
        other.start()
        other.join(timeout=0.3)

    one = ConfigAdmin(Afterwards(store, start), followers={DAG: members})
    one.incremental_alter_configs({DAG: [set_("a", "1")]})
    other.join()

    assert pool.told == ["1", "2"]


def test_changes_of_several_threads_leave_in_effect_what_is_stored(store, pool):
    members = following(store, pool)
    pool.fails = lambda configs: OSError() if int(str(configs.get("a", 1))) % 3 == 0 else None

    def change(number: int) -> bool:
        try:
            ConfigAdmin(store, followers={DAG: members}).incremental_alter_configs({DAG: [set_("a", str(number))]})
        except ConfigException:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(change, range(1, 25)))

    assert done == [number % 3 != 0 for number in range(1, 25)]
    assert pool.configs == members.current == ConfigAdmin(store).settled(DAG)
    assert len(ConfigAdmin(store).history(DAG)) == 24 + 8


def test_a_change_from_within_is_refused_and_nothing_of_it_written(store, pool):
    members = following(store, pool)
    one = admin(store, pool, followers={DAG: members})
    pool.when_told = lambda: one.incremental_alter_configs({DEFAULT: [set_("b", "within")]})

    with pytest.raises(ConfigException, match="is being applied"):
        one.incremental_alter_configs({DAG: [set_("a", "1")]})

    assert (stored(store), stored(store, DEFAULT, "b")) == (None, None)


# Who may follow


def test_one_set_follows_one_resource(store, pool):
    members = following(store, pool)

    with pytest.raises(ConfigException, match="follows two resources"):
        ConfigAdmin(store, followers={DAG: members, TASK: members})


def test_what_is_no_resource_is_not_followed(store, pool):
    with pytest.raises(ConfigException, match="A DAG is named by its id"):
        ConfigAdmin(store, followers={ConfigResource(ResourceType.DAG): following(store, pool)})


# Keys that never change


class OfTheDeployment(Pool):
    def __init__(self, key: str) -> None:
        super().__init__(keys=[key])


@pytest.mark.parametrize("key", ["spark.master", "config.providers"])
def test_who_follows_a_key_that_is_not_dynamic_is_refused(store, key):
    members = Reconfigurables({})
    ConfigAdmin(store, spark_definition(), followers={DAG: members})

    with pytest.raises(ConfigException, match=f"OfTheDeployment cannot follow '{key}', which is not dynamic"):
        members.add(OfTheDeployment(key))


def test_who_follows_an_older_name_is_refused_with_the_current_one(store):
    members = Reconfigurables({})
    members.add(Pool(keys=[OLDER_OVERHEAD]))

    with pytest.raises(ConfigException, match=f"Pool cannot follow '{OLDER_OVERHEAD}', an older name of '{OVERHEAD}'"):
        ConfigAdmin(store, spark_definition("4.0.0"), followers={DAG: members})


def test_who_follows_a_key_that_an_admin_calls_read_only_is_refused_by_that(store):
    members = Reconfigurables({})
    members.add(OfTheDeployment("spark.master"))

    with pytest.raises(ConfigException, match=r"cannot follow 'spark\.master'"):
        ConfigAdmin(store, spark_definition(), followers={DAG: members})
