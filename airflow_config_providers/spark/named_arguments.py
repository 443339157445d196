"""The named arguments of stock operators, and the Spark keys that they set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_NAME: Final = "spark.app.name"


@dataclass(frozen=True, slots=True)
class NamedArguments:
    """
    The arguments of an operator that set Spark keys.

    :param keys: argument -> key
    :param default_name: the operator's default name of a job, which must not override a layer that has a name
    :param takes_zero: whether the operator distinguishes 0 from no value
    """

    keys: Mapping[str, str]
    default_name: str = ""
    takes_zero: bool = False

    def configs(self, read: Callable[[str], Any]) -> dict[str, Any]:
        """Return key -> value for the arguments that were given; ``read`` returns an argument, or None."""
        found = {key: value for name, key in self.keys.items() if (value := read(name)) is not None}
        if found.get(_NAME) == self.default_name:
            del found[_NAME]
        return {key: value for key, value in found.items() if value or (self.takes_zero and value != "")}

    def origins(self) -> dict[str, str]:
        """Return key -> a name for people of the argument that sets it."""
        return {key: f"argument {name}" for name, key in self.keys.items()}


NONE: Final = NamedArguments({})
"""For an operator without such arguments."""

_KEYS: Final = {
    "archives": "spark.archives",
    "driver_class_path": "spark.driver.extraClassPath",
    "driver_memory": "spark.driver.memory",
    "exclude_packages": "spark.jars.excludes",
    "executor_cores": "spark.executor.cores",
    "executor_memory": "spark.executor.memory",
    "files": "spark.files",
    "jars": "spark.jars",
    "keytab": "spark.kerberos.keytab",
    "name": _NAME,
    "num_executors": "spark.executor.instances",
    "packages": "spark.jars.packages",
    "principal": "spark.kerberos.principal",
    "py_files": "spark.submit.pyFiles",
    "repositories": "spark.jars.repositories",
    "total_executor_cores": "spark.cores.max",
    "yarn_queue": "spark.yarn.queue",
}


def _keys(*names: str, **others: str) -> Mapping[str, str]:
    """Return argument -> key; ``others`` are called otherwise by ``SparkSubmitOperator``."""
    return {**{name: _KEYS[name] for name in names}, **{own: _KEYS[name] for own, name in others.items()}}


SUBMIT: Final = NamedArguments(_KEYS, default_name="arrow-spark")
"""Those of ``SparkSubmitOperator``."""

_SIZES: Final = ("executor_cores", "executor_memory", "num_executors")

JDBC: Final = NamedArguments(
    _keys(
        *("driver_memory", *_SIZES, "keytab", "principal"),
        spark_app_name="name",
        spark_files="files",
        spark_jars="jars",
        spark_py_files="py_files",
    ),
    default_name="airflow-spark-jdbc",
    takes_zero=True,
)
"""Those of ``SparkJDBCOperator``."""

SQL: Final = NamedArguments(
    _keys(*_SIZES, "keytab", "name", "principal", "total_executor_cores", "yarn_queue"), default_name="default-name"
)
"""Those of ``SparkSqlOperator``."""

PIPELINES: Final = NamedArguments(_keys("driver_memory", *_SIZES, "yarn_queue"))
"""Those of ``SparkPipelinesOperator``. ``keytab`` and ``principal`` are options of its command, not keys."""

LIVY: Final = NamedArguments(
    {"driver_cores": "spark.driver.cores", **_keys("driver_memory", *_SIZES, "name", queue="yarn_queue")}
)
"""
Those of ``LivyOperator``, which Livy prefers to the configuration. ``jars``, ``files``, ``archives`` and ``py_files``
are not among them: Livy adds them to the lists of the configuration.
"""

FROM_CONNECTION: Final = {"keytab": "keytab", "principal": "principal", "yarn_queue": "queue"}
"""Argument -> the name under which the stock hook mixes it with its connection."""

IN_COMMAND: Final = ("application", "application_args", "proxy_user", "post_submit_commands")
"""Arguments of ``SparkSubmitOperator`` that are in a command, which every user of the machine can read."""

ENVIRONMENT_ON_YARN: Final = "spark.yarn.appMasterEnv."
ENVIRONMENT_ON_KUBERNETES: Final = "spark.kubernetes.driverEnv."
"""The prefixes with which YARN and Kubernetes take the environment of the driver as keys."""

ANYWHERE: Final = (ENVIRONMENT_ON_KUBERNETES, ENVIRONMENT_ON_YARN)
"""Both, for a job of which it is not known where it runs."""

OVERRIDING_VARIABLES: Final = {"SPARK_LOCAL_DIRS": ("spark.local.dir",)}
"""Environment variable -> the keys that it overrides."""

FALLBACK_VARIABLES: Final = {
    "SPARK_MEM": ("spark.driver.memory", "spark.executor.memory"),
    "DEPLOY_MODE": ("spark.submit.deployMode",),
    "PYSPARK_PYTHON": ("spark.pyspark.python",),
    "PYSPARK_DRIVER_PYTHON": ("spark.pyspark.driver.python",),
    "SPARK_DRIVER_MEMORY": ("spark.driver.memory",),
    "SPARK_EXECUTOR_CORES": ("spark.executor.cores",),
    "SPARK_EXECUTOR_MEMORY": ("spark.executor.memory",),
    "SPARK_REMOTE": ("spark.remote",),
}
"""Environment variable -> the keys for which Spark takes its value if nothing sets them; a later one is stronger."""
