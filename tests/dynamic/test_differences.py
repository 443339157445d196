"""Where dynamic configuration differs from Kafka's on purpose; the page of differences names each test."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.testing import InMemoryConfigStore

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
DEFINITION = (
    ConfigDef()
    .define("retention.ms", ConfigType.LONG, None)
    .define("retention.hours", ConfigType.INT, 168)
    .define("jars", ConfigType.LIST, "base.jar")
    .define("password", ConfigType.PASSWORD, None)
)


@pytest.fixture
def store() -> InMemoryConfigStore:
    return InMemoryConfigStore()


class Seen(AlterConfigPolicy):
    """Keeps what it is asked."""

    def __init__(self) -> None:
        self.requests: list[RequestMetadata] = []

    def validate(self, request: RequestMetadata) -> None:
        self.requests.append(request)


def described(one: ConfigAdmin, key: str, resource: ConfigResource = DAG):
    return one.describe_configs([resource], include_synonyms=True)[resource][key]


def delete(name: str) -> AlterConfigOp:
    return AlterConfigOp(name, None, OpType.DELETE)


def test_difference_names_are_independent(store):
    """In Kafka a dynamic ``retention.ms`` removes a static ``retention.hours`` from what is beneath."""
    one = ConfigAdmin(
        store,
        DEFINITION,
        layers=lambda resource: [ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base", {"retention.hours": "3"})],
    )
    one.incremental_alter_configs({DAG: [AlterConfigOp("retention.ms", "60000")]})

    entry = described(one, "retention.hours")
    assert (entry.value, entry.source) == ("3", ConfigSource.STATIC_FILE_CONFIG)


def test_difference_describe_gives_the_text_as_it_was_written(store):
    one = ConfigAdmin(store, DEFINITION)
    one.incremental_alter_configs({DAG: [AlterConfigOp("retention.hours", " 12 ")]})

    entry = described(one, "retention.hours")
    assert entry.value == entry.synonyms[0].value == " 12 "


def test_difference_the_default_is_described_with_all_that_is_beneath(store):
    one = ConfigAdmin(
        store,
        DEFINITION,
        layers=lambda resource: [ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base", {"retention.hours": "3"})],
    )
    one.incremental_alter_configs({DEFAULT: [AlterConfigOp("jars", "a.jar")]})

    entries = one.describe_configs([DEFAULT], include_synonyms=True)[DEFAULT]
    assert entries.keys() == {"jars", "retention.hours"}
    assert [synonym.source for synonym in entries["jars"].synonyms] == [
        ConfigSource.DYNAMIC_DEFAULT_CONFIG,
        ConfigSource.DEFAULT_CONFIG,
    ]


def test_difference_a_key_that_is_not_defined_is_shown_and_not_read_only(store):
    one = ConfigAdmin(store, DEFINITION)
    one.incremental_alter_configs({DAG: [AlterConfigOp("custom", "x")]})

    entry = described(one, "custom")
    assert (entry.value, entry.is_sensitive, entry.is_read_only, entry.type) == ("x", False, False, None)


def test_difference_a_reference_is_shown_under_a_sensitive_key(store):
    one = ConfigAdmin(store, DEFINITION)
    one.incremental_alter_configs({DAG: [AlterConfigOp("password", "${vault:db:password}")]})

    entry = described(one, "password")
    assert (entry.value, entry.is_sensitive) == ("${vault:db:password}", True)


def test_difference_what_changes_nothing_is_not_written(store):
    one = ConfigAdmin(store, DEFINITION)
    one.incremental_alter_configs({DAG: [AlterConfigOp("custom", "x")]})
    texts = dict(store.texts)

    one.incremental_alter_configs({DAG: [AlterConfigOp("custom", "x")]})

    assert store.texts == texts


@pytest.mark.parametrize("op", [OpType.APPEND, OpType.SUBTRACT])
def test_difference_a_list_operation_on_an_unknown_key_says_what_is_wrong(store, op):
    with pytest.raises(ConfigException, match=rf"'custom': {op.name} needs a list, and this key is not one"):
        ConfigAdmin(store, DEFINITION).incremental_alter_configs({DAG: [AlterConfigOp("custom", "x", op)]})


def test_difference_elements_that_are_not_in_the_list_are_counted_in_the_result(store):
    one = ConfigAdmin(store, DEFINITION)
    one.incremental_alter_configs({DAG: [AlterConfigOp("jars", "a.jar,b.jar")]})

    done = one.incremental_alter_configs({DAG: [AlterConfigOp("jars", "a.jar,c.jar", OpType.SUBTRACT)]})

    assert (described(one, "jars").value, done[DAG].absent) == ("b.jar", {"jars": 1})


def test_difference_an_empty_element_is_not_added(store):
    one = ConfigAdmin(store, DEFINITION)
    one.incremental_alter_configs({DAG: [AlterConfigOp("jars", ",a.jar,", OpType.APPEND)]})

    assert described(one, "jars").value == "base.jar,a.jar"


def test_difference_a_policy_sees_a_deleted_key_as_absent(store):
    """Kafka gives it as null (KAFKA-19028)."""
    policy = Seen()
    one = ConfigAdmin(store, DEFINITION, [policy])
    one.incremental_alter_configs({DAG: [AlterConfigOp("custom", "x"), AlterConfigOp("other", "y")]})

    one.incremental_alter_configs({DAG: [delete("custom")]})
    one.alter_configs({DAG: {}})

    shown = [(dict(request.configs_before), dict(request.configs_after)) for request in policy.requests]
    assert shown[1:] == [({"custom": "x", "other": "y"}, {"other": "y"}), ({"other": "y"}, {})]


@pytest.mark.parametrize("resource", [DEFAULT, DAG], ids=["default", "DAG"])
def test_difference_deleting_what_is_not_set_is_no_change_for_a_policy(store, resource):
    """In Kafka it is a key with null, of a broker always, and of a topic since KAFKA-19028."""
    policy = Seen()

    ConfigAdmin(store, DEFINITION, [policy]).incremental_alter_configs({resource: [delete("custom")]})

    (request,) = policy.requests
    assert request.configs_before == request.configs_after == {}


def test_difference_a_policy_judges_a_value_again_that_does_not_change(store):
    """Kafka leaves entries of a topic that change nothing out, so that a denied value passes when it is repeated."""
    ConfigAdmin(store, DEFINITION).incremental_alter_configs({DAG: [AlterConfigOp("custom", "denied")]})
    policy = Seen()

    ConfigAdmin(store, DEFINITION, [policy]).incremental_alter_configs({DAG: [AlterConfigOp("custom", "denied")]})

    assert policy.requests[0].configs_after == {"custom": "denied"}
