# ruff: noqa: F821 - the deployment writes SETTINGS above
import sys

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

sys.path += SETTINGS["modules"]
from submission import arguments


def submit(column, how):
    given = arguments(SETTINGS, column, how)
    if column == "ours":
        exposed = {"allow_exposed_arguments": True} if how in {"standalone", "killed"} else {}
        return ConfiguredSparkSubmitOperator(**given, **exposed)
    return SparkSubmitOperator(**given)


for dag_id, hows in SETTINGS["dags"].items():
    with DAG(dag_id, schedule=None, tags=["config_providers:off"]):
        for how in hows:
            for column in SETTINGS["columns"]:
                submit(column, how)
