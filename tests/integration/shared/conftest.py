"""The deployment that all these tests share. Each adds its own DAGs and connections."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.integration.conftest import Airflow


class SharedAirflow(Airflow):
    """A deployment to which tests add what they need, while it runs."""

    def add_dags(self, name: str, source: str) -> None:
        """Add a file with DAGs, as a whole: Airflow may look at any time."""
        new = self.home / f"{name}.new"
        new.write_text(source)
        new.rename(self.dags / f"{name}.py")

    def add_connection(self, conn_id: str, connection: Mapping[str, Any]) -> None:
        """Add a connection; ask again where SQLite refuses a write because the scheduler writes."""
        extra = {"extra": json.dumps(connection["extra"])} if "extra" in connection else {}
        body = {**connection, **extra, "connection_id": conn_id}
        self.wait(f"connection {conn_id}", lambda: self.post("/api/v2/connections", body))


@pytest.fixture(scope="package")
def shared_airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedAirflow]:
    """The deployment."""
    home = tmp_path_factory.mktemp("shared") / "airflow"
    with SharedAirflow(home, AIRFLOW__CORE__TEST_CONNECTION="Enabled") as deployment:
        yield deployment
