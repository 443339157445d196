"""Processes that follow dynamic configuration in PostgreSQL learn of a change at once, and not with their next poll."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

pytest.importorskip("airflow")
pytest.importorskip("psycopg2", reason="psycopg2 is missing: pip install psycopg2-binary")

from airflow.models import crypto
from cryptography.fernet import Fernet
from sqlalchemy import create_engine, text
from sqlalchemy.orm import sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.reconfigurable import Reconfigurable, Reconfigurables
from airflow_config_providers.dynamic import airflow_store
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from tests.dynamic.changing import create_tables
from tests.limits import LONGEST, eventually
from tests.servers.postgresql import postgresql, required_postgresql

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAG = ConfigResource(ResourceType.DAG, "flights")
NEVER = 86_400.0
"""So seldom that what is noticed in a test was not noticed by a poll."""

LISTENING = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()"


class Told(Reconfigurable):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.values: list[object] = []

    def reconfigurable_configs(self) -> Sequence[str]:
        return ["a"]

    def validate_reconfiguration(self, configs: Mapping[str, object]) -> None:
        pass

    def reconfigure(self, configs: Mapping[str, object]) -> None:
        self.values.append(configs.get("a"))


class Database:
    """A PostgreSQL that several processes use, each with connections of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        create_tables(create_engine(url))

    def store(self) -> VariableStore:
        return VariableStore(begin=sessionmaker(create_engine(self._url)))

    def alter(self, value: str) -> None:
        ConfigAdmin(self.store()).incremental_alter_configs({DAG: [AlterConfigOp("a", value)]})

    def ask(self, statement: str) -> list[object]:
        with create_engine(self._url).connect() as connection:
            return list(connection.execute(text(statement)).scalars())

    @contextmanager
    def following(self, told: Told) -> Iterator[None]:
        members = Reconfigurables({})
        members.add(told)
        with ConfigAdmin(self.store(), followers={DAG: members}).follow(interval=NEVER):
            assert eventually(lambda: self.ask(f"SELECT pid {LISTENING}"))
            yield


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    programs = required_postgresql()
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", Fernet.generate_key().decode())
    crypto.get_fernet.cache_clear()
    with postgresql(programs) as url:
        yield Database(url)
    crypto.get_fernet.cache_clear()


def test_a_change_is_noticed_without_a_poll(database: Database) -> None:
    told = Told()
    with database.following(told):
        for value in ("1", "2"):
            database.alter(value)
            assert eventually(lambda value=value: told.values[-1:] == [value])


def test_a_change_while_the_connection_was_lost_is_noticed_when_it_is_back(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_store, "_NEXT_TRY", 0.2)
    told = Told()
    with database.following(told):
        database.ask(f"SELECT pg_terminate_backend(pid) {LISTENING}")
        database.alter("1")
        assert eventually(lambda: told.values[-1:] == ["1"])
        assert eventually(lambda: database.ask(f"SELECT pid {LISTENING}"))


def test_nothing_is_left_after_the_end(database: Database) -> None:
    with database.following(Told()):
        assert "config-signals" in {thread.name for thread in threading.enumerate()}

    assert "config-signals" not in {thread.name for thread in threading.enumerate()}
    assert eventually(lambda: database.ask(f"SELECT pid {LISTENING}") == [])


def test_a_forked_child_leaves_the_connection_to_its_parent(database: Database) -> None:
    told = Told()
    with database.following(told):
        if not (child := os.fork()):
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        database.alter("1")
        assert eventually(lambda: told.values[-1:] == ["1"])


def test_a_follower_ends_while_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = create_engine("postgresql+psycopg2://postgres@/postgres?host=/nonexistent")
    signals = airflow_store.ChangeSignals(engine, lambda: None)
    ending = threading.Thread(target=signals.close)
    ending.start()
    ending.join(LONGEST)

    assert not ending.is_alive()
