"""``SparkSqlOperator`` with layers and references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.operators.configured import ConfiguredOperator

if TYPE_CHECKING:
    from airflow_config_providers.hooks.spark_sql import ConfiguredSparkSqlHook
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.spark.delivery import Delivery

_SUBSTITUTE: Final = "spark.sql.variable.substitute"
_READS_THE_WORKER: Final = re.compile(r"\$\{(?:env|system):")


class SparkSqlMixin(ConfiguredOperator):
    """
    A mixin for ``SparkSqlOperator``. The values of its configuration go to spark-sql through a private file.

    A reference in ``sql`` requires ``allow_exposed_arguments``: a query is in the command and in Spark's UI.
    """

    sql: str
    _hook: Any

    def _own_notes(self, fields: JobFields) -> Iterator[str]:
        substitutes = self._try_state.run.resolved.layered.settled.get(_SUBSTITUTE, "true").lower() != "false"
        if substitutes and _READS_THE_WORKER.search(str(self.sql)):
            yield (
                "The query contains ${env:...} or ${system:...}, which Spark replaces by environment variables and "
                f"properties of this worker, including secrets. Set {_SUBSTITUTE}=false."
            )

    def _has_begun(self) -> bool:
        return getattr(self._hook, "_sp", None) is not None

    def _require_deliverable(self, handover: Handover) -> None:
        handover.delivery()

    def _delivery(self) -> Delivery:
        from airflow_config_providers.operators.execution import check_added

        self._try_state.begin_submission()
        conf = self._job_fields().configs
        check_added(self, conf)
        return self._try_state.handover.delivery(conf)

    def _get_hook(self) -> ConfiguredSparkSqlHook:
        from airflow_config_providers.hooks.spark_sql import ConfiguredSparkSqlHook

        return ConfiguredSparkSqlHook.of(
            super()._get_hook(),  # type: ignore[misc]  # of the operator
            delivery=self._delivery,
            run=lambda: self._try_state.run,
        )
