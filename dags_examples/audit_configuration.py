"""
### Every week, audit the configuration of all runs

Three pages for the meeting: what drifts between runs, which runs the policies of tomorrow would have stopped, and who
still has an older value of a secret. They read the records that each try leaves below
`[config_providers] records_path` and, with `parquet`, only those that are new since the last week.

Try it, from the directory of this file, after `records_path` was set and some tasks have run:

    export AIRFLOW_VAR_AUDIT_HOME=/tmp/audit
    mkdir -p /tmp/audit
    echo 'policies: [{name: small, class: bounds, params: {spark.executor.memory: {max: 4g}}}]' \\
        > /tmp/audit/tomorrow.yaml
    AIRFLOW__CORE__DAGS_FOLDER=$PWD airflow dags test audit_configuration
"""

from __future__ import annotations

import os
from datetime import datetime

from airflow.sdk import DAG

from airflow_config_providers.operators.record_audits import (
    ConfigHistoryAuditOperator,
    ConfigPolicyAuditOperator,
    ConfigReferenceAuditOperator,
)

# Which policies are asked is up to the deployment: their file is not templated.
HOME = os.environ.get("AIRFLOW_VAR_AUDIT_HOME", "/var/lib/airflow")

PARQUET = "{{ var.value.audit_home }}/records"

with DAG(
    "audit_configuration",
    description="A weekly audit of the configuration of all runs",
    doc_md=__doc__,
    schedule="@weekly",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["example", "config-providers"],
):
    history = ConfigHistoryAuditOperator(
        task_id="history",
        parquet=PARQUET,
        report="{{ var.value.audit_home }}/history.html",
        output_parquet="{{ var.value.audit_home }}/history.parquet",
    )
    policies = ConfigPolicyAuditOperator(
        task_id="policies",
        policies=f"{HOME}/tomorrow.yaml",
        # The default: they are not in force yet, so what they would stop is news. True fails the task.
        fail_on_stopped=False,
        parquet=PARQUET,
        report="{{ var.value.audit_home }}/policies.html",
    )
    references = ConfigReferenceAuditOperator(
        task_id="references",
        parquet=PARQUET,
        report="{{ var.value.audit_home }}/references.html",
    )
    history >> policies >> references  # one after another: each would read the same new records
