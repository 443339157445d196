"""What the store of dynamic configuration leans on in Airflow's models."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow.models.crypto import get_fernet
from airflow.models.log import Log
from airflow.models.variable import Variable
from airflow.secrets.metastore import MetastoreBackend
from cryptography.fernet import Fernet
from sqlalchemy import create_engine, insert
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from airflow_config_providers.dynamic.airflow_store import airflow_session
from airflow_config_providers.dynamic.document import _LONGEST_NAME


def test_a_variable_is_a_unique_key_with_a_text_and_whether_it_is_encrypted():
    columns = Variable.__table__.c

    assert columns.key.unique
    assert columns.key.type.length >= _LONGEST_NAME
    assert columns.val.type.length is None
    assert {"key", "val", "is_encrypted"} <= set(columns.keys())


def test_what_a_variable_encrypts_is_what_the_store_decrypts():
    variable = Variable(key="a", val="text")
    fernet = get_fernet()

    stored = variable._val.encode()

    assert (fernet.decrypt(stored) if variable.is_encrypted else stored) == b"text"
    assert variable.is_encrypted is fernet.is_encrypted


def test_a_variable_that_cannot_be_decrypted_is_taken_for_missing(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", Fernet.generate_key().decode())
    get_fernet.cache_clear()
    engine = create_engine("sqlite://", poolclass=StaticPool)
    Variable.__table__.create(engine)
    with Session(engine) as session:
        session.execute(insert(Variable.__table__).values(key="a", val="of another key", is_encrypted=True))

        assert MetastoreBackend().get_variable("a", session=session) is None
    engine.dispose()
    get_fernet.cache_clear()


def test_a_variable_that_the_store_does_not_give_a_column_has_none():
    """Rows are written without the model: other columns must have a default, or take none."""
    written = {"id", "key", "val", "is_encrypted"}

    assert all(column.nullable or column.default for column in Variable.__table__.c if column.name not in written)


def test_an_entry_of_the_log_takes_a_dag_and_a_task():
    log = Log("event", owner="ann", extra="{}", dag_id="flights", task_id="report")

    assert (log.event, log.owner, log.dag_id, log.task_id) == ("event", "ann", "flights", "report")


def test_a_session_is_not_that_of_the_thread():
    """Else a change would commit, and close, what its caller has begun."""
    from airflow import settings

    of_thread = settings.get_session()()
    own = airflow_session()
    try:
        assert own is not of_thread
        assert own.get_bind() is of_thread.get_bind()
    finally:
        own.close()
        settings.get_session().remove()
