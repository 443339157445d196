# ruff: noqa: F821 - the deployment writes SETTINGS above
"""DAGs that know nothing of references: what is ours comes from ``apply_to`` alone."""

import sys

from airflow.providers.apache.livy.operators.livy import LivyOperator
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, task

sys.path += SETTINGS["modules"]
from submission import arguments, call, use_spark

OPERATORS = {"local": SparkSubmitOperator, "sql": SparkSqlOperator, "jdbc": SparkJDBCOperator, "deferred": LivyOperator}

for dag_id, submissions in SETTINGS["dags"].items():
    with DAG(dag_id, schedule=None):
        for column, how in submissions:
            given = arguments(SETTINGS, column, how)
            if how == "pyspark":
                call(task.pyspark(**given)(use_spark), SETTINGS, column, how)
            else:
                OPERATORS[how](**given)
