"""The names of stored variables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("airflow")

from airflow.models.variable import Variable
from sqlalchemy import create_engine
from sqlalchemy.orm import Session, sessionmaker

from airflow_config_providers.dynamic.stored_names import stored_names
from airflow_config_providers.exceptions import ProviderUnavailableError


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[sessionmaker[Session]]:
    engine = create_engine(f"sqlite:///{tmp_path}/airflow.db")
    yield sessionmaker(engine)
    engine.dispose()


def test_names_that_begin_with_a_prefix_are_given_in_order(sessions):
    engine = sessions.kw["bind"]
    Variable.metadata.create_all(engine, [Variable.metadata.tables[name] for name in ("team", "variable")])
    with sessions() as session:
        session.add_all([Variable(key=key, val="x") for key in ("a_b.2", "a_b.1", "axb.1", "other.a_b")])
        session.commit()

    assert stored_names("a_b", sessions) == ["a_b.1", "a_b.2"]


def test_a_database_that_cannot_be_asked_is_unavailable(sessions):
    with pytest.raises(ProviderUnavailableError, match="OperationalError") as told:
        stored_names("a", sessions)
    assert told.value.__context__ is None
