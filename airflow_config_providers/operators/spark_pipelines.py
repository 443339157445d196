"""``SparkPipelinesOperator`` with layers and references."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_config_providers.operators.configured import ConfiguredOperator

if TYPE_CHECKING:
    from airflow_config_providers.hooks.spark_pipelines import ConfiguredSparkPipelinesHook
    from airflow_config_providers.job.exposed_values import Destination
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.spark.delivery import Submission


class SparkPipelinesMixin(ConfiguredOperator):
    """
    A mixin for ``SparkPipelinesOperator``. The values of its configuration go to Spark through a private file.

    A connection to Spark Connect can hold references too; its address goes the same way. References in
    ``pipeline_spec``, ``keytab`` and ``principal`` require ``allow_exposed_arguments``: they are in the command.
    """

    env_vars: Mapping[str, Any] | None

    @cached_property  # of functools: ours keeps what super().hook stores under the same name, the stock hook
    def hook(self) -> ConfiguredSparkPipelinesHook:
        """The stock hook with our additions, which gets values when it runs the pipeline."""
        from airflow_config_providers.hooks.spark_pipelines import ConfiguredSparkPipelinesHook

        hook = ConfiguredSparkPipelinesHook.of(
            super().hook,  # type: ignore[misc]  # of the operator
            submission=self._submission,
            run=lambda: self._try_state.run,
        )
        hook.config_conn_id = self.config_conn_id
        return hook

    def _destination(self) -> Destination:
        from airflow_config_providers.hooks.spark_submit import destination_of

        kept = vars(self).get("hook")
        try:
            return destination_of(self.hook, self._job_fields().environment())
        finally:
            if kept is None:  # it was created before the layers were settled
                vars(self).pop("hook", None)

    def _has_begun(self) -> bool:
        return getattr(vars(self).get("hook"), "_submit_sp", None) is not None

    def _require_deliverable(self, handover: Handover) -> None:
        handover.require_deliverable({"env_vars": self.env_vars}.get, self.hook.environment_prefix)

    def _submission(
        self, conf: Mapping[str, Any], environment_prefix: str | None, values: Mapping[str, str]
    ) -> Submission:
        """Return what spark-pipelines gets; of what spark-submit takes beside its configuration, only variables."""
        from airflow_config_providers.operators.execution import check_added, check_environment

        self._try_state.begin_submission()
        check_added(self, conf, "env_vars")
        check_environment(self, environment_prefix)
        return self._try_state.handover.submission({"env_vars": self.env_vars}.get, conf, environment_prefix, values)
