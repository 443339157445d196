"""The fixtures of operators."""

from tests.operators.conftest import (  # noqa: F401 - fixtures
    connections,
    dag,
    jvm_of_a_test,
    no_leak,
    password,
    run_task,
    secrets_dir,
    store,
)
