"""
### A secret that only the driver reads

The job of `quickstart`, but its token is resolved by the driver, as on a cluster: what Airflow hands to `spark-submit`
is the reference, and how to resolve it. The worker's own providers do not know the file.

Try it, from the directory of this file:

    echo 'token=not-so-secret' > /tmp/hello.properties
    export AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[1]"}'
    export AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT='{"conn_type": "config_providers", "extra": {
        "driver.config.providers": "mounted",
        "driver.config.providers.mounted.class": "file",
        "driver.config.providers.mounted.param.allowed.paths": "/tmp/hello.properties"}}'
    airflow db migrate  # only needed if Airflow's database is new
    AIRFLOW__CORE__DAGS_FOLDER=$PWD AIRFLOW_VAR_HELLO_FILE=/tmp/hello.properties airflow dags test resolve_in_driver
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

JOBS = Path(__file__).resolve().parent / "jobs"

with DAG(
    "resolve_in_driver",
    description="One Spark job that resolves its reference itself",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2026, 1, 1),
    tags=["example", "config-providers"],
):
    ConfiguredSparkSubmitOperator(
        task_id="hello",
        application=f"{JOBS}/hello_driver.py",
        resolve_in="driver",
        conf={
            "spark.ui.enabled": False,
            "spark.log.level": "WARN",
            "spark.hello.name": "driver",
            "spark.hello.token": "${mounted:{{ var.value.hello_file }}:token}",
        },
    )
