# ruff: noqa: F821 - the deployment writes SETTINGS above
import sys

from airflow.providers.apache.livy.operators.livy import LivyOperator
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, task

from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.spark_jdbc import ConfiguredSparkJDBCOperator
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

sys.path += SETTINGS["modules"]
from submission import arguments, call, use_spark

OURS = {
    "sql": configured(SparkSqlOperator),
    "jdbc": ConfiguredSparkJDBCOperator,
    "pyspark": task.configured_pyspark,
    "deferred": configured(LivyOperator),
}
STOCK = {"sql": SparkSqlOperator, "jdbc": SparkJDBCOperator, "pyspark": task.pyspark, "deferred": LivyOperator}


def submit(column, how):
    given = arguments(SETTINGS, column, how)
    is_ours = column == "ours"
    if is_ours and how in {"standalone", "killed"}:
        given["allow_exposed_arguments"] = True
    operator = OURS.get(how, ConfiguredSparkSubmitOperator) if is_ours else STOCK.get(how, SparkSubmitOperator)
    if how == "pyspark":
        call(operator(**given)(use_spark), SETTINGS, column, how)
    else:
        operator(**given)


for dag_id, submissions in SETTINGS["dags"].items():
    with DAG(dag_id, schedule=None, tags=["config_providers:off"]):
        for column, how in submissions:
            submit(column, how)
