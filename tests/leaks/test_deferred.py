"""What a deferred task leaves in the database is searched, and its batch ends once a trigger has watched it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from cryptography.fernet import Fernet

from tests.leaks.canaries import LIVY, LIVY_LOG, Column, new_canaries
from tests.leaks.deferred import DeferredTasks
from tests.leaks.deployment import LeakyAirflow
from tests.leaks.livy import ASKED_BEFORE_THE_END, Livy
from tests.leaks.matrix import Matrix
from tests.leaks.proof import digest
from tests.leaks.sinks import Sink
from tests.servers.web import Request

TABLES = """
    create table trigger (id, classpath, kwargs);
    create table task_instance (task_id, trigger_id, next_kwargs);
    insert into task_instance values ('ours_deferred', 1, null);
"""
CANARY = next(canary for canary in new_canaries([Column.OURS]) if canary.slot == LIVY_LOG)
BATCH = {"name": "ours_deferred", "conf": {LIVY.key: "not printed", LIVY_LOG.key: CANARY.value}}


def ask(livy, path, *, agent="", body=None):
    """Ask Livy as HTTP would."""
    method, sent = ("POST", json.dumps(body).encode()) if body else ("GET", b"")
    return json.loads(livy(Request(method, path, "", {"user-agent": agent}, sent)).body)


@pytest.fixture
def livy():
    """A Livy with one batch."""
    livy = Livy()
    ask(livy, "/batches", body=BATCH)
    return livy


class Deferred:
    """An Airflow with one deferred task, and what was found in its database."""

    def __init__(self, home, livy):
        self._leaky = LeakyAirflow(home, [CANARY], master_url="spark://127.0.0.1:1", livy_port=1)
        self._matrix = Matrix([CANARY])
        self._looks = DeferredTasks(self._leaky, self._matrix, livy)
        self.change(TABLES)

    def change(self, sql, *values):
        with closing(sqlite3.connect(self._leaky.home / "airflow.db")) as database:
            for statement in sql.split(";"):
                database.execute(statement, values)
            database.commit()

    def encrypt(self, text):
        return Fernet(self._leaky.airflow.environ["AIRFLOW__CORE__FERNET_KEY"]).encrypt(text.encode()).decode()

    def found(self):
        self._looks.look()
        return {leak.sink for leak in self._matrix.found}


@pytest.fixture
def deferred(tmp_path, livy):
    return Deferred(tmp_path / "home", livy)


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
def test_a_stored_trigger_is_searched(deferred, is_encrypted):
    kwargs = json.dumps({"spark_params": {"conf": {"key": CANARY.value}}})
    stored = deferred.encrypt(kwargs) if is_encrypted else kwargs
    deferred.change("insert into trigger values (1, 'a.Trigger', ?)", stored)

    assert deferred.found() == {Sink.TRIGGER}


def test_what_a_task_is_resumed_with_is_searched(deferred):
    deferred.change("update task_instance set next_kwargs = ?", json.dumps({"event": [CANARY.value]}))

    assert deferred.found() == {Sink.RESUMED}


def test_a_batch_ends_when_a_trigger_has_asked_for_it_often_enough(deferred, livy):
    deferred.change("insert into trigger values (1, 'a.Trigger', '{}')")
    states = []
    for _ in range(ASKED_BEFORE_THE_END):
        deferred.found()
        states.append(ask(livy, "/batches/0/state", agent="Python aiohttp")["state"])
    deferred.found()

    assert set(states) == {"running"}
    assert ask(livy, "/batches/0/state")["state"] == "success"


def test_a_batch_prints_one_of_its_secrets_and_tells_the_digests_of_all(livy):
    lines = "\n".join(ask(livy, "/batches/0/log")["log"])

    assert CANARY.value in lines
    assert "not printed" not in lines
    assert livy.values() == {"ours_deferred": {digest("not printed"), digest(CANARY.value)}}
