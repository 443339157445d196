"""A request that is refused tells all reasons at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.definition.validators import Range
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy, PolicyViolation, RequestMetadata
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import history_name, name_of
from airflow_config_providers.dynamic.planner import Reasons
from airflow_config_providers.dynamic.policies import Bounds, IfThen, RequiredKeys
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ProviderUnavailableError,
    ReservedKeyError,
    StaleVersionError,
    UnknownResourceError,
)
from airflow_config_providers.testing import InMemoryConfigStore

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
GONE = ConfigResource(ResourceType.DAG, "flight")
UNREADABLE = ConfigResource(ResourceType.DAG, "broken")

DEFINITION = (
    ConfigDef()
    .define("cores", ConfigType.INT, 1, Range.at_least(1))
    .define("jars", ConfigType.LIST, "")
    .define("password", ConfigType.PASSWORD, None)
)

BIG = AlterConfigOp("memory", "64g")
TWICE = [AlterConfigOp("a", "1"), AlterConfigOp("a", "2")]
NULL = AlterConfigOp("b")
NO_LIST = AlterConfigOp("cores", "2", OpType.APPEND)
WRONG = AlterConfigOp("cores", "hunter2")
RESERVED = AlterConfigOp("config.providers", "x")
LONG = AlterConfigOp("long", "x" * 70_000)
SECRET = AlterConfigOp("password", "hunter2")


def configured(policy: AlterConfigPolicy, **params: object) -> AlterConfigPolicy:
    policy.configure(params)
    return policy


POLICIES = [
    NamedPolicy("bounds", configured(Bounds(), memory={"max": "16g", "unit": "m"}, cores={"max": 8})),
    NamedPolicy("pair", configured(IfThen(), **{"if": {"memory": "64g"}, "then": {"a": "1"}})),
    NamedPolicy("owner", configured(RequiredKeys(), keys=["owner"])),
]


def layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    if resource == GONE:
        raise UnknownResourceError("There is no DAG 'flight', did you mean 'flights'?")
    if resource.dag_id == "asleep":
        raise ProviderUnavailableError("The database sleeps.")
    return []


@pytest.fixture
def store() -> InMemoryConfigStore:
    store = InMemoryConfigStore()
    ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("owner", "ann")]})
    store.texts[name_of(UNREADABLE)] = "odd"
    return store


def refused(store: InMemoryConfigStore, changes, **more) -> ConfigProvidersError:
    before = dict(store.texts)
    with pytest.raises(ConfigProvidersError) as error:
        ConfigAdmin(store, DEFINITION, POLICIES, layers=layers).incremental_alter_configs(changes, **more)
    assert store.texts == before
    assert "hunter2" not in str(error.value)
    return error.value


TABLE = [
    pytest.param(
        {DAG: [*TWICE, NULL, NO_LIST, RESERVED, LONG, SECRET, AlterConfigOp("memory", "32g")]},
        ReservedKeyError,
        [
            "'a' is changed 2 times",
            "'b': there is no value",
            "'cores': APPEND needs a list",
            "'config.providers'",
            "'long' has 70000 characters",
            "'password' is a plain-text secret",
            "Policy 'bounds' denies the change of DAG 'flights': 'memory' is more than 16g",
        ],
        id="form, keys, sizes, secrets and policies",
    ),
    pytest.param(
        {DAG: [BIG, TWICE[0], WRONG]},
        ConfigException,
        ["cores: Not a number", "'memory' is more than 16g"],
        id="no reason of a policy that is there because of a wrong value",
    ),
    pytest.param(
        {DAG: [BIG, *TWICE]},
        ConfigException,
        ["'a' is changed 2 times", "'memory' is more than 16g"],
        id="no reason of a policy that is there because of what was left out",
    ),
    pytest.param(
        {DAG: [BIG]},
        PolicyViolation,
        ["'memory' is more than 16g", "Policy 'pair'"],
        id="policies alone",
    ),
    pytest.param(
        {DAG: [AlterConfigOp("owner", None, OpType.DELETE), NULL]},
        ConfigException,
        ["'b': there is no value", "'owner' must be set"],
        id="a deletion that a policy denies",
    ),
    pytest.param({DAG: [NULL]}, ConfigException, ["'b'"], id="where nothing is left no policy is asked"),
    pytest.param(
        {GONE: [*TWICE, BIG, WRONG], DAG: [AlterConfigOp("memory", "32g")]},
        ConfigException,
        ["'a' is changed", "cores: Not a number", "no DAG 'flight', did you", "DAG 'flights': 'memory' is more"],
        id="an unknown DAG beside another, and its own mistakes, unseen by policies",
    ),
    pytest.param({GONE: [BIG]}, UnknownResourceError, ["no DAG 'flight'"], id="an unknown DAG alone"),
    pytest.param(
        {UNREADABLE: [NULL, WRONG, BIG]},
        ConfigException,
        ["dag.broken' cannot be read", "'b'", "cores: Not a number"],
        id="what is stored cannot be read",
    ),
    pytest.param(
        {ConfigResource(ResourceType.TASK, "flights"): [NULL], DEFAULT: [WRONG]},
        ConfigException,
        ["names no task", "'b'", "default: Invalid value for configuration cores"],
        id="a name that is none",
    ),
    pytest.param(
        {ConfigResource(ResourceType.DAG, "asleep"): [NULL]},
        ConfigException,
        ["sleeps", "'b'"],
        id="what can be corrected counts more than what passes",
    ),
    pytest.param(
        {ConfigResource(ResourceType.DAG, "asleep"): [BIG]}, ProviderUnavailableError, ["sleeps"], id="unavailable"
    ),
    pytest.param(
        {DAG: [LONG, *(AlterConfigOp(f"k{n}", "x" * 60_000) for n in range(20)), BIG, NULL]},
        ConfigException,
        ["It would have 12", "'b'", "'long'"],
        id="too much to be shown to policies",
    ),
]


@pytest.mark.parametrize(("changes", "kind", "reasons"), TABLE)
def test_all_reasons_are_told_at_once_and_no_other(store, changes, kind, reasons):
    error = refused(store, changes)

    assert type(error) is kind
    assert len(error.problems) == len(reasons)
    for problem, reason in zip(error.problems, reasons, strict=True):
        assert reason in problem


def test_a_stale_version_is_told_with_what_else_is_wrong_and_without_policies(store):
    error = refused(store, {DAG: [NULL, WRONG, BIG]}, if_version={DAG: 7})

    assert all(
        reason in problem for reason, problem in zip(("version 7", "'b'", "cores:"), error.problems, strict=True)
    )
    assert type(refused(store, {DAG: [BIG]}, if_version={DAG: 7})) is StaleVersionError


def test_a_history_that_cannot_be_read_is_told_with_the_rest(store):
    store.texts[history_name(DAG)] = "odd"

    error = refused(store, {TASK: [NULL], DEFAULT: [WRONG]})

    assert all(reason in problem for reason, problem in zip(("history", "'b'", "cores:"), error.problems, strict=True))


def test_a_whole_tells_all_reasons_too(store):
    with pytest.raises(ConfigException) as error:
        ConfigAdmin(store, DEFINITION, POLICIES).alter_configs({DAG: {"cores": "x", "b": None, "memory": "32g"}})

    words = ["'b': there is no value", "cores: Not a number", "'memory' is more than 16g", "'owner' must be set"]
    assert len(error.value.problems) == len(words)
    assert all(word in problem for word, problem in zip(words, error.value.problems, strict=True))


def test_a_refused_resource_is_described_beside_the_others_only_where_something_was_written(store):
    changes = {GONE: [BIG], DAG: [AlterConfigOp("c", "d")]}

    assert len(refused(store, changes, validate_only=True).problems) == 1
    with pytest.raises(UnknownResourceError, match="other resources were changed: DAG 'flights'"):
        ConfigAdmin(store, DEFINITION, layers=layers).incremental_alter_configs(changes)


def test_a_policy_never_sees_a_secret_that_cannot_be_encrypted(store):
    class Seeing(AlterConfigPolicy):
        seen = ""

        def validate(self, request: RequestMetadata) -> None:
            self.seen += str(dict(request.configs_after))

    policy = Seeing()
    with pytest.raises(ConfigException):
        ConfigAdmin(store, DEFINITION, [policy]).incremental_alter_configs({DAG: [SECRET, AlterConfigOp("c", "d")]})

    assert "[hidden]" in policy.seen
    assert "hunter2" not in policy.seen


def test_only_errors_of_ours_are_kept():
    reasons = Reasons()

    with pytest.raises(ZeroDivisionError), reasons:
        raise ZeroDivisionError

    assert not reasons
