"""Processes that change one configuration at the same time, or follow it, on the databases of real deployments."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow.models import crypto
from airflow.models.log import Log
from cryptography.fernet import Fernet
from sqlalchemy import func, select
from sqlalchemy.orm import Session, sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.store import Snapshot
from tests.dynamic import following
from tests.dynamic.changing import DEFAULT, children_of, expected, jars, started
from tests.servers.postgresql import postgresql, required_postgresql

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAG = ConfigResource(ResourceType.DAG, "flights")
PROCESSES = 8
TIMES = int(os.environ.get("CONTENTION_TIMES", "25"))
EVERY = 5
"""Of so many changes one makes the configuration longer; else most of the time would go into reading it."""

KILLS = 20


@pytest.fixture(params=["sqlite", "postgresql", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    """Where an empty database is."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/airflow.db"


@pytest.fixture
def postgresql_url() -> Iterator[str]:
    pytest.importorskip("psycopg2", reason="psycopg2 is missing: pip install psycopg2-binary")
    programs = required_postgresql()
    with postgresql(programs) as url:
        yield url


@pytest.fixture(autouse=True)
def fernet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", Fernet.generate_key().decode())
    crypto.get_fernet.cache_clear()
    yield
    crypto.get_fernet.cache_clear()


@pytest.fixture
def store(sessions: sessionmaker[Session]) -> VariableStore:
    return VariableStore("test", sessions)


def test_eight_processes_lose_none_of_their_changes(url, sessions, store):
    with started(url, PROCESSES, TIMES, "flights", every=EVERY) as parent:
        parent.communicate()
    found = Snapshot.read(store, [DAG]).config(DAG)

    assert parent.returncode == 0
    assert jars(store, DAG) == expected(PROCESSES, TIMES, EVERY)
    assert [found.values[f"spark.app.count{process}"] for process in range(PROCESSES)] == [str(TIMES - 1)] * PROCESSES
    assert found.version == PROCESSES * TIMES
    with sessions() as session:
        assert session.scalar(select(func.count()).select_from(Log)) == PROCESSES * TIMES


def test_a_kill_at_any_point_leaves_the_old_or_the_new(url, sessions, store):
    """Each change is one of two documents, their histories and two entries of the log."""
    with started(url, KILLS, 1000, "flights", "") as parent:
        children = children_of(parent)
        while not jars(store, DAG):
            time.sleep(0.05)
        for child in children:
            time.sleep(random.uniform(0.05, 0.4))
            os.kill(int(child), signal.SIGKILL)
            one = Snapshot.read(store, [DAG])
            assert one.config(DAG).values == one.config(DEFAULT).values
            assert one.document(DAG).beside == one.document(DEFAULT).version
        parent.communicate()

    changes = one.config(DEFAULT).version
    assert parent.returncode == KILLS
    assert len(jars(store, DAG)) == Snapshot.read(store, [DAG]).config(DAG).version >= changes > 0
    with sessions() as session:
        assert session.scalar(select(func.count()).select_from(Log)) == 2 * len(jars(store, DAG))
    ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "v")]})


def test_a_process_that_follows_is_told_what_another_one_changes_and_refreshes(url, store, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("old")
    admin = ConfigAdmin(store)
    with following.started(url, "flights", secret) as told:
        assert next(told) == "nothing yet"

        admin.incremental_alter_configs({DAG: [AlterConfigOp("a", "${vault:a:b}")]})
        assert next(told) == "${vault:a:b} old"

        secret.write_text("new")
        admin.refresh([DEFAULT])
        assert next(told) == "${vault:a:b} new"
