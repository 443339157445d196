"""A deployment for each attempt; the API server is started once, by the first that asks it."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from tests.operators.conftest import connections, dag, run_task, secrets_dir, spark_submit, store  # noqa: F401 - fixtures
from tests.plugins.conftest import deployment, running, server  # noqa: F401 - fixtures
from tests.trust.world import OPEN, SECRET, World


@pytest.fixture
def world(request, tmp_path, secrets_dir, dag, run_task, spark_submit, store, connections, monkeypatch):  # noqa: F811 - all that a deployment has
    (secrets_dir / "open").write_text(OPEN)
    (secrets_dir / "secret").write_text(SECRET)
    return World(
        home=tmp_path,
        secrets=secrets_dir,
        dag=dag,
        run_task=run_task,
        submissions=spark_submit,
        store=store,
        patch=monkeypatch,
        serve=lambda: request.getfixturevalue("server"),
    )
