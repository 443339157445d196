"""The fixtures of operators."""

from tests.operators.conftest import (  # noqa: F401 - fixtures
    connections,
    dag,
    no_leak,
    password,
    run_task,
    secrets_dir,
    store,
)
