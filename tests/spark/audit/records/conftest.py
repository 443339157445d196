"""A session of Spark for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.session")
pytest.importorskip("airflow.sdk")

from airflow_config_providers.spark.audit.records.past_records import CONFIGS
from airflow_config_providers.spark.audit.session import audit_session
from tests.servers.own_jvm import shared_jvm
from tests.spark.audit.records.past import QUICK, Past


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with shared_jvm(), audit_session("local[2]", {**CONFIGS, **QUICK}) as session:
        yield session


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path / "records")
