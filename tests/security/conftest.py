"""Processes of Airflow, for attacks by way of its secrets."""

from __future__ import annotations

from tests.operators.conftest import (  # noqa: F401 - as below
    connections,
    dag,
    jvm_of_a_test,
    password,
    run_task,
    secrets_dir,
    spark_submit,
    store,
)
from tests.providers.conftest import configure_backend, in_task  # noqa: F401 - for the tests beside this file
