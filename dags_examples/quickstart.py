"""
### One job, two references

`spark.hello.name` comes from the environment of the worker, `spark.hello.token` from a properties file. What Airflow
stores, shows and logs are the references.

Try it, from the directory of this file:

    echo 'token=not-so-secret' > /tmp/hello.properties
    export HELLO_NAME=world AIRFLOW_VAR_HELLO_FILE=/tmp/hello.properties
    export AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[1]"}'
    export AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT='{"conn_type": "config_providers", "extra": {
        "config.providers": "file,env",
        "config.providers.file.class": "file",
        "config.providers.file.param.allowed.paths": "/tmp/hello.properties",
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "HELLO_.*"}}'
    airflow db migrate  # only needed if Airflow's database is new
    AIRFLOW__CORE__DAGS_FOLDER=$PWD airflow dags test quickstart
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

JOBS = Path(__file__).resolve().parent / "jobs"

with DAG(
    "quickstart",
    description="One Spark job with two references",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2026, 1, 1),
    tags=["example", "config-providers"],
):
    ConfiguredSparkSubmitOperator(
        task_id="hello",
        application=f"{JOBS}/hello.py",
        conf={
            "spark.ui.enabled": False,
            "spark.log.level": "WARN",
            "spark.hello.name": "${env:HELLO_NAME}",
            "spark.hello.token": "${file:{{ var.value.hello_file }}:token}",
        },
    )
