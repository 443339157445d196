# ruff: noqa: F821 - the deployment writes SETTINGS above
"""DAGs that know nothing of references: what is ours comes from ``apply_to`` alone."""

import sys

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

sys.path += SETTINGS["modules"]
from submission import arguments

for dag_id, hows in SETTINGS["dags"].items():
    with DAG(dag_id, schedule=None):
        for how in hows:
            for column in SETTINGS["columns"]:
                SparkSubmitOperator(**arguments(SETTINGS, column, how))
