"""Encrypting stored secrets anew."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import documents, name_of
from airflow_config_providers.dynamic.encoder_rotation import Rotation
from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.testing import FakeClock, InMemoryConfigStore
from tests.dynamic.written import task_layers

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")
DEFINITION = ConfigDef().define("password", ConfigType.PASSWORD, None)
FAST = {"iterations": 10}
OLD = PasswordEncoder("old", **FAST)
BOTH = PasswordEncoder("new", old_secret="old", **FAST)
NEW = PasswordEncoder("new", **FAST)


@pytest.fixture
def store() -> InMemoryConfigStore:
    store = InMemoryConfigStore()
    for value in ("hunter2", "hunter3"):
        admin(store).incremental_alter_configs({one: [AlterConfigOp("password", value)] for one in (DAG, TASK)})
    return store


def admin(store: InMemoryConfigStore, encoder: PasswordEncoder = OLD) -> ConfigAdmin:
    return ConfigAdmin(store, DEFINITION, seal=encoder.encode)


def rotated(store: InMemoryConfigStore, encoder: PasswordEncoder = BOTH, **more: object) -> list[tuple[object, ...]]:
    done = Rotation(store, encoder, **more).rotate(documents(list(store.texts)))
    return [(one.name, one.secrets, one.reencrypted, len(one.problems)) for one in done if one.secrets or one.problems]


def opened(store: InMemoryConfigStore, encoder: PasswordEncoder, most: int = 3) -> list[str]:
    layers = task_layers("flights", "report", store.texts.get, lambda sealed: encoder.decode(sealed.text).value)
    return [layer.secrets["password"]() for layer in layers[:most]]


def test_the_new_secret_alone_opens_all_and_versions_stay(store):
    before = [change.version for change in admin(store).history(DAG)]

    assert rotated(store) == [(name_of(DAG), 8, 8, 0)]

    assert opened(store, NEW) == ["hunter3", "hunter3"]
    assert [change.version for change in admin(store).history(DAG)] == before
    assert store.audit[-1].event == "rotate"
    assert "hunter" not in str(store.texts) + str(store.audit)


def test_a_second_time_changes_nothing(store):
    rotated(store)
    before = dict(store.texts)

    assert rotated(store) == [(name_of(DAG), 8, 0, 0)]
    assert store.texts == before


def test_histories_still_fit(store):
    rotated(store)

    result = admin(store, NEW).rollback(TASK)

    assert list(result.entries) == ["password"]
    assert opened(store, NEW) == ["hunter2", "hunter3"]
    assert admin(store, NEW).rollback(DAG, 2).entries == {}


@pytest.mark.parametrize("length", [213, 214, 221, 222], ids="{} characters".format)
def test_the_history_of_a_dag_with_a_long_name_is_rotated_with_it(length):
    """The name of a history is longer than that of its document, so it can be a hash while the other is not."""
    store, dag = InMemoryConfigStore(), ConfigResource(ResourceType.DAG, "d" * length)
    for value in ("hunter2", "hunter3"):
        admin(store).incremental_alter_configs({dag: [AlterConfigOp("password", value)]})
    names = set(store.texts)

    assert rotated(store) == [(name_of(dag), 4, 4, 0)]
    assert set(store.texts) == names
    assert list(admin(store, NEW).rollback(dag).entries) == ["password"]


def test_validate_only_counts_and_writes_nothing(store):
    before = dict(store.texts)

    assert rotated(store, validate_only=True) == [(name_of(DAG), 8, 8, 0)]
    assert store.texts == before


def test_what_no_secret_opens_is_told_and_left_and_the_rest_is_done(store):
    other = PasswordEncoder("lost", **FAST)
    admin(store, other).incremental_alter_configs({DEFAULT: [AlterConfigOp("password", "hunter4")]})

    found = {one[0]: one[1:] for one in rotated(store)}

    assert found == {name_of(DAG): (8, 8, 0), name_of(DEFAULT): (2, 0, 1)}
    assert opened(store, NEW, 2) == ["hunter3", "hunter3"]


def test_a_document_that_cannot_be_read_is_told_and_left(store):
    before = store.texts[name_of(DEFAULT)]
    store.texts[name_of(DEFAULT)] = "odd"

    assert (name_of(DEFAULT), 0, 0, 1) in rotated(store)
    assert store.texts[name_of(DEFAULT)] == "odd"
    store.texts[name_of(DEFAULT)] = before
    assert opened(store, NEW)[0] == "hunter3"


def test_what_others_change_meanwhile_is_kept(store):
    class Interfering(InMemoryConfigStore):
        def swap(self, expected, texts, audit) -> bool:
            if not self.audit:
                admin(store).incremental_alter_configs({DAG: [AlterConfigOp("other", "x")]})
                self.audit.append(None)
            return store.swap(expected, texts, audit)

        def read(self, names):
            return store.read(names)

    (one,) = Rotation(Interfering(), BOTH, sleep=FakeClock().sleep).rotate([name_of(DAG)])

    assert one.reencrypted == 8
    assert admin(store).describe_configs([DAG])[DAG]["other"].value == "x"
    assert opened(store, NEW) == ["hunter3", "hunter3"]


def test_who_never_gets_a_turn_is_told(store):
    class Busy(InMemoryConfigStore):
        def swap(self, expected, texts, audit) -> bool:
            return False

        def read(self, names):
            return store.read(names)

    with pytest.raises(ProviderUnavailableError, match="keep changing"):
        list(Rotation(Busy(), BOTH, sleep=FakeClock().sleep).rotate([name_of(DAG)]))


def test_documents_are_told_from_their_histories():
    names = [
        "config_providers.dynamic." + rest for rest in ("default", "dag.history.x", "history.dag.x", "long.1", "x")
    ]

    assert documents([*names, "other"]) == sorted([names[0], names[1], names[3]])


def test_kafka_s_own_texts_are_encoded_anew(store):
    """A text without integrity is written with it."""
    kafka = PasswordEncoder("new", cipher_algorithm="AES/CBC/PKCS5Padding", **FAST)
    store.texts.clear()
    admin(store, kafka).incremental_alter_configs({DAG: [AlterConfigOp("password", "hunter5")]})

    assert rotated(store, NEW) == [(name_of(DAG), 2, 2, 0)]
    assert NEW.decode(NEW.encode(Password("x"))).value == "x"
    assert "AES/CBC" not in str(store.texts)
