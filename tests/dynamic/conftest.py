"""A database of Airflow's with the tables that dynamic configuration is kept in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sqlalchemy.orm import Session, sessionmaker

    from airflow_config_providers.dynamic.airflow_store import VariableStore


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[sessionmaker[Session]]:
    from sqlalchemy import create_engine
    from sqlalchemy.orm import sessionmaker

    from tests.dynamic.changing import create_tables

    engine = create_engine(f"sqlite:///{tmp_path}/airflow.db")
    create_tables(engine)
    yield sessionmaker(engine)
    engine.dispose()


@pytest.fixture
def store(sessions: sessionmaker[Session]) -> VariableStore:
    from airflow_config_providers.dynamic.airflow_store import VariableStore

    return VariableStore("ann", sessions)
