"""A document that somebody deletes, or replaces by an older one, without its history."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

pytest.importorskip("airflow")

from airflow.models.variable import Variable
from sqlalchemy import delete
from sqlalchemy.orm import Session, sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import history_name, name_of
from airflow_config_providers.dynamic.history import LOSS, MOST_CHANGES
from airflow_config_providers.dynamic.inheritance import task_configs
from airflow_config_providers.dynamic.store import ReadOnlyStore
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError, StaleVersionError
from airflow_config_providers.testing import InMemoryConfigStore
from tests.dynamic.failing_member import FailingMember

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
OTHER = ConfigResource(ResourceType.DAG, "trains")


class Memory(InMemoryConfigStore):
    """A store in memory, in which somebody can delete something."""

    def lose(self, *names: str) -> None:
        for name in names:
            del self.texts[name]


class Variables(VariableStore):
    """Airflow's variables, of which somebody can delete some in Airflow's UI."""

    def __init__(self, sessions: sessionmaker[Session]) -> None:
        super().__init__("ann", sessions)
        self.sessions = sessions

    def lose(self, *names: str) -> None:
        with self.sessions.begin() as session:
            session.execute(delete(Variable).where(Variable.key.in_(names)))


@pytest.fixture(params=["memory", "variables"])
def store(request: pytest.FixtureRequest) -> Memory | Variables:
    return Memory() if request.param == "memory" else Variables(request.getfixturevalue("sessions"))


def change(store: Memory | Variables, *resources: ConfigResource, **values: str | None) -> None:
    operations = [AlterConfigOp(key, value, OpType.SET if value else OpType.DELETE) for key, value in values.items()]
    ConfigAdmin(store).incremental_alter_configs(dict.fromkeys(resources, operations))


def restore(store: Memory | Variables, texts: Mapping[str, str]) -> None:
    """Write older variables, as from a backup."""
    assert store.swap(store.read(list(texts)), texts, [])


def values(store: Memory | Variables, resource: ConfigResource = DAG) -> dict[str, str | None]:
    return {key: entry.value for key, entry in ConfigAdmin(store).describe_configs([resource])[resource].items()}


def past(store: Memory | Variables, resource: ConfigResource = DAG) -> list[tuple[object, ...]]:
    changes = ConfigAdmin(store).history(resource)
    return [(one.version, one.event, dict(one.was), dict(one.became)) for one in changes]


def of_task(store: Memory | Variables) -> list[dict[str, object]]:
    """Return what a task reads of its own, of its DAG and of the deployment."""
    configs = task_configs(TASK, lambda name: store.read([name])[name].text)
    return [dict(config.values) for config in configs.values()]


@pytest.fixture
def lost(store: Memory | Variables) -> Memory | Variables:
    """A store that had two changes of a DAG and one of its task, whose document is deleted."""
    change(store, DAG, a="1")
    change(store, DAG, a="2", b="1")
    change(store, TASK, a="3")
    store.lose(name_of(DAG))
    return store


def test_versions_go_on(lost):
    change(lost, DAG, a="4")

    assert [version for version, *_ in past(lost)] == [1, 2, 4, 5]


@pytest.mark.parametrize("is_changed", [False, True], ids=["at once", "after a change"])
def test_the_history_has_what_was_lost(lost, is_changed):
    if is_changed:
        change(lost, DAG, a="4")

    assert (4, LOSS, {"a": "2", "b": "1"}, {"a": None, "b": None}) in past(lost)
    assert past(lost, TASK)[1:] == [(4, LOSS, {"a": "3"}, {"a": None})]


def test_nobody_is_said_to_have_lost_it(lost):
    loss = ConfigAdmin(lost).history(DAG)[-1]

    assert (loss.by, loss.at) == ("", "")


def test_a_single_version_besides_0_is_named_alone(lost):
    with pytest.raises(ConfigException, match=r"version 3 is not recorded.* are 0 and 4[.]"):
        ConfigAdmin(lost).rollback(DAG, 3)


def test_without_a_change_the_only_version_is_0():
    with pytest.raises(ConfigException, match=r"version 3 is not recorded\. Only version 0 is recorded[.]"):
        ConfigAdmin(Memory()).rollback(DAG, 3)


@pytest.mark.parametrize("resource", [DAG, TASK], ids=["DAG", "task"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_was_before_a_loss_cannot_be_restored(lost, resource, version):
    change(lost, DAG, c="4")

    with pytest.raises(ConfigException, match=rf"version {version} is not recorded.* are 0, and 4 to 5[.]"):
        ConfigAdmin(lost).rollback(resource, version)


def test_a_loss_cannot_be_rolled_back(lost):
    with pytest.raises(ConfigException, match="DAG 'flights' is that its variable was deleted or replaced"):
        ConfigAdmin(lost).rollback(DAG)


@pytest.mark.parametrize(("version", "expected"), [(None, {"c": "5"}), (5, {"c": "5"}), (4, {}), (0, {})])
def test_what_was_after_a_loss_can_be_restored(lost, version, expected):
    change(lost, DAG, c="5")
    change(lost, DAG, a="6")

    ConfigAdmin(lost).rollback(DAG, version)

    assert values(lost) == expected


def test_a_version_that_was_seen_before_a_loss_is_stale(store):
    change(store, DAG, a="1")
    store.lose(name_of(DAG))
    change(store, DAG, c="9")

    with pytest.raises(StaleVersionError, match="has version 3, but the change is for version 1"):
        ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("a", "2")]}, if_version={DAG: 1})


@pytest.mark.parametrize("is_changed", [False, True], ids=["at once", "after a change of the DAG"])
def test_the_version_of_a_loss_is_the_one_to_name(lost, is_changed):
    if is_changed:
        change(lost, DAG, a="4")
    admin, operations = ConfigAdmin(lost), {TASK: [AlterConfigOp("a", "5")]}

    for version in (0, 3):
        with pytest.raises(StaleVersionError, match="has version 4"):
            admin.incremental_alter_configs(operations, if_version={TASK: version})
    admin.incremental_alter_configs(operations, if_version={TASK: 4})

    assert values(lost, TASK)["a"] == "5"


@pytest.mark.parametrize("is_changed", [False, True], ids=["at once", "after a change of the DAG"])
@pytest.mark.parametrize("is_lost", [False, True], ids=["and the DAG lost nothing", "and the DAG lost something"])
def test_a_task_that_had_nothing_to_lose_keeps_its_version(store, is_lost, is_changed):
    change(store, DAG, a="1" if is_lost else None, b="1")
    change(store, DAG, b=None)
    change(store, TASK, a="1")
    change(store, TASK, a=None)
    store.lose(name_of(DAG))
    if is_changed:
        change(store, DAG, a="4")

    assert past(store, TASK)[-1][0] == 4
    ConfigAdmin(store).incremental_alter_configs({TASK: [AlterConfigOp("a", "5")]}, if_version={TASK: 4})


def test_a_rollback_names_the_version_of_a_loss(lost):
    ConfigAdmin(lost).rollback(DAG, 4, if_version=4)


def test_a_follower_notices_a_document_that_is_as_new_as_the_lost_one_was(store):
    change(store, DAG, a="1")
    members = Reconfigurables({})
    with ConfigAdmin(store, followers={DAG: members}).follow(interval=3600) as follower:
        follower.catch_up()
        store.lose(name_of(DAG))
        change(store, DAG, c="9")
        follower.catch_up()

    assert members.current == {"c": "9"}


def test_a_change_that_is_taken_back_after_a_loss_leaves_what_there_was(lost):
    members = Reconfigurables({})
    members.add(FailingMember("a"))

    with pytest.raises(ConfigException, match="was taken back: version 6 has the previous configuration"):
        ConfigAdmin(lost, followers={DAG: members}).incremental_alter_configs({DAG: [AlterConfigOp("a", "4")]})

    assert values(lost) == {}
    assert [event for _, event, *_ in past(lost)[2:]] == [LOSS, "alter", "take_back"]


def test_a_refresh_after_a_loss_has_a_version_after_it(lost):
    assert ConfigAdmin(lost).refresh([DAG]) == {DAG: 5}
    change(lost, DAG, a="4")

    assert [(version, event) for version, event, *_ in past(lost)[2:]] == [(4, LOSS), (6, "alter")]


def test_the_result_of_a_change_names_the_version_that_is_written(lost):
    done = ConfigAdmin(lost).incremental_alter_configs({DAG: [AlterConfigOp("a", "4")]})[DAG]

    assert done.layers[0].name.endswith("version 5")


def test_an_older_document_that_somebody_restores_is_a_loss_of_what_came_later(store):
    change(store, DAG, a="1", b="1")
    older = {name: kept.text for name, kept in store.read([name_of(DAG)]).items()}
    change(store, DAG, a="2", b=None, c="3")

    restore(store, older)
    change(store, DAG, d="4")

    assert past(store)[2:] == [
        (3, LOSS, {"a": "2", "b": None, "c": "3"}, {"a": "1", "b": "1", "c": None}),
        (4, "alter", {"d": None}, {"d": "4"}),
    ]
    ConfigAdmin(store).rollback(DAG, 3)
    assert values(store) == {"a": "1", "b": "1"}


def described(store: Memory | Variables, resource: ConfigResource) -> str:
    """Return the origin of ``a``, as a description shows it."""
    return ConfigAdmin(store).describe_configs([resource])[resource]["a"].origin


@pytest.mark.parametrize("resource", [DEFAULT, DAG, TASK], ids=["deployment", "DAG", "task"])
def test_the_described_version_of_an_older_document_is_the_one_to_name(store, resource):
    change(store, resource, a="1")
    older = {name: kept.text for name, kept in store.read([name_of(resource)]).items()}
    change(store, resource, a="2")
    restore(store, older)

    assert described(store, resource).endswith("version 3")
    ConfigAdmin(store).incremental_alter_configs({resource: [AlterConfigOp("b", "1")]}, if_version={resource: 3})
    assert described(store, resource).endswith("version 4")


def test_a_task_inherits_the_version_of_an_older_default(store):
    change(store, DEFAULT, a="1")
    older = {name: kept.text for name, kept in store.read([name_of(DEFAULT)]).items()}
    change(store, DEFAULT, a="2")
    restore(store, older)

    assert described(store, TASK).endswith("version 3")


def test_the_loss_of_a_document_that_was_empty_still_ends_what_can_be_restored(store):
    """A key whose change is forgotten can have been in it."""
    change(store, DAG, a="1")
    change(store, DAG, a=None)
    store.lose(name_of(DAG))
    change(store, DAG, a="2")

    with pytest.raises(ConfigException, match="The recorded versions are 0, and 3 to 4"):
        ConfigAdmin(store).rollback(DAG, 1)


def test_a_resource_whose_changes_are_forgotten_has_none_of_the_versions_before_a_loss():
    store = Memory()
    change(store, TASK, a="1")
    for number in range(MOST_CHANGES):
        change(store, DAG, a=str(number + 1))
    store.lose(name_of(DAG))
    change(store, DAG, a="0")

    with pytest.raises(ConfigException, match=rf"The recorded versions are 0, and {MOST_CHANGES + 2} to"):
        ConfigAdmin(store).rollback(TASK, MOST_CHANGES)


def test_a_second_loss_is_another_one(lost):
    change(lost, DAG, a="4")
    lost.lose(name_of(DAG))
    change(lost, DAG, a="5")

    assert [(version, event) for version, event, *_ in past(lost)[2:]] == [
        (4, LOSS),
        (5, "alter"),
        (6, LOSS),
        (7, "alter"),
    ]


def test_a_history_that_was_deleted_with_its_document_begins_anew(lost):
    lost.lose(history_name(DAG))
    change(lost, DAG, a="1")

    assert past(lost) == [(1, "alter", {"a": None}, {"a": "1"})]


@pytest.fixture
def outdated(store: Memory | Variables) -> Memory | Variables:
    """A store with three changes and a refresh of a DAG, whose history is replaced by that of the first change."""
    change(store, DAG, a="1")
    older = {name: kept.text for name, kept in store.read([history_name(DAG)]).items()}
    change(store, DAG, a="2", b="2")
    change(store, DAG, a="3")
    ConfigAdmin(store).refresh([DAG])
    restore(store, older)
    return store


@pytest.mark.parametrize("is_changed", [False, True], ids=["at once", "after a change"])
def test_an_older_history_has_what_it_lacks_as_a_loss(outdated, is_changed):
    if is_changed:
        change(outdated, DAG, c="5")

    assert past(outdated)[:2] == [(1, "alter", {"a": None}, {"a": "1"}), (3, LOSS, {"a": "1"}, {"a": "3"})]
    assert [version for version, *_ in past(outdated)[2:]] == ([5] if is_changed else [])


@pytest.mark.parametrize("version", [1, 2])
def test_a_version_that_an_older_history_cannot_tell_is_not_restored(outdated, version):
    change(outdated, DAG, c="5")

    with pytest.raises(ConfigException, match=rf"version {version} is not recorded.* are 0, and 3 to 5[.]"):
        ConfigAdmin(outdated).rollback(DAG, version)


def test_what_was_when_an_older_history_was_restored_can_be_restored(outdated):
    change(outdated, DAG, c="5")

    ConfigAdmin(outdated).rollback(DAG)

    assert values(outdated) == {"a": "3", "b": "2"}


def test_a_history_that_was_deleted_alone_knows_the_versions_since_then(store):
    change(store, DAG, a="1")
    change(store, DAG, a="2")
    store.lose(history_name(DAG))
    change(store, DAG, a="3")

    with pytest.raises(ConfigException, match=r"version 1 is not recorded.* are 0, and 2 to 3[.]"):
        ConfigAdmin(store).rollback(DAG, 1)


def test_a_change_while_a_task_reads_one_name_after_the_other_is_no_loss():
    store = Memory()
    change(store, DAG, a="0")
    numbers = iter("123456789")

    def read_one(name: str) -> str | None:
        change(store, DAG, a=next(numbers))
        return store.texts.get(name)

    assert {change.event for change in ConfigAdmin(ReadOnlyStore(read_one)).history(DAG)} == {"alter"}


def test_the_history_of_a_document_that_cannot_be_read_is_shown_without_a_loss(store):
    change(store, DAG, a="1")
    restore(store, {name_of(DAG): "odd"})

    assert past(store) == [(1, "alter", {"a": None}, {"a": "1"})]


@pytest.fixture
def odd_history(store: Memory | Variables) -> Memory | Variables:
    """A store with a change of a DAG, whose history nobody can read."""
    change(store, DAG, a="1")
    restore(store, {history_name(DAG): "odd"})
    return store


def test_a_resource_whose_history_cannot_be_read_is_described(odd_history):
    assert values(odd_history) == {"a": "1"}


def test_a_resource_whose_history_cannot_be_decrypted_is_described():
    store = Memory()
    change(store, DAG, a="1")

    def read_one(name: str) -> str | None:
        if name == history_name(DAG):
            raise ProviderUnavailableError("cannot be decrypted")
        return store.texts.get(name)

    assert values(ReadOnlyStore(read_one)) == {"a": "1"}


def test_a_resource_whose_history_cannot_be_read_is_refreshed(odd_history):
    assert ConfigAdmin(odd_history).refresh([DAG]) == {DAG: 2}


def test_a_history_that_cannot_be_read_is_not_changed(odd_history):
    with pytest.raises(ConfigException, match=r"The history in the variable '.*' cannot be read"):
        change(odd_history, DAG, a="2")

    assert values(odd_history) == {"a": "1"}


def test_a_history_that_cannot_be_read_keeps_no_other_resource_from_a_change(odd_history):
    with pytest.raises(ConfigException, match="The other resources were changed: DAG 'trains'"):
        change(odd_history, DAG, OTHER, a="2")

    assert values(odd_history, OTHER) == {"a": "2"}


# The deployment's document


@pytest.fixture
def together(store: Memory | Variables) -> Memory | Variables:
    """A store in which a DAG was changed three times together with the deployment."""
    for value in "123":
        change(store, DEFAULT, DAG, a=value)
    return store


CHANGES = [pytest.param(DEFAULT, id="of the deployment"), pytest.param(OTHER, id="of another DAG")]


@pytest.mark.parametrize("changed", CHANGES)
@pytest.mark.parametrize("is_whole", [False, True], ids=["without its history", "with its history"])
def test_tasks_can_read_what_was_written_together_with_the_lost_default(together, changed, is_whole):
    together.lose(name_of(DEFAULT), *([history_name(DEFAULT)] if is_whole else []))
    change(together, changed, c="9")

    assert of_task(together) == [{}, {"a": "3"}, {"c": "9"} if changed == DEFAULT else {}]


@pytest.mark.parametrize("first", [[], [OTHER]], ids=["of the deployment", "of another DAG"])
def test_the_next_change_records_the_loss_of_the_default_that_it_writes_anew(together, first):
    together.lose(name_of(DEFAULT))
    change(together, *first, c="9")
    change(together, DEFAULT, a="4")

    assert past(together, DEFAULT)[3:] == [(4, LOSS, {"a": "3"}, {"a": None}), (5, "alter", {"a": None}, {"a": "4"})]


def test_an_older_default_that_somebody_restores_can_be_read_after_its_next_change(store):
    change(store, DEFAULT, DAG, a="1")
    older = {name: kept.text for name, kept in store.read([name_of(DEFAULT)]).items()}
    change(store, DEFAULT, DAG, a="2")
    restore(store, older)

    change(store, DEFAULT, b="3")

    assert of_task(store) == [{}, {"a": "2"}, {"a": "1", "b": "3"}]


def test_a_document_that_cannot_be_read_does_not_keep_the_default_from_being_written_anew(together):
    together.lose(name_of(DEFAULT), history_name(DEFAULT))
    restore(together, {name_of(OTHER): "odd"})

    change(together, DEFAULT, c="9")

    assert of_task(together) == [{}, {"a": "3"}, {"c": "9"}]


def test_the_first_change_of_a_dag_writes_no_history_of_the_deployment(store):
    change(store, DAG, a="1")

    assert store.read([history_name(DEFAULT)])[history_name(DEFAULT)].text is None


def test_a_default_whose_history_cannot_be_read_is_written_anew_by_a_change_of_another(together):
    together.lose(name_of(DEFAULT))
    restore(together, {history_name(DEFAULT): "odd"})

    change(together, OTHER, a="4")

    assert of_task(together) == [{}, {"a": "3"}, {}]
