"""``PySparkOperator`` and ``@task.pyspark`` with layers and references."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from airflow_config_providers.airflow_compat import BaseHook
from airflow_config_providers.operators.in_place import ConfigProvidersMixin
from airflow_config_providers.spark import jvm
from airflow_config_providers.spark.defaults import locate_spark_defaults
from airflow_config_providers.spark.layers import ConfigFile

_CONNECT: Final = "spark_connect"
"""The type of a connection to a Spark Connect server, which is sent its configuration and starts no JVM here."""


class PySparkMixin(ConfigProvidersMixin):
    """
    Stands in front of ``PySparkOperator``: the function gets values, and so does Spark, by a private file.

    What the function returns shows references.
    """

    conn_id: str | None

    def execute_callable(self) -> Any:
        """Call the function with a session whose secrets stand in no command."""
        delivery = self._run.delivery()
        if self._starts_no_jvm():
            self.config_kwargs = {**delivery.plain, **delivery.private}
            return super().execute_callable()  # type: ignore[misc]  # of the operator behind this
        self.config_kwargs = dict(delivery.plain)
        with jvm.submitting(delivery):
            return super().execute_callable()  # type: ignore[misc]  # of the operator behind this

    def _starts_no_jvm(self) -> bool:
        if jvm.has_started():
            return True
        return bool(self.conn_id and BaseHook.get_connection(self.conn_id).conn_type == _CONNECT)

    def _default_files(self) -> Sequence[ConfigFile]:
        defaults = locate_spark_defaults("spark-submit", os.environ)
        return [ConfigFile(str(defaults), str(defaults), is_lenient=True)] if defaults else ()

    def _with_conf(self, fields: dict[str, Any]) -> dict[str, Any]:
        return fields  # set when the session is made
