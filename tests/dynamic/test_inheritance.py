"""What a task reads before it runs."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import Sealed, StoredConfig, name_of
from airflow_config_providers.dynamic.inheritance import settled
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError
from airflow_config_providers.testing import InMemoryConfigStore
from tests.dynamic.written import task_layers

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")


class Reading:
    """Reads from a store, and lets something happen before a read."""

    def __init__(self, store: InMemoryConfigStore, before=lambda number: None) -> None:
        self.names: list[str] = []
        self._store = store
        self._before = before

    def __call__(self, name: str) -> str | None:
        self._before(len(self.names))
        self.names.append(name)
        return self._store.texts.get(name)


@pytest.fixture
def store() -> InMemoryConfigStore:
    return InMemoryConfigStore()


def set_all(store: InMemoryConfigStore, value: str, *resources: ConfigResource) -> None:
    ConfigAdmin(store).incremental_alter_configs({one: [AlterConfigOp("k", value)] for one in resources})


def values(store: InMemoryConfigStore, reading: Reading) -> dict[str, str]:
    return {layer.source.name: layer.configs["k"] for layer in task_layers("flights", "report", reading)}


def test_a_task_has_three_layers_by_two_reads(store):
    set_all(store, "d", DEFAULT)
    set_all(store, "g", DAG)
    set_all(store, "t", TASK, ConfigResource.of_task("flights", "other"))
    reading = Reading(store)

    assert values(store, reading) == {
        "DYNAMIC_TASK_CONFIG": "t",
        "DYNAMIC_DAG_CONFIG": "g",
        "DYNAMIC_DEFAULT_CONFIG": "d",
    }
    assert reading.names == [name_of(DEFAULT), name_of(TASK)]


def test_where_nothing_is_set_there_is_no_layer(store):
    reading = Reading(store)

    assert task_layers("flights", "report", reading) == []
    assert reading.names == [name_of(DEFAULT)]


def test_a_change_between_the_reads_is_seen_whole_or_not_at_all(store):
    set_all(store, "old", DEFAULT, TASK)
    reading = Reading(store, lambda number: set_all(store, "new", DEFAULT, TASK) if number == 1 else None)

    assert values(store, reading) == {"DYNAMIC_TASK_CONFIG": "new", "DYNAMIC_DEFAULT_CONFIG": "new"}
    assert len(reading.names) == 3


@pytest.mark.parametrize("changes", [1, 2, 3, 4], ids=lambda number: f"before {number} further reads")
def test_nor_do_changes_between_further_reads_mix(store, changes):
    set_all(store, "old", DEFAULT, TASK)
    reading = Reading(store, lambda n: set_all(store, f"new {n}", DEFAULT, TASK) if 0 < n <= changes else None)

    assert len(set(values(store, reading).values())) == 1


def test_documents_that_are_changed_together_all_the_time_are_unavailable(store):
    set_all(store, "old", DEFAULT, TASK)
    reading = Reading(store, lambda number: set_all(store, str(number), DEFAULT, TASK))

    with pytest.raises(ProviderUnavailableError, match="less often"):
        task_layers("flights", "report", reading)


@pytest.mark.parametrize("changed", [DEFAULT, DAG], ids=["deployment", "DAG"])
def test_a_change_of_one_resource_costs_no_further_read(store, changed):
    set_all(store, "old", DEFAULT, DAG)
    reading = Reading(store, lambda number: set_all(store, "new", changed) if number == 1 else None)

    task_layers("flights", "report", reading)

    assert len(reading.names) == 2


def test_a_deployment_s_document_that_is_older_than_it_was_is_told(store):
    set_all(store, "v", DEFAULT, TASK)
    before = store.texts[name_of(DEFAULT)]
    set_all(store, "w", DEFAULT, TASK)
    store.texts[name_of(DEFAULT)] = before

    with pytest.raises(ProviderUnavailableError, match="Restore both"):
        task_layers("flights", "report", Reading(store))


def test_a_document_that_cannot_be_read_is_told(store):
    set_all(store, "v", DAG)
    store.texts[name_of(DAG)] = "odd"

    with pytest.raises(ConfigException, match="cannot be read"):
        task_layers("flights", "report", Reading(store))


def test_a_sealed_secret_is_opened_for_the_task_alone(store):
    definition = ConfigDef().define("password", ConfigType.PASSWORD, None)
    one = ConfigAdmin(store, definition, seal=lambda _: "c1ph3r")
    one.incremental_alter_configs({TASK: [AlterConfigOp("password", "hunter2")]})

    (layer,) = task_layers("flights", "report", Reading(store), lambda sealed: f"opened {sealed.text}")

    assert (layer.configs, layer.source) == ({"password": "[hidden]"}, ConfigSource.DYNAMIC_TASK_CONFIG)
    assert layer.secrets["password"]() == "opened c1ph3r"


class Renamed(ConfigDef):
    """A definition in which ``new`` was once called ``old``."""

    @property
    def older_names(self):
        return {"old": "new"}


SEALED, WEAKER = Sealed("sealed"), Sealed("weaker")


@pytest.mark.parametrize(
    ("task", "default", "expected"),
    [
        pytest.param({"new": SEALED}, {"new": WEAKER}, SEALED, id="the current name"),
        pytest.param({"old": SEALED}, {"new": WEAKER}, SEALED, id="an older name, which beats the current one"),
        pytest.param({"new": "text"}, {"old": SEALED}, "text", id="an older name, which is beaten"),
        pytest.param({}, {"old": SEALED}, SEALED, id="an older name alone"),
    ],
)
def test_a_sealed_secret_that_wins_is_settled_as_it_is_under_its_current_name(task, default, expected):
    file = ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "file", {"new": "file"})

    assert settled({TASK: StoredConfig(task, 1), DEFAULT: StoredConfig(default, 1)}, [file], Renamed()) == {
        "new": expected
    }
