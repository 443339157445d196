"""``SparkJDBCOperator`` with layers and references."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.hooks.spark_jdbc import ConfiguredSparkJDBCHook
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.job.job_layers import jdbc_layers
from airflow_config_providers.job.resolve_in import Place, wanted_place
from airflow_config_providers.job.stored_job import StoredJob
from airflow_config_providers.operators.configured import FIELDS
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark import arguments

FIELDS_OF_ARGUMENTS: Final = tuple(
    name if name in SparkJDBCOperator.template_fields else f"_{name}" for name in arguments.JDBC_KEYS
)
"""The attributes in which the operator keeps its named arguments."""


class ConfiguredSparkJDBCOperator(ConfiguredSparkSubmitOperator, SparkJDBCOperator):
    """
    Copies between a database and Spark's tables; ``spark_conf`` comes in layers and may hold references.

    User, password and URL of the JDBC connection reach the job like its configuration, and are in no command. If the
    configuration has ``spark.airflow.jdbc.secret.url``, ``.user`` or ``.password``, these override the connection.
    """

    template_fields = (*SparkJDBCOperator.template_fields, *FIELDS)

    _hook_class: ClassVar[type[ConfiguredSparkSubmitHook]] = ConfiguredSparkJDBCHook

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including the configuration, which it would not store itself."""
        return frozenset({*super().get_serialized_fields(), "_stored_job"})

    @property
    def _stored_job(self) -> str | None:
        return StoredJob.text_of(self._own_layers, self._texts)

    def _own_layers(self) -> Iterable[ConfigLayer]:
        return jdbc_layers(self)

    def _fields(self) -> list[str]:
        """Return also the arguments without templates, because mapped ones can come from data."""
        return list(dict.fromkeys([*super()._fields(), "_spark_conf", *FIELDS_OF_ARGUMENTS]))

    def _show_conf(self, layered: LayeredConfig) -> None:
        self._spark_conf = explain.texts(layered)

    def _not_python(self) -> str:
        """Return nothing: the program is a Python script of Airflow, or ours, which resolves references."""
        return ""

    def _get_hook(self) -> ConfiguredSparkJDBCHook:
        hook: Any = super()._get_hook()
        hook.keeps_secrets = wanted_place(self.resolve_in) is Place.DRIVER
        return hook  # type: ignore[no-any-return]  # of our class, and possibly of one of the author's
