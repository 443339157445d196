"""What is stored for a DAG or a task that is gone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import AlterConfigPolicy, PolicyViolation, RequestMetadata
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.exceptions import ConfigException, UnknownResourceError
from airflow_config_providers.testing import InMemoryConfigStore

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
OTHER = ConfigResource.of_task("flights", "other")


def layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    if resource.dag_id:
        raise UnknownResourceError(f"There is no {resource}. Correct the name.")
    return [ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base.properties", {"a": "file"})]


@pytest.fixture
def store() -> InMemoryConfigStore:
    store = InMemoryConfigStore()
    before = ConfigAdmin(store)
    before.incremental_alter_configs({DEFAULT: [AlterConfigOp("c", "default")], DAG: [AlterConfigOp("a", "dag")]})
    before.incremental_alter_configs({TASK: [AlterConfigOp("a", "task"), AlterConfigOp("b", "task")]})
    return store


def admin(store: InMemoryConfigStore, *policies: AlterConfigPolicy, **more: object) -> ConfigAdmin:
    return ConfigAdmin(store, policies=policies, layers=layers, **more)


def delete(*names: str) -> list[AlterConfigOp]:
    return [AlterConfigOp(name, None, OpType.DELETE) for name in names]


def test_what_is_stored_is_described_with_a_note(store):
    notes: list[str] = []
    entries = admin(store, warn=notes.append).describe_configs([TASK], include_synonyms=True)[TASK]

    assert [synonym.value for synonym in entries["a"].synonyms] == ["task", "dag", "file"]
    assert {key: entries[key].value for key in ("b", "c")} == {"b": "task", "c": "default"}
    assert notes == [
        "Airflow has no task 'report' of DAG 'flights': the values of its code are not shown, and stored values can "
        "only be deleted."
    ]


def test_where_nothing_was_ever_stored_it_is_unknown(store):
    for call in (
        lambda one: one.describe_configs([OTHER]),
        lambda one: one.history(OTHER),
        lambda one: one.rollback(OTHER),
        lambda one: one.incremental_alter_configs({OTHER: delete("a")}),
        lambda one: one.alter_configs({OTHER: {}}),
    ):
        with pytest.raises(UnknownResourceError, match=r"no task 'other' of DAG 'flights'\. Correct the name\.$"):
            call(admin(store))


CLEANUPS = [
    pytest.param(lambda one: one.incremental_alter_configs({TASK: delete("a", "b")})[TASK], id="delete"),
    pytest.param(lambda one: one.alter_configs({TASK: {}})[TASK], id="clear"),
    pytest.param(lambda one: one.rollback(TASK, 1), id="rollback"),
]


@pytest.mark.parametrize("clean", CLEANUPS)
def test_it_can_be_deleted_and_is_told_what_counts_then(store, clean):
    done = clean(admin(store))

    assert {key: entry and entry.value for key, entry in done.entries.items()} == {"a": "dag", "b": None}
    assert len(admin(store).history(TASK)) == 2


def test_deleting_it_once_more_changes_nothing(store):
    admin(store).alter_configs({TASK: {}, DAG: {}})

    assert admin(store).alter_configs({TASK: {}})[TASK].entries == {}
    assert admin(store).describe_configs([DAG])[DAG]["a"].value == "file"


def test_a_part_may_stay_where_the_whole_is_replaced(store):
    assert admin(store).alter_configs({TASK: {"b": "task"}})[TASK].entries.keys() == {"a"}


SETTING = [
    pytest.param(lambda one: one.incremental_alter_configs({TASK: [AlterConfigOp("b", "x")]}), id="set"),
    pytest.param(
        lambda one: one.incremental_alter_configs({TASK: [*delete("a"), AlterConfigOp("x", "")]}), id="set one"
    ),
    pytest.param(lambda one: one.alter_configs({TASK: {"b": "x"}}), id="whole"),
    pytest.param(lambda one: one.rollback(TASK), id="rollback of a deletion"),
]


@pytest.mark.parametrize("change", SETTING)
def test_nothing_can_be_set_there(store, change):
    admin(store).incremental_alter_configs({TASK: delete("a")})
    before = dict(store.texts)

    with pytest.raises(UnknownResourceError, match="Stored values can only be deleted"):
        change(admin(store))

    assert store.texts == before


def test_that_it_is_gone_is_told_together_with_what_is_wrong_beside_a_deletion(store):
    with pytest.raises(ConfigException) as error:
        admin(store).incremental_alter_configs({TASK: [*delete("a"), AlterConfigOp("", "x")]})

    assert "Stored values can only be deleted" in str(error.value)
    assert "not be empty" in str(error.value)


def test_policies_see_such_a_deletion(store):
    class Denying(AlterConfigPolicy):
        def validate(self, request: RequestMetadata) -> None:
            raise PolicyViolation("No.")

    with pytest.raises(PolicyViolation):
        admin(store, Denying()).alter_configs({DAG: {}})


def test_all_that_are_unknown_are_told_at_once(store):
    gone = ConfigResource(ResourceType.DAG, "gone")

    with pytest.raises(ConfigException) as error:
        admin(store).describe_configs([OTHER, DAG, gone])

    assert len(error.value.problems) == 2
