"""``SparkSubmitOperator`` with layers and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.job.driver_resolver import Driver
from airflow_config_providers.job.fields import OURS, JobFields
from airflow_config_providers.operators.configured import spark_defaults
from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.spark.layer_files import ConfigFile


class ConfiguredSparkSubmitOperator(DurableMixin, SparkSubmitOperator):
    """
    Submits a Spark job whose configuration comes in layers and may hold references.

    When the task is rendered, the layers are settled and the references of the winners resolved. The operator keeps the
    references, so these are what Airflow stores and shows; only spark-submit gets the values.

    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    :param config_files: a list of properties files, in which a later one overrides an earlier one, or a single path
        (templated)
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :param allow_exposed_arguments: allow resolved values where users of the machine and of Spark's UI can read them: in
        ``application``, ``application_args``, ``proxy_user`` and ``post_submit_commands``, and under keys that Spark
        writes into a command; None for the default of the deployment
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, *OURS)

    _hook_class: ClassVar[type[ConfiguredSparkSubmitHook]] = ConfiguredSparkSubmitHook

    def _default_files(self) -> list[ConfigFile]:
        """Return Spark's defaults file, which applies if the author named no properties file."""
        return [] if self.properties_file else spark_defaults(self._spark_binary or DEFAULT_SPARK_BINARY)

    def _job_driver(self, fields: JobFields) -> Driver:
        return replace(super()._job_driver(fields), may_be_remote=True, is_remote=self._is_remote)

    def _is_remote(self) -> bool:
        return bool(super()._get_hook()._connection["deploy_mode"] == "cluster")

    def _may_follow(self) -> bool:
        hook = super()._get_hook()
        return bool(
            hook._should_track_driver_status
            or hook._should_track_driver_via_k8s_api()
            or (hook._is_yarn_cluster_mode and hook._yarn_track_via_rm_api)
        )

    def _texts_afterwards(self) -> Mapping[str, str]:
        texts = list(self._job_fields().texts("post_submit_commands"))
        if problems := list(self._authorship.brought_problems(texts)):
            raise ConfigException(*problems)
        return {text.label: text.text for text in texts if scan(text.text)}

    def _can_follow(self, job: Any, context: Any) -> bool:
        self._hook = self._get_hook()
        try:
            return super()._can_follow(job, context)
        finally:
            self._hook = None  # it was created before the layers were settled

    def _get_hook(self) -> ConfiguredSparkSubmitHook:
        return self._hook_class.of(
            super()._get_hook(),
            submission=lambda conf, environment_prefix: self._job_run.submission(
                self._job_fields().read, conf, environment_prefix
            ),
            reverser=lambda: self._job_run.reverser,
            withheld=lambda: self._job_run.withheld,
        )
