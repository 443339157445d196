"""``SparkJDBCOperator`` with layers and references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

from airflow_config_providers.job.fields import OURS
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.settings import ResolveIn

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_jdbc import SparkJDBCHook

    from airflow_config_providers.hooks.spark_jdbc import ConfiguredSparkJDBCHook


class ConfiguredSparkJDBCOperator(ConfiguredSparkSubmitOperator, SparkJDBCOperator):
    """
    Copies between a database and Spark's tables; ``spark_conf`` comes in layers and can hold references.

    User, password and URL of the JDBC connection reach the job like its configuration, and are in no command. If the
    configuration has ``spark.airflow.jdbc.secret.url``, ``.user`` or ``.password``, these override the connection.

    The job runs where ``spark_conn_id`` says, if that connection exists, and otherwise where ``spark_default`` says.
    """

    template_fields = (*SparkJDBCOperator.template_fields, *OURS)

    @property
    def _hook_class(self) -> type[ConfiguredSparkJDBCHook]:
        from airflow_config_providers.hooks.spark_jdbc import ConfiguredSparkJDBCHook

        return ConfiguredSparkJDBCHook

    def _stock_hook(self) -> SparkJDBCHook:
        from airflow_config_providers.hooks.spark_jdbc import at_named_connection

        hook: Any = super()._stock_hook()
        return at_named_connection(hook)

    def _get_hook(self) -> ConfiguredSparkJDBCHook:
        if self.conf:
            self.log.warning("SparkJDBCOperator does not use conf, so the job does not get it. Write spark_conf.")
        hook: Any = super()._get_hook()
        hook.keeps_secrets = self._job_options.resolves_in is ResolveIn.DRIVER
        return hook  # type: ignore[no-any-return]  # of our class, and possibly of one of the author's
