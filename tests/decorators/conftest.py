"""The fixtures of operators."""

from tests.operators.conftest import (  # noqa: F401 - fixtures
    connections,
    dag,
    run_task,
    secrets_dir,
    store,
)
