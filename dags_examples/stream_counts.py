"""
### A stream whose password is rotated

Two tasks in two DAGs, which never end by themselves, write what arrives as JSON files to PostgreSQL.

- `stream_counts` gets its password from the worker. When the password changes, the job is stopped and submitted again
  within the same try, and goes on from its checkpoint.
- `stream_counts_driver` reads its password itself, for each batch, and is never stopped.

They need psycopg2, and the connections `spark_default` and `config_providers_default` with a provider `mounted` of
class `directory`, which `stream_counts_driver` needs as a driver provider. They also need three variables:
`counts_home`, whose folder `arriving` is read and which gets the checkpoints; `counts_dsn`, such as
`host=db dbname=flights user=writer`; and `counts_credentials`, the directory with the file `writer-password`.
The database has two tables:

    CREATE TABLE counts (airport text, flights int);
    CREATE TABLE batches (query text, number bigint, PRIMARY KEY (query, number));

If both DAGs run, each of them writes all counts: they read the same files, with a checkpoint each.

Create the file `stop` in `counts_home` to end a job.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

JOBS = Path(__file__).resolve().parent / "jobs"
HOME = "{{ var.value.counts_home }}"


def conf(name: str) -> dict[str, object]:
    """Return the configuration of a job."""
    return {
        "spark.ui.enabled": False,
        "spark.log.level": "WARN",
        "spark.counts.source": f"{HOME}/arriving",
        "spark.counts.checkpoint": f"{HOME}/{name}-checkpoint",
        "spark.counts.stop": f"{HOME}/stop",
        "spark.counts.db.dsn": "{{ var.value.counts_dsn }}",
        "spark.counts.db.password": "${mounted:{{ var.value.counts_credentials }}:writer-password}",
    }


with DAG(
    "stream_counts",
    description="A stream that is restarted when its password changes",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2026, 1, 1),
    tags=["example", "config-providers"],
):
    ConfiguredSparkSubmitOperator(
        task_id="write",
        application=f"{JOBS}/stream_counts.py",
        streaming=True,
        conf=conf("worker"),
    )

with DAG(
    "stream_counts_driver",
    description="A stream that reads its password for each batch",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2026, 1, 1),
    tags=["example", "config-providers"],
):
    ConfiguredSparkSubmitOperator(
        task_id="write",
        application=f"{JOBS}/stream_counts_driver.py",
        resolve_in="driver",
        conf=conf("driver"),
    )
