"""
### Every week, search the logs for secrets

The task fails if a value of one of the references appears in a log, and names the file, the line and the reference.
With `state`, it reads only what is new since the last week.

Try it, from the directory of this file:

    mkdir -p /tmp/audit/secrets /tmp/audit/logs
    echo -n 'not-so-secret' > /tmp/audit/secrets/token
    echo 'the token is not-so-secret' > /tmp/audit/logs/task.log
    export AIRFLOW_VAR_AUDIT_HOME=/tmp/audit
    export AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT='{"conn_type": "config_providers", "extra": {
        "config.providers": "mounted",
        "config.providers.mounted.class": "directory",
        "config.providers.mounted.param.allowed.paths": "/tmp/audit/secrets"}}'
    airflow db migrate  # only needed if Airflow's database is new
    AIRFLOW__CORE__DAGS_FOLDER=$PWD airflow dags test audit_logs
"""

from __future__ import annotations

import os
from datetime import datetime

from airflow.sdk import DAG

from airflow_config_providers.operators.audit import ConfigAuditOperator

# Which values are searched for is up to the deployment: references are not templated.
HOME = os.environ.get("AIRFLOW_VAR_AUDIT_HOME", "/var/lib/airflow")

with DAG(
    "audit_logs",
    description="A weekly search of the logs for secrets",
    doc_md=__doc__,
    schedule="@weekly",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    tags=["example", "config-providers"],
):
    ConfigAuditOperator(
        task_id="leaks",
        paths=["{{ var.value.audit_home }}/logs"],
        references=[f"${{mounted:{HOME}/secrets:token}}"],
        state="{{ var.value.audit_home }}/state",
        report="{{ var.value.audit_home }}/leaks.html",
    )
