"""The named arguments of ``SparkSubmitOperator`` and the Spark keys that they set."""

from __future__ import annotations

from typing import Any, Final

KEYS: Final = {
    "archives": "spark.archives",
    "driver_class_path": "spark.driver.extraClassPath",
    "driver_memory": "spark.driver.memory",
    "exclude_packages": "spark.jars.excludes",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "files": "spark.files",
    "jars": "spark.jars",
    "keytab": "spark.kerberos.keytab",
    "name": "spark.app.name",
    "num_executors": "spark.executor.instances",
    "packages": "spark.jars.packages",
    "principal": "spark.kerberos.principal",
    "py_files": "spark.submit.pyFiles",
    "repositories": "spark.jars.repositories",
    "total_executor_cores": "spark.cores.max",
    "yarn_queue": "spark.yarn.queue",
}
"""Argument -> key."""

JDBC_KEYS: Final = {
    "driver_memory": "spark.driver.memory",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "keytab": "spark.kerberos.keytab",
    "num_executors": "spark.executor.instances",
    "principal": "spark.kerberos.principal",
    "spark_app_name": "spark.app.name",
    "spark_files": "spark.files",
    "spark_jars": "spark.jars",
    "spark_py_files": "spark.submit.pyFiles",
}
"""Argument of ``SparkJDBCOperator`` -> key."""

PIPELINES_KEYS: Final = {
    "driver_memory": "spark.driver.memory",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "num_executors": "spark.executor.instances",
    "yarn_queue": "spark.yarn.queue",
}
"""Argument of ``SparkPipelinesOperator`` -> key. ``keytab`` and ``principal`` are options of its command, not keys."""

JDBC_DEFAULT_NAME: Final = "airflow-spark-jdbc"
"""The same as ``DEFAULT_NAME`` for ``SparkJDBCOperator``."""

FROM_CONNECTION: Final = {"keytab": "keytab", "principal": "principal", "yarn_queue": "queue"}
"""Argument -> the name under which the stock hook mixes it with its connection."""

DEFAULT_NAME: Final = "arrow-spark"
"""The stock operator's default name of a job. It must not override a layer that has a name."""


def argument(operator: Any, name: str) -> Any:
    """Return an argument from the operator's attribute, which begins with an underscore unless it is templated."""
    attributes = vars(operator)
    return attributes.get(name, attributes.get(f"_{name}"))


def jdbc_configs(operator: Any) -> dict[str, Any]:
    """Return key -> value for the named arguments that a ``SparkJDBCOperator`` was given."""
    given = {key: argument(operator, name) for name, key in JDBC_KEYS.items()}
    if given["spark.app.name"] == JDBC_DEFAULT_NAME:
        del given["spark.app.name"]
    return {key: value for key, value in given.items() if value not in (None, "")}


def pipelines_configs(operator: Any) -> dict[str, Any]:
    """Return key -> value for the named arguments that a ``SparkPipelinesOperator`` was given."""
    given = {key: argument(operator, name) for name, key in PIPELINES_KEYS.items()}
    return {key: value for key, value in given.items() if value}


def configs(operator: Any) -> dict[str, Any]:
    """Return key -> value for the named arguments that a ``SparkSubmitOperator`` was given."""
    given = {key: argument(operator, name) for name, key in KEYS.items()}
    if given["spark.app.name"] == DEFAULT_NAME:
        del given["spark.app.name"]
    return {key: value for key, value in given.items() if value}
