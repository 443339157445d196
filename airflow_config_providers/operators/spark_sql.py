"""``SparkSqlOperator`` with layers and references."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from airflow_config_providers.hooks.spark_sql import ConfiguredSparkSqlHook
from airflow_config_providers.job.nested_texts import Path
from airflow_config_providers.operators.in_place import ConfigProvidersMixin
from airflow_config_providers.spark.defaults import locate_spark_defaults
from airflow_config_providers.spark.layers import ConfigFile, pairs

_SUBSTITUTE: Final = "spark.sql.variable.substitute"
_READS_THE_WORKER: Final = re.compile(r"\$\{(?:env|system):")


class SparkSqlMixin(ConfigProvidersMixin):
    """
    A mixin for ``SparkSqlOperator``. The values of its configuration go to spark-sql through a private file.

    A reference in ``sql`` requires ``allow_exposed_arguments``: a query is in the command and in Spark's UI.
    """

    sql: str

    def _conf_at(self, field: str, way: Path) -> Mapping[str, Any]:
        return pairs(super()._conf_at(field, way))

    def _default_files(self) -> Sequence[ConfigFile]:
        defaults = locate_spark_defaults("spark-sql", os.environ)
        return [ConfigFile(str(defaults), str(defaults), is_lenient=True)] if defaults else ()

    def _notes(self) -> Iterable[str]:
        yield from super()._notes()
        substitutes = str(self._conf_at("_conf", ()).get(_SUBSTITUTE, "true")).lower() != "false"
        if substitutes and _READS_THE_WORKER.search(str(self.sql)):
            yield (
                "The query contains ${env:...} or ${system:...}, which Spark replaces by environment variables and "
                f"properties of this worker, including secrets. Set {_SUBSTITUTE}=false."
            )

    def _with_conf(self, fields: dict[str, Any]) -> dict[str, Any]:
        return fields  # the hook gets the values when it runs the query

    def _get_hook(self) -> ConfiguredSparkSqlHook:
        hook = super()._get_hook()  # type: ignore[misc]  # of the operator
        return ConfiguredSparkSqlHook.of(
            hook,
            delivery=self._run.delivery,
            reverser=lambda: self._run.reverser,
            withheld=lambda: self._run.withheld,
        )
