"""Describing and altering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef, Importance
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.definition.validators import Range
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import AlterConfigPolicy, Enforcement, NamedPolicy, RequestMetadata
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import name_of
from airflow_config_providers.dynamic.history import MOST_CHANGES
from airflow_config_providers.dynamic.writer import ChangeAuthor
from airflow_config_providers.exceptions import (
    ConfigException,
    LimitExceededError,
    PolicyViolation,
    ProviderUnavailableError,
    ReservedKeyError,
    StaleVersionError,
    UnknownResourceError,
)
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.testing import FakeClock, InMemoryConfigStore
from tests.calls import events_of

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")

DEFINITION = (
    ConfigDef()
    .define("cores", ConfigType.INT, 1, Range.at_least(1), Importance.HIGH, "How many.")
    .define("jars", ConfigType.LIST, "base.jar")
    .define("password", ConfigType.PASSWORD, None)
)


@pytest.fixture
def store() -> InMemoryConfigStore:
    return InMemoryConfigStore()


def admin(store: InMemoryConfigStore, *policies: AlterConfigPolicy | NamedPolicy, **more: object) -> ConfigAdmin:
    return ConfigAdmin(
        store, DEFINITION, policies, author=ChangeAuthor("ann", lambda: "2026-01-01T00:00:00+00:00"), **more
    )


def set_(name: str, value: str | None) -> AlterConfigOp:
    return AlterConfigOp(name, value)


@pytest.mark.parametrize(("key", "text"), [("k" * 1001, "x"), ("big", "x" * 65_537)], ids=["key", "value"])
def test_what_is_too_long_is_refused_without_the_checks_that_take_long(store, key, text):
    asked: list[Mapping[str, str]] = []
    before = after = None

    def objections(_, texts, now, then):
        nonlocal before, after
        asked.append(dict(texts))
        before, after = (list(layers(DAG)[0].configs) for layers in (now, then))
        return {"small": ["No."]}

    with pytest.raises(ConfigException) as error:
        admin(store, objections=objections).incremental_alter_configs({DAG: [set_(key, text), set_("small", "y")]})

    assert asked == [{"small": "y"}]
    assert (before, after) == ([], ["small"])
    assert [problem.rpartition(" ")[2] for problem in error.value.problems if "No." in problem] == ["No."]
    assert len(error.value.problems) == 2


def delete(name: str) -> AlterConfigOp:
    return AlterConfigOp(name, None, OpType.DELETE)


def of_task(resource: ConfigResource) -> Sequence[ConfigLayer]:
    if resource.task_id == "repor":
        raise UnknownResourceError("DAG 'flights' has no task 'repor', did you mean 'report'?")
    return [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"cores": "2"})]


class Policy(AlterConfigPolicy):
    """Denies what a function denies, and keeps what it was asked."""

    def __init__(self, denies: Mapping[str, str] | None = None, error: Exception | None = None) -> None:
        self.requests: list[RequestMetadata] = []
        self._denies = denies or {}
        self._error = error

    def validate(self, request: RequestMetadata) -> None:
        self.requests.append(request)
        if self._error:
            raise self._error
        for key, value in self._denies.items():
            if request.configs_after.get(key) == value:
                raise PolicyViolation(f"{key} must not be {value}")


def calls(do) -> int:
    """Count the Python functions that ``do`` calls."""
    return events_of(do).count("call")


def change_many(number: int, *, are_followed: bool = False) -> int:
    """Change as many tasks, ten to a DAG, in one request; return how many functions that calls."""
    resources = [ConfigResource.of_task(f"dag{place // 10}", f"task{place}") for place in range(number)]
    members = {resource: Reconfigurables({}) for resource in resources if are_followed}
    one = admin(InMemoryConfigStore(), followers=members)
    return calls(lambda: one.incremental_alter_configs({resource: [set_("cores", "6")] for resource in resources}))


# Describing


def test_every_layer_of_a_task_is_described(store):
    changes = {DEFAULT: [set_("cores", "4")], DAG: [set_("cores", "5")], TASK: [set_("cores", "6")]}
    admin(store).incremental_alter_configs(changes)

    entry = admin(store, layers=of_task).describe_configs([TASK], include_synonyms=True)[TASK]["cores"]

    assert (entry.value, entry.source, entry.type, entry.documentation) == (
        "6",
        ConfigSource.DYNAMIC_TASK_CONFIG,
        "INT",
        "How many.",
    )
    assert [(synonym.value, synonym.source.name, synonym.origin) for synonym in entry.synonyms] == [
        ("6", "DYNAMIC_TASK_CONFIG", "dynamic configuration of task 'report' of DAG 'flights', version 1"),
        ("5", "DYNAMIC_DAG_CONFIG", "dynamic configuration of DAG 'flights', version 1"),
        ("4", "DYNAMIC_DEFAULT_CONFIG", "dynamic configuration of the deployment default, version 1"),
        ("2", "DAG_CONFIG", "conf"),
        ("1", "DEFAULT_CONFIG", "default"),
    ]


def test_keys_that_have_only_their_default_can_be_left_out(store):
    one = admin(store)
    one.incremental_alter_configs({TASK: [set_("cores", "6")]})

    assert list(one.describe_configs([TASK], include_defaults=False)[TASK]) == ["cores"]


def test_synonyms_are_left_out_where_nobody_asks_for_them(store):
    entry = admin(store).describe_configs([TASK])[TASK]["cores"]

    assert (entry.value, entry.source, entry.synonyms) == ("1", ConfigSource.DEFAULT_CONFIG, ())


@pytest.mark.parametrize(
    ("key", "origin"),
    [
        pytest.param("cores", "dynamic configuration of task 'report' of DAG 'flights', version 1", id="a layer"),
        pytest.param("jars", "default", id="the default"),
    ],
)
def test_an_entry_without_synonyms_says_where_its_value_was_written(store, key, origin):
    admin(store).incremental_alter_configs({TASK: [set_("cores", "6")]})

    entry = admin(store).describe_configs([TASK])[TASK][key]

    assert (entry.origin, entry.synonyms) == (origin, ())


def test_a_task_does_not_see_what_another_task_has(store):
    admin(store).incremental_alter_configs({ConfigResource.of_task("flights", "other"): [set_("cores", "9")]})

    assert admin(store).describe_configs([TASK])[TASK]["cores"].value == "1"


def test_a_task_that_is_not_there_is_told(store):
    with pytest.raises(ConfigException, match="did you mean 'report'"):
        admin(store, layers=of_task).describe_configs([ConfigResource.of_task("flights", "repor")])


# Altering


def test_deleting_tells_what_counts_now(store):
    one = admin(store, layers=of_task)
    one.incremental_alter_configs({TASK: [set_("cores", "6"), set_("own", "x")]})

    result = one.incremental_alter_configs({TASK: [delete("cores"), delete("own")]})[TASK]

    assert {key: entry and (entry.value, entry.source.name) for key, entry in result.entries.items()} == {
        "cores": ("2", "DAG_CONFIG"),
        "own": None,
    }


def test_appending_begins_with_the_default_and_not_with_another_layer(store):
    one = admin(store)
    one.incremental_alter_configs({DEFAULT: [set_("jars", "other.jar")]})
    one.incremental_alter_configs({DAG: [AlterConfigOp("jars", "mine.jar", OpType.APPEND)]})

    assert one.describe_configs([DAG])[DAG]["jars"].value == "base.jar,mine.jar"


def test_the_whole_of_a_resource_is_replaced(store):
    one = admin(store)
    one.alter_configs({DAG: {"cores": "2", "own": "x"}})
    one.alter_configs({DAG: {"cores": "3"}})

    entries = one.describe_configs([DAG])[DAG]
    assert entries["cores"].value == "3"
    assert "own" not in entries


REFUSED = [
    pytest.param([set_("cores", "many")], ConfigException, "Not a number", id="a wrong type"),
    pytest.param([set_("cores", "0")], ConfigException, "at least 1", id="out of range"),
    pytest.param([set_("cores", None)], ConfigException, "there is no value", id="no value"),
    pytest.param([set_("cores", "1"), delete("cores")], ConfigException, "changed 2 times", id="twice"),
    pytest.param([AlterConfigOp("cores", "1", OpType.APPEND)], ConfigException, "needs a list", id="no list"),
    pytest.param(
        [AlterConfigOp("jars", "x" * 65_537, OpType.SUBTRACT)], ConfigException, "65536 are", id="a long list"
    ),
    pytest.param([AlterConfigOp("odd", "1", OpType.SUBTRACT)], ConfigException, "needs a list", id="unknown, no list"),
    pytest.param([set_("config.providers", "x")], ReservedKeyError, "belong to the deployment", id="reserved"),
    pytest.param([set_("config.providers.x.class", "x")], ReservedKeyError, "belong to", id="reserved, below"),
    pytest.param([set_("", "x")], ConfigException, "not be empty", id="an empty key"),
    pytest.param([set_("a\nb", "x")], ConfigException, "control characters", id="a key of two lines"),
    pytest.param([set_("${a:b}", "x")], ConfigException, "cannot contain a reference", id="a reference as a key"),
    pytest.param([set_("k", "\ud800")], ConfigException, "half of a surrogate pair", id="a value that is no text"),
    pytest.param([set_("k", "x" * 70_000)], ConfigException, "but the limit is", id="a long value"),
    pytest.param([set_(f"k{n}", "x" * 60_000) for n in range(20)], ConfigException, "characters", id="too much"),
    pytest.param(
        [set_("password", "[hidden]")], ConfigException, "only replaces a secret", id="what is shown of a secret"
    ),
    pytest.param([set_("password", "hunter2")], ConfigException, "cannot encrypt", id="a secret, and no key for it"),
]


@pytest.mark.parametrize(("operations", "kind", "words"), REFUSED)
def test_what_is_wrong_is_refused_and_nothing_changes(store, operations, kind, words):
    admin(store).incremental_alter_configs({DAG: [set_("cores", "3")]})
    before = dict(store.texts)

    with pytest.raises(kind, match=words) as refused:
        admin(store).incremental_alter_configs({DAG: operations})

    assert store.texts == before
    assert "hunter2" not in str(refused.value)


def test_values_and_resources_that_reach_the_limits_are_stored(store):
    values = {f"k{n:02}": "x" * 65_536 for n in range(15)}  # with the last one 1,048,576 characters, also of keys
    values["k" * 1000] = "x" * (1_048_576 - 15 * 65_539 - 1000)
    one = admin(store)
    one.alter_configs({DAG: values})

    with pytest.raises(ConfigException, match=r"1048577 characters, but the limit is 1048576\."):
        one.incremental_alter_configs({DAG: [set_("k", "")]})

    assert len(one.describe_configs([DAG])[DAG]) >= len(values)


def test_policies_are_not_asked_about_a_change_of_which_nothing_is_valid(store):
    policy = Policy()
    with pytest.raises(ConfigException, match="Not a number"):
        admin(store, policy).incremental_alter_configs({DAG: [set_("cores", "many")]})

    assert policy.requests == []


def test_an_empty_value_is_no_secret_and_needs_no_key(store):
    one = admin(store)
    one.incremental_alter_configs({DAG: [set_("password", "")]})

    assert one.describe_configs([DAG])[DAG]["password"].value == ""


HALF = "\ud800"
NO_NAMES = [
    pytest.param(ConfigResource(ResourceType.DAG, HALF), id="DAG"),
    pytest.param(ConfigResource(ResourceType.DAG, HALF * 300), id="DAG, long"),
    pytest.param(ConfigResource.of_task("flights", HALF), id="task"),
    pytest.param(ConfigResource.of_task(HALF * 300, "job"), id="task, long"),
]


@pytest.mark.parametrize("resource", NO_NAMES)
def test_half_of_a_surrogate_pair_is_in_no_name(store, resource):
    one = admin(store)
    asked = [
        lambda: one.describe_configs([resource]),
        lambda: one.settled(resource),
        lambda: one.incremental_alter_configs({resource: [set_("cores", "1")]}),
        lambda: one.refresh([resource]),
        lambda: one.history(resource),
        lambda: one.rollback(resource),
    ]
    for ask in asked:
        with pytest.raises(ConfigException, match="holds half of a surrogate pair"):
            ask()


def many(count):
    return [set_(f"k{n}", "x") for n in range(count)]


def test_a_thousand_operations_are_carried_out(store):
    one = admin(store)

    assert len(one.incremental_alter_configs({DAG: many(1000)})[DAG].entries) == 1000
    assert len(one.alter_configs({DAG: {}})[DAG].entries) == 1000


def test_more_operations_than_a_thousand_are_refused_and_keep_no_other_resource_from_its_change(store):
    one, other = admin(store), ConfigResource(ResourceType.DAG, "other")
    with pytest.raises(LimitExceededError, match="1001 operations in one request, but the limit is 1000"):
        one.incremental_alter_configs({DAG: many(1001), other: [set_("own", "x")]})

    assert "k1" not in one.describe_configs([DAG])[DAG]
    assert one.describe_configs([other])[other]["own"].value == "x"


def test_what_a_replacement_sets_anew_counts_and_what_it_leaves_or_deletes_does_not(store):
    one = admin(store)
    kept = {f"k{n}": "x" for n in range(1500)}
    one.alter_configs({DAG: dict(list(kept.items())[:900])})
    one.alter_configs({DAG: kept})
    one.alter_configs({DAG: {**kept, "k0": "y"}})
    with pytest.raises(LimitExceededError, match="1500 operations in one request"):
        one.alter_configs({DAG: dict.fromkeys(kept, "z")})

    assert one.describe_configs([DAG])[DAG]["k0"].value == "y"
    assert len(one.alter_configs({DAG: {}})[DAG].entries) == 1500


def test_all_that_is_wrong_is_told_at_once(store):
    with pytest.raises(ConfigException) as refused:
        admin(store).incremental_alter_configs(
            {DAG: [set_("cores", "x"), set_("", "x")], DEFAULT: [set_("cores", "-1")]}
        )

    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    ("configs", "key"), [({"cores": 4}, "'cores'"), ({4: "x"}, "4")], ids=["a number", "a number as key"]
)
def test_what_replaces_all_and_is_no_text_is_refused_and_named(store, configs, key):
    with pytest.raises(ConfigException, match=f"flights.*{key}.*as a string"):
        admin(store).alter_configs({DAG: configs})
    assert store.texts == {}


LEVELS = (
    ConfigDef()
    .define("default.only", ConfigType.STRING, "", alterable_at=[ResourceType.DEFAULT])
    .define("task.only", ConfigType.STRING, "", alterable_at=[ResourceType.TASK])
    .define("not.for.all", ConfigType.STRING, "", alterable_at=[ResourceType.TASK, ResourceType.DAG])
    .define("nowhere", ConfigType.STRING, "", alterable_at=[])
    .define("everywhere", ConfigType.STRING, "")
)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        pytest.param("default.only", [DEFAULT], id="for the default"),
        pytest.param("task.only", [TASK], id="for a task"),
        pytest.param("not.for.all", [DAG, TASK], id="for no default"),
        pytest.param("nowhere", [], id="read-only"),
        pytest.param("everywhere", [DEFAULT, DAG, TASK], id="for all"),
        pytest.param("custom", [DEFAULT, DAG, TASK], id="not defined"),
    ],
)
@pytest.mark.parametrize("resource", [DEFAULT, DAG, TASK], ids=lambda resource: resource.type.name)
def test_a_key_is_altered_where_its_definition_allows_it(store, key, allowed, resource):
    one = ConfigAdmin(store, LEVELS)
    changes = [
        lambda: one.incremental_alter_configs({resource: [set_(key, "x")]}),
        lambda: one.alter_configs({resource: {key: "x"}}),
    ]

    for change in changes:
        if resource in allowed:
            change()
        else:
            levels = [level.type.name for level in allowed] or ["read-only"]
            with pytest.raises(ConfigException, match=f"'{key}' .*{'.*'.join(levels)}"):
                change()
    assert (name_of(resource) in store.texts) == (resource in allowed)


def test_describe_tells_where_a_key_may_be_altered(store):
    entries = ConfigAdmin(store, LEVELS).describe_configs([TASK])[TASK]

    assert {key: [kind.name for kind in entry.alterable_at] for key, entry in entries.items()} == {
        "default.only": ["DEFAULT"],
        "task.only": ["TASK"],
        "not.for.all": ["DAG", "TASK"],
        "nowhere": [],
        "everywhere": ["DEFAULT", "DAG", "TASK"],
    }
    assert [key for key, entry in entries.items() if entry.is_read_only] == ["nowhere"]


def test_what_was_stored_where_it_may_no_longer_be_altered_can_be_deleted(store):
    ConfigAdmin(store).incremental_alter_configs({DAG: [set_("task.only", "x"), set_("everywhere", "x")]})
    one = ConfigAdmin(store, LEVELS)

    one.incremental_alter_configs({DAG: [set_("everywhere", "y")]})
    one.incremental_alter_configs({DAG: [delete("task.only")]})

    assert one.describe_configs([DAG])[DAG]["task.only"].source is ConfigSource.DEFAULT_CONFIG


def test_one_resource_that_is_refused_keeps_no_other_from_its_change(store):
    with pytest.raises(ConfigException, match="other resources were changed: DAG 'flights'"):
        admin(store).incremental_alter_configs({DEFAULT: [set_("cores", "x")], DAG: [set_("cores", "3")]})

    assert admin(store).describe_configs([DAG])[DAG]["cores"].source is ConfigSource.DYNAMIC_DAG_CONFIG


@pytest.mark.parametrize("are_followed", [False, True], ids=["nobody follows", "all are followed"])
def test_the_work_of_a_request_grows_with_the_number_of_its_resources(are_followed):
    change_many(1)

    few, many = (change_many(number, are_followed=are_followed) for number in (100, 400))

    assert many < 5 * few


def test_validate_only_writes_nothing_and_asks_policies(store):
    policy = Policy({"cores": "3"})

    admin(store, policy).incremental_alter_configs({DAG: [set_("cores", "2")]}, validate_only=True)
    with pytest.raises(PolicyViolation):
        admin(store, policy).incremental_alter_configs({DAG: [set_("cores", "3")]}, validate_only=True)

    assert store.texts == {}


def test_a_reference_is_kept_and_its_type_is_not_asked_for(store):
    admin(store).incremental_alter_configs({DAG: [set_("cores", "${env:CORES}"), set_("password", "${vault:a:b}")]})

    entries = admin(store).describe_configs([DAG])[DAG]
    assert (entries["cores"].value, entries["password"].value) == ("${env:CORES}", "${vault:a:b}")


def test_a_secret_is_sealed_and_not_shown(store):
    one = admin(store, seal=lambda password: f"sealed {len(password.value)}")

    one.incremental_alter_configs({DAG: [set_("password", "hunter2")]})
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})

    assert "hunter2" not in str(store.texts) + str(store.audit)
    assert "sealed 7" in store.texts[name_of(DAG)]
    entry = one.describe_configs([DAG], include_synonyms=True)[DAG]["password"]
    assert (entry.value, entry.synonyms[0].value, entry.is_sensitive) == (None, None, True)


@pytest.mark.parametrize("seal", [None, lambda _: "sealed"], ids=["that cannot be sealed", "that can be sealed"])
def test_a_secret_beside_a_reference_is_refused_since_its_reference_must_stay_readable(store, seal):
    one = ConfigAdmin(store, spark_definition(), seal=seal)

    with pytest.raises(ConfigException, match="beside a reference") as caught:
        one.incremental_alter_configs({DAG: [set_("spark.app.url", "jdbc:x://u:hunter2@${vault:apps/db:host}")]})
    assert "hunter2" not in str(caught.value) + str(store.texts)


@pytest.mark.parametrize(
    ("key", "text", "seen"),
    [
        pytest.param("spark.app.x", "${env.NAME} token=c4nary", "${env.NAME}[hidden]", id="beside a secret"),
        pytest.param("spark.hadoop.fs.s3a.secret.key", "${env.NAME}", "${env.NAME}", id="under a secret's key"),
        pytest.param("spark.app.token", "c4nary", "[hidden]", id="nowhere"),
        pytest.param("spark.app.token", "{{secrets/scope/key}}", "[hidden]", id="in a secret of Databricks"),
    ],
)
def test_policies_see_what_hadoop_replaces_in_a_new_secret(store, key, text, seen):
    asked = []

    class Asked(AlterConfigPolicy):
        def validate(self, request):
            asked.append(request.configs_after[key])

    one = ConfigAdmin(store, spark_definition(), [Asked()], seal=lambda _: "sealed")
    one.incremental_alter_configs({DAG: [set_(key, text)]})

    assert asked == [seen]
    assert '"sealed": "sealed"' in store.texts[name_of(DAG)]


def test_what_is_no_secret_beside_a_reference_is_kept(store):
    one = ConfigAdmin(store, spark_definition(), seal=lambda _: "sealed")

    one.incremental_alter_configs({DAG: [set_("spark.app.token", "Bearer ${vault:apps/api:token}")]})

    assert one.describe_configs([DAG])[DAG]["spark.app.token"].value == "Bearer ${vault:apps/api:token}"


def test_a_secret_stays_where_the_whole_is_replaced_by_what_is_shown(store):
    one = admin(store, seal=lambda password: f"sealed {len(password.value)}")
    one.incremental_alter_configs({DAG: [set_("password", "hunter2")]})

    one.alter_configs({DAG: {"password": str(Password("x")), "cores": "2"}})

    assert "sealed 7" in store.texts[name_of(DAG)]


@pytest.mark.parametrize("version", [0, 2], ids=["older", "newer"])
def test_a_change_for_another_version_is_refused(store, version):
    one = admin(store)
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})

    with pytest.raises(ConfigException, match=f"version 1, but the change is for version {version}"):
        one.incremental_alter_configs({DAG: [set_("cores", "3")]}, if_version={DAG: version})
    one.incremental_alter_configs({DAG: [set_("cores", "3")]}, if_version={DAG: 1})


def test_a_replacement_for_another_version_is_refused(store):
    one = admin(store)
    one.alter_configs({DAG: {"cores": "2"}})

    with pytest.raises(StaleVersionError, match="version 1, but the change is for version 2"):
        one.alter_configs({DAG: {"cores": "3"}}, if_version={DAG: 2})
    one.alter_configs({DAG: {"cores": "3"}}, if_version={DAG: 1})


def test_nothing_is_refreshed_if_a_resource_is_unknown_and_all_that_are_unknown_are_told(store):
    unknown = [ConfigResource.of_task("flights", "repor"), ConfigResource.of_task("trains", "repor")]

    with pytest.raises(UnknownResourceError) as error:
        admin(store, layers=_no_task).refresh([DAG, *unknown])

    assert len(error.value.problems) == 2
    assert store.audit == []


def _no_task(resource: ConfigResource) -> Sequence[ConfigLayer]:
    if resource.task_id:
        raise UnknownResourceError(f"There is no {resource}.")
    return []


def test_what_changes_nothing_is_no_new_version(store):
    one = admin(store)
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})

    assert len(one.history(DAG)) == len(store.audit) == 1


def test_a_document_that_cannot_be_read_is_named_and_not_written_over(store):
    store.texts[name_of(DAG)] = "odd"

    with pytest.raises(ConfigException, match=r"'config_providers\.dynamic\.dag\.flights' cannot be read"):
        admin(store).incremental_alter_configs({TASK: [set_("cores", "2")], DEFAULT: [set_("cores", "2")]})

    assert store.texts[name_of(DAG)] == "odd"


def test_changes_made_at_the_same_time_are_all_there(store):
    def change(number: int) -> None:
        admin(store).incremental_alter_configs({DAG: [AlterConfigOp("jars", f"{number}.jar", OpType.APPEND)]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(80)))

    jars = admin(store).describe_configs([DAG])[DAG]["jars"].value.split(",")
    assert sorted(jars) == sorted(["base.jar", *(f"{number}.jar" for number in range(80))])


def test_who_never_gets_a_turn_is_told(store):
    class Busy(InMemoryConfigStore):
        def swap(self, expected, texts, audit) -> bool:
            return False

    clock = FakeClock()
    with pytest.raises(ProviderUnavailableError, match="200 attempts, and nothing was changed"):
        admin(Busy(), sleep=clock.sleep).incremental_alter_configs({DAG: [set_("cores", "2")]})
    assert 0 < clock.now < 120


class Interfered(InMemoryConfigStore):
    """Somebody else writes between the reading and the writing of a change, as often as is said."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._left = times

    def swap(self, expected, texts, audit) -> bool:
        if self._left:
            self._left -= 1
            other = InMemoryConfigStore(self.texts)
            admin(other).incremental_alter_configs({DAG: [set_(f"other{self._left}", "x")]})
            self.texts = other.texts
        return super().swap(expected, texts, audit)


def test_a_change_is_made_anew_on_top_of_what_others_wrote_and_policies_see_that():
    store, policy = Interfered(3), Policy()
    admin(store, policy, sleep=FakeClock().sleep).incremental_alter_configs({DAG: [set_("cores", "2")]})

    others = {"other0": "x", "other1": "x", "other2": "x"}
    assert [len(request.configs_before) for request in policy.requests] == [0, 1, 2, 3]
    assert policy.requests[-1].configs_before == others
    assert {key: entry.value for key, entry in admin(store).describe_configs([DAG])[DAG].items()}.items() >= {
        "cores": "2",
        **others,
    }.items()


def test_the_layers_that_are_not_dynamic_are_asked_for_once_whatever_others_do():
    """A DAG is read from the database for them."""
    asked = []

    def layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
        asked.append(resource)
        return []

    one = admin(Interfered(3), layers=layers, sleep=FakeClock().sleep)
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})

    assert asked == [DAG]


# Policies


def test_a_policy_sees_before_and_after_of_the_whole_resource(store):
    policy = Policy()
    one = admin(store, policy, seal=lambda _: "sealed")
    one.incremental_alter_configs({DAG: [set_("cores", "2"), set_("own", "x"), set_("password", "hunter2")]})
    one.incremental_alter_configs({DAG: [set_("cores", "3"), delete("own")]})

    request = policy.requests[-1]
    assert request.resource == DAG
    assert request.configs_before == {"cores": "2", "own": "x", "password": "[hidden]"}
    assert request.configs_after == {"cores": "3", "password": "[hidden]"}


def test_a_policy_is_told_of_a_secret_that_changes_although_both_are_hidden(store):
    policy = Policy()
    one = admin(store, policy, seal=lambda password: f"sealed {password.value}")
    one.incremental_alter_configs({DAG: [set_("cores", "2"), set_("password", "hunter2")]})
    one.incremental_alter_configs({DAG: [set_("cores", "3"), set_("password", "hunter3")]})

    assert policy.requests[-1].hidden_changes == {"password"}
    assert policy.requests[-1].changed == ["cores", "password"]


WAYS = [
    pytest.param(lambda one: one.incremental_alter_configs({DAG: [set_("cores", "3")]}), id="incremental"),
    pytest.param(lambda one: one.alter_configs({DAG: {"cores": "3"}}), id="whole"),
    pytest.param(lambda one: one.rollback(DAG), id="rollback"),
    pytest.param(lambda one: one.rollback(DAG, 1), id="rollback to a version"),
]


@pytest.mark.parametrize("change", WAYS)
@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(lambda: Policy({"cores": "3"}), id="denies"),
        pytest.param(lambda: Policy(error=ValueError("hunter2")), id="fails"),
    ],
)
def test_a_policy_keeps_a_change_from_being_made_whatever_way_it_comes(store, change, policy):
    admin(store).incremental_alter_configs({DAG: [set_("cores", "3")]})
    admin(store).incremental_alter_configs({DAG: [set_("cores", "2")]})
    before = dict(store.texts)

    with pytest.raises(PolicyViolation, match="Policy 'Policy'") as denied:
        change(admin(store, policy()))

    assert store.texts == before
    assert "hunter2" not in str(denied.value)


def warning(policy: Policy) -> NamedPolicy:
    return NamedPolicy("soft", policy, Enforcement.WARN)


@pytest.mark.parametrize("change", WAYS)
@pytest.mark.parametrize(
    ("policy", "told"),
    [
        pytest.param(lambda: Policy({"cores": "3"}), "would deny the change of DAG 'flights': cores", id="warns"),
        pytest.param(lambda: Policy(error=ValueError("hunter2")), "failed with ValueError in ", id="fails"),
    ],
)
def test_a_policy_that_only_warns_lets_a_change_pass_whatever_way_it_comes(store, change, policy, told):
    admin(store).incremental_alter_configs({DAG: [set_("cores", "3")]})
    admin(store).incremental_alter_configs({DAG: [set_("cores", "2")]})
    notes: list[str] = []

    change(admin(store, warning(policy()), warn=notes.append))

    assert admin(store).describe_configs([DAG])[DAG]["cores"].value == "3"
    (note,) = notes
    assert f"Policy 'soft' only warns, and {told}" in note
    assert "hunter2" not in note


def test_the_result_of_a_change_has_what_policies_only_warn_of(store):
    one = admin(store, warning(Policy({"cores": "3"})))

    done = one.incremental_alter_configs({DAG: [set_("cores", "3")], TASK: [set_("cores", "2")]})

    (text,) = done[DAG].warnings
    assert text == "Policy 'soft' only warns, and would deny the change of DAG 'flights': cores must not be 3"
    assert done[TASK].warnings == ()


def test_a_change_that_another_policy_denies_is_warned_of_too(store):
    notes: list[str] = []
    one = admin(store, warning(Policy({"cores": "3"})), Policy({"cores": "3"}), warn=notes.append)

    with pytest.raises(PolicyViolation, match=r"^Policy 'Policy' denies"):
        one.incremental_alter_configs({DAG: [set_("cores", "3")]})

    assert [note.partition(",")[0] for note in notes] == ["Policy 'soft' only warns"]


# History


def test_history_tells_who_changed_what_when(store):
    one = admin(store)
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})
    one.incremental_alter_configs({TASK: [set_("cores", "9")]})
    one.incremental_alter_configs({DAG: [delete("cores")]})

    assert [(change.version, change.by, change.was, change.became) for change in one.history(DAG)] == [
        (1, "ann", {"cores": None}, {"cores": "2"}),
        (3, "ann", {"cores": "2"}, {"cores": None}),
    ]


@pytest.mark.parametrize(
    ("version", "cores"), [pytest.param(None, "3", id="before the last"), (0, "1"), (1, "2"), (2, "3"), (3, "4")]
)
def test_a_rollback_gives_what_there_was(store, version, cores):
    one = admin(store)
    for number in ("2", "3", "4"):
        one.incremental_alter_configs({DAG: [set_("cores", number)]})

    one.rollback(DAG, version)

    assert one.describe_configs([DAG])[DAG]["cores"].value == cores


def test_a_rollback_of_a_dag_leaves_its_tasks_as_they_are(store):
    one = admin(store)
    for resource, number in ((DAG, "2"), (TASK, "3"), (DAG, "4")):
        one.incremental_alter_configs({resource: [set_("cores", number)]})

    one.rollback(DAG)

    described = one.describe_configs([DAG, TASK])
    assert [described[resource]["cores"].value for resource in (DAG, TASK)] == ["2", "3"]


def test_a_rollback_for_another_version_is_refused(store):
    one = admin(store)
    for number in ("2", "3"):
        one.incremental_alter_configs({DAG: [set_("cores", number)]})

    with pytest.raises(StaleVersionError, match="has version 2, but the change is for version 1"):
        one.rollback(DAG, if_version=1)
    one.rollback(DAG, if_version=2)

    assert one.describe_configs([DAG])[DAG]["cores"].value == "2"


def test_a_rollback_can_be_rolled_back(store):
    one = admin(store)
    one.incremental_alter_configs({DAG: [set_("cores", "2")]})
    one.rollback(DAG)
    one.rollback(DAG)

    assert one.describe_configs([DAG])[DAG]["cores"].value == "2"


def test_a_rollback_is_recorded_with_the_version_that_it_restored(store):
    one = admin(store)
    for number in ("2", "3"):
        one.incremental_alter_configs({DAG: [set_("cores", number)]})
    one.rollback(DAG)

    assert [(change.event, change.restored) for change in one.history(DAG)[1:]] == [("alter", None), ("rollback", 1)]
    assert [entry.details.get("restored") for entry in store.audit] == [None, None, 1]


def test_a_rollback_brings_a_sealed_secret_back(store):
    one = admin(store, seal=lambda password: f"sealed {password.value[::-1]}")
    one.incremental_alter_configs({DAG: [set_("password", "hunter2")]})
    one.incremental_alter_configs({DAG: [delete("password")]})
    assert "sealed 2retnuh" not in store.texts[name_of(DAG)]

    one.rollback(DAG)

    assert "sealed 2retnuh" in store.texts[name_of(DAG)]


@pytest.mark.parametrize("version", [-1, 2, 99])
def test_a_version_that_never_was_is_told(store, version):
    admin(store).incremental_alter_configs({DAG: [set_("cores", "2")]})

    with pytest.raises(ConfigException, match=r"The recorded versions are 0 to 1[.]"):
        admin(store).rollback(DAG, version)


BOTH = pytest.mark.parametrize(
    ("first", "second"),
    [pytest.param(DAG, TASK, id="DAG, then task"), pytest.param(TASK, DAG, id="task, then DAG")],
)


@BOTH
def test_any_resource_of_a_document_can_go_back_to_before_the_first_change(store, first, second):
    one = admin(store)
    for resource in (first, second):
        one.incremental_alter_configs({resource: [set_("jars", resource.task_id or "dag")]})

    for resource in (first, second):
        one.rollback(resource, 0)

    assert [one.describe_configs([each])[each]["jars"].value for each in (first, second)] == ["base.jar", "base.jar"]


@BOTH
def test_a_resource_can_go_back_to_a_version_that_another_of_its_document_made(store, first, second):
    one = admin(store)
    for resource, value in ((first, "a"), (second, "b"), (first, "c"), (second, "d"), (first, "e")):
        one.incremental_alter_configs({resource: [set_("jars", value)]})

    one.rollback(first, 4)
    one.rollback(second, 3)
    assert one.rollback(second, 7).entries == {}

    assert [one.describe_configs([each])[each]["jars"].value for each in (first, second)] == ["c", "b"]


def test_before_the_first_change_is_known_after_a_refresh_and_when_changes_are_forgotten(store):
    one = admin(store)
    one.refresh([DAG])
    for number in range(MOST_CHANGES + 2):
        one.incremental_alter_configs({DAG: [set_("cores", str(number + 1))]})

    with pytest.raises(ConfigException, match=rf"The recorded versions are 0, and 3 to {MOST_CHANGES + 3}[.]"):
        one.rollback(DAG, 2)
    one.rollback(DAG, 0)

    assert one.describe_configs([DAG])[DAG]["cores"].value == "1"


def test_a_version_of_which_one_change_of_two_is_forgotten_can_only_be_undone_for_the_other(store):
    one = admin(store)
    one.incremental_alter_configs({DAG: [set_("cores", "2")], TASK: [set_("cores", "2")]})
    one.incremental_alter_configs({DAG: [set_("cores", "3")], TASK: [set_("cores", "3")]})
    for number in range(MOST_CHANGES - 2):
        one.incremental_alter_configs({(DAG, TASK)[number % 2]: [set_("cores", str(number + 4))]})
    one.incremental_alter_configs({DAG: [set_("cores", "1")]})
    kept, forgotten = (TASK, DAG) if one.history(TASK)[0].version == 2 else (DAG, TASK)

    with pytest.raises(ConfigException, match="The recorded versions are 0, and 2 to"):
        one.rollback(forgotten, 1)
    one.rollback(kept, 1)

    assert one.describe_configs([kept])[kept]["cores"].value == "2"


def test_a_resource_whose_changes_are_all_forgotten_is_as_now_in_each_kept_version_and_had_nothing_at_0(store):
    one = admin(store)
    one.incremental_alter_configs({TASK: [set_("cores", "64")]})
    for number in range(MOST_CHANGES):
        one.incremental_alter_configs({DAG: [set_("cores", str(number + 1))]})

    with pytest.raises(ConfigException, match="name version 0"):
        one.rollback(TASK)
    assert one.rollback(TASK, 2).entries == {}
    one.rollback(TASK, 0)

    assert one.describe_configs([TASK])[TASK]["cores"].value != "64"


def test_a_resource_that_was_changed_later_can_have_any_version_of_before(store):
    one = admin(store)
    for resource, number in ((DAG, "2"), (DAG, "3"), (TASK, "4")):
        one.incremental_alter_configs({resource: [set_("cores", number)]})

    one.rollback(TASK, 1)
    with pytest.raises(ConfigException, match=r"The recorded versions are 0 to 4[.]"):
        one.rollback(TASK, 9)

    assert one.describe_configs([TASK])[TASK]["cores"].value == "3"


def test_without_a_change_there_is_nothing_to_go_back_to(store):
    with pytest.raises(ConfigException, match="nothing to roll back"):
        admin(store).rollback(DAG)


def test_the_audit_log_has_keys_and_references_and_no_values(store):
    admin(store).incremental_alter_configs({TASK: [set_("cores", "77"), set_("password", "x${vault:a:b}y")]})

    (entry,) = store.audit
    assert (entry.event, entry.dag_id, entry.task_id) == ("alter", "flights", "report")
    assert entry.details["keys"] == {"cores": [], "password": ["${vault:a:b}"]}
    assert "77" not in str(entry)
