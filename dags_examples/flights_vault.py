"""
### The same pipeline, its password in Vault

The jobs of `flights_delay_report`, but the user and the password of the database are in HashiCorp Vault. The task
`report` signs in, reads both with one request, and gives its login back when the job has ended. The other tasks have no
reference, and do not ask Vault.

What Vault needs, once; `flights` is a policy that allows `read` on `secret/data/flights/database`:

    vault kv put secret/flights/database user=flights_report password=@password.txt
    vault write auth/approle/role/flights token_policies=flights

What Airflow needs, besides the connection `spark_default` and the variables `flights_home` and `flights_stage`: a
connection to Vault, with the role's id as login and its secret id as password, and a provider that uses it.

    airflow connections add vault_default --conn-type vault --conn-host 127.0.0.1 --conn-port 8200 \
        --conn-schema secret --conn-login "$ROLE_ID" --conn-password "$SECRET_ID" \
        --conn-extra '{"auth_type": "approle", "kv_engine_version": 2}'
    airflow connections add config_providers_default --conn-type config_providers --conn-extra '{
        "config.providers": "vault",
        "config.providers.vault.class": "vault",
        "config.providers.vault.param.conn_id": "vault_default"}'
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

FLIGHTS = Path(__file__).resolve().parent / "flights"
JOBS = FLIGHTS / "jobs"
CONF = FLIGHTS / "conf"

with DAG(
    "flights_vault",
    description="The flights pipeline with its password in Vault",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2013, 1, 1),
    default_args={
        "py_files": f"{JOBS}/flights_common.py,{JOBS}/flights_datasets.py",
        "config_files": [f"{CONF}/base.properties", f"{CONF}/{{{{ var.value.flights_stage }}}}.properties"],
    },
    tags=["example", "config-providers"],
):
    ingest = ConfiguredSparkSubmitOperator(task_id="ingest", application=f"{JOBS}/ingest.py")
    join = ConfiguredSparkSubmitOperator(task_id="join", application=f"{JOBS}/join.py")
    report = ConfiguredSparkSubmitOperator(
        task_id="report",
        application=f"{JOBS}/report.py",
        conf={
            "spark.flights.report.until": "{{ ds }}",
            "spark.flights.db.url": "jdbc:derby:flights",
            "spark.flights.db.user": "${vault:flights/database:user}",
            "spark.flights.db.password": "${vault:flights/database:password}",
        },
    )
    ingest >> join >> report
