"""``SparkJDBCOperator`` with layers and references."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final

from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.hooks.spark_jdbc import ConfiguredSparkJDBCHook
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.operators.configured import FIELDS
from airflow_config_providers.operators.job_place import Place, wanted_place
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.layers import mapping_layer

DEFAULT_NAME: Final = "airflow-spark-jdbc"
"""The stock operator's name for a job to which nobody gave one; it must not beat a layer that has one."""

KEYS: Final = {
    "_driver_memory": "spark.driver.memory",
    "_executor_cores": "spark.executor.cores",
    "_executor_memory": "spark.executor.memory",
    "_num_executors": "spark.executor.instances",
    "_spark_app_name": "spark.app.name",
    "_spark_files": "spark.files",
    "_spark_jars": "spark.jars",
    "_spark_py_files": "spark.submit.pyFiles",
    "keytab": "spark.kerberos.keytab",
    "principal": "spark.kerberos.principal",
}
"""Attribute of the operator -> key."""


class ConfiguredSparkJDBCOperator(ConfiguredSparkSubmitOperator, SparkJDBCOperator):
    """
    Copy between a database and Spark's tables; ``spark_conf`` comes in layers and may hold references.

    User, password and URL of the JDBC connection reach the job as its configuration does, and stand in no command. What
    the configuration has under ``spark.airflow.jdbc.secret.url``, ``.user`` or ``.password`` goes before them.
    """

    template_fields = (*SparkJDBCOperator.template_fields, *FIELDS)

    _hook_class: ClassVar[type[ConfiguredSparkSubmitHook]] = ConfiguredSparkJDBCHook

    def _own_layers(self) -> Iterable[ConfigLayer]:
        yield mapping_layer(ConfigSource.DAG_CONFIG, "spark_conf", self._spark_conf or {})
        given = {key: value for name, key in KEYS.items() if (value := getattr(self, name)) not in (None, "")}
        if given.get("spark.app.name") == DEFAULT_NAME:
            del given["spark.app.name"]
        origins = {key: f"argument {name.removeprefix('_')}" for name, key in KEYS.items()}
        yield replace(mapping_layer(ConfigSource.DAG_CONFIG, "arguments", given), origins=origins)

    def _fields(self) -> list[str]:
        """Give also the arguments that Airflow fills in no templates in; mapped ones may come with data."""
        return list(dict.fromkeys([*super()._fields(), "_spark_conf", *KEYS]))

    def _show_conf(self, layered: LayeredConfig) -> None:
        self._spark_conf = explain.texts(layered)

    def _get_hook(self) -> ConfiguredSparkJDBCHook:
        hook: Any = super()._get_hook()
        hook.keeps_secrets = wanted_place(self.resolve_in) is Place.DRIVER
        return hook  # type: ignore[no-any-return]  # of our class, and of one that the author may have
