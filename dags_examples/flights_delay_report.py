"""
### Delays of 336,776 flights

Three Spark jobs: `ingest` turns CSV into Parquet and counts what it rejects, `join` adds weather, planes, airlines and
airports, `report` sums up delays and writes them to a database that asks for a password.

Settings that several jobs share are written once. Each setting comes from the strongest layer that has it. Dynamic
configuration is stronger than these, and the deployment must allow the first two:

1. the run: `airflow dags trigger --conf '{"spark_conf": {"spark.flights.report.top": 5}}'`
2. the environment: `SPARK_SQL_SHUFFLE_PARTITIONS=4`
3. the `conf` of the task, below
4. `flights/conf/<flights_stage>.properties`, then `flights/conf/base.properties`

It needs the connection `spark_default`, the connection `config_providers_default` with the providers `file` and
`mounted`, and the variables `flights_home`, `flights_credentials` and `flights_stage`. For a trial,
`dags_examples/demo/workspace.py` sets them, and `make demo` runs it all on one machine.
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
    "flights_delay_report",
    description="Ingest flights, join them with weather and planes, report their delays",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2013, 1, 1),
    user_defined_macros={"conf_dir": CONF},
    default_args={
        "py_files": f"{JOBS}/flights_common.py,{JOBS}/flights_datasets.py",
        "config_files": [f"{CONF}/base.properties", f"{CONF}/{{{{ var.value.flights_stage }}}}.properties"],
    },
    tags=["example", "config-providers"],
):
    ingest = ConfiguredSparkSubmitOperator(
        task_id="ingest",
        name="flights-ingest",
        application=f"{JOBS}/ingest.py",
        conf={"spark.flights.quality.max.reject.ratio": 0.01},
    )
    join = ConfiguredSparkSubmitOperator(
        task_id="join",
        name="flights-join",
        application=f"{JOBS}/join.py",
        driver_memory="2g",
    )
    report = ConfiguredSparkSubmitOperator(
        task_id="report",
        name="flights-report-{{ ds }}",
        application=f"{JOBS}/report.py",
        conf={
            "spark.flights.report.until": "{{ ds }}",
            "spark.flights.db.url": "${file:{{ conf_dir }}/database.properties:{{ var.value.flights_stage }}.url}",
            "spark.flights.db.user": "${file:{{ conf_dir }}/database.properties:{{ var.value.flights_stage }}.user}",
            "spark.flights.db.password": "${mounted:{{ var.value.flights_credentials }}:flights-db-password}",
        },
    )
    ingest >> join >> report
