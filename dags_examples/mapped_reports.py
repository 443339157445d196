"""
### One task a month

A mapped task: each month gets a Spark job of its own, with the same references in every `conf`. The job counts the
flights of its month and signs the count with a key that no one sees.

It needs the connections `spark_default` and `config_providers_default` with a provider `mounted` of class `directory`,
and two variables: `flights_home`, whose `raw/flights.csv` is read and whose `counts` are written, and
`flights_credentials`, the directory with the file `report-signing-key`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

JOBS = Path(__file__).resolve().parent / "jobs"
MONTHS = (1, 6, 12)

with DAG(
    "mapped_reports",
    description="The same Spark job for several months, each with its own configuration",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2013, 1, 1),
    tags=["example", "config-providers"],
):
    ConfiguredSparkSubmitOperator.partial(
        task_id="count",
        application=f"{JOBS}/month_count.py",
        max_active_tis_per_dagrun=1,
    ).expand(
        conf=[
            {
                "spark.ui.enabled": False,
                "spark.log.level": "WARN",
                "spark.count.month": month,
                "spark.count.flights": "{{ var.value.flights_home }}/raw/flights.csv",
                "spark.count.dir": "{{ var.value.flights_home }}/counts",
                "spark.count.signing.key": "${mounted:{{ var.value.flights_credentials }}:report-signing-key}",
            }
            for month in MONTHS
        ]
    )
