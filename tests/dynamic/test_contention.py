"""Who gets through when many write, counted in attempts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.document import name_of
from airflow_config_providers.dynamic.store import AuditEntry, Kept
from airflow_config_providers.dynamic.writer import UNGUARDED
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.testing import FakeClock, InMemoryConfigStore
from tests.dynamic.failing_member import FailingMember

DAG = ConfigResource(ResourceType.DAG, "flights")


class Rival(AlterConfigPolicy):
    """A policy during which somebody else tries to write. It counts how often it is asked."""

    def __init__(self, write: Callable[[int], None]) -> None:
        self.asked = 0
        self._write = write

    def validate(self, request: RequestMetadata) -> None:
        self.asked += 1
        self._write(self.asked)


class Crowded(InMemoryConfigStore):
    """A store that others write to between each reading and writing, except in somebody's turn."""

    is_kept = False
    written = 0

    @contextmanager
    def turn(self, names: Collection[str]) -> Iterator[Crowded]:
        self.is_kept = name_of(DAG) in names
        yield self
        self.is_kept = False

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        self.written += 1
        if not self.is_kept and self.written % 2:
            ConfigAdmin(self).incremental_alter_configs({DAG: [AlterConfigOp("theirs", str(self.written))]})
        return super().swap(expected, texts, audit)


class WithoutTurns:
    """A store of a user's own, from before there were turns."""

    def __init__(self, store: InMemoryConfigStore) -> None:
        self.read, self.swap = store.read, store.swap


def test_who_fails_twice_takes_a_turn_and_gets_through():
    store, clock = Crowded(), FakeClock()
    policy = Rival(lambda number: None)

    ConfigAdmin(store, policies=[policy], sleep=clock.sleep).incremental_alter_configs(
        {DAG: [AlterConfigOp("ours", "1")]}
    )

    assert policy.asked == UNGUARDED + 1
    assert ConfigAdmin(store).describe_configs([DAG])[DAG]["ours"].value == "1"


def test_what_is_taken_back_takes_a_turn_too():
    store = Crowded()
    members = Reconfigurables({})
    members.add(FailingMember("ours"))

    with pytest.raises(ConfigException, match="was taken back"):
        ConfigAdmin(store, followers={DAG: members}, sleep=FakeClock().sleep).incremental_alter_configs(
            {DAG: [AlterConfigOp("ours", "1")]}
        )
    assert "ours" not in ConfigAdmin(store).describe_configs([DAG])[DAG]


def test_a_store_that_knows_no_turns_is_tried_anew():
    store, texts = InMemoryConfigStore(), {1: "a", 2: "b", 3: "c", 4: "d"}

    def write(number: int) -> None:
        if number in texts:
            ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("theirs", texts[number])]})

    policy = Rival(write)
    ConfigAdmin(WithoutTurns(store), policies=[policy], sleep=FakeClock().sleep).incremental_alter_configs(
        {DAG: [AlterConfigOp("ours", "1")]}
    )

    assert policy.asked == len(texts) + 1


# On a real database


def test_nobody_else_writes_in_a_turn_and_everybody_after_it(sessions):
    """The rival writes as often as it can, and loses nothing that was reported as written."""
    from sqlalchemy import create_engine
    from sqlalchemy.orm import sessionmaker

    from airflow_config_providers.dynamic.airflow_store import VariableStore

    rival = VariableStore("bob", sessionmaker(create_engine(sessions.kw["bind"].url, connect_args={"timeout": 0})))
    name, done = name_of(DAG), []

    def write(number: int) -> None:
        kept = rival.read([name])
        done.append(rival.swap(kept, {name: f"{kept[name].text} "}, []))

    store = VariableStore("ann", sessions)
    ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("ours", "0")]})
    policy = Rival(write)
    ConfigAdmin(store, policies=[policy]).incremental_alter_configs({DAG: [AlterConfigOp("ours", "1")]})

    assert policy.asked == UNGUARDED + 1
    assert done == [True] * UNGUARDED + [False]
    write(0)
    assert done[-1]
