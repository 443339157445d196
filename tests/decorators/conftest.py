"""The fixtures of operators."""

from tests.operators.conftest import (  # noqa: F401 - fixtures
    connections,
    dag,
    no_leak,
    own_jvm,
    password,
    run_task,
    secrets_dir,
    store,
)
