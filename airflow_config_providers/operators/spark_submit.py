"""``SparkSubmitOperator`` with layers and references."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers import settings
from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.job.job_layers import dag_layers
from airflow_config_providers.job.language import not_python
from airflow_config_providers.job.nested_texts import Text
from airflow_config_providers.job.run import field_texts
from airflow_config_providers.job.supported import OperatorSpec, spec_of
from airflow_config_providers.job.written import brought_problem
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.operators.configured import FIELDS
from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.spark import arguments
from airflow_config_providers.spark.defaults import locate_spark_defaults
from airflow_config_providers.spark.layers import ConfigFile


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

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, *FIELDS)

    _hook_class: ClassVar[type[ConfiguredSparkSubmitHook]] = ConfiguredSparkSubmitHook

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including those that it would omit, for ``describe``."""
        stored = super().get_serialized_fields()
        return frozenset({*stored, *(f"_{name}" for name in arguments.KEYS), "_whole_conf"})

    @property
    def _whole_conf(self) -> str | None:
        """``conf`` as JSON if Airflow would truncate it when it stores it; otherwise None."""
        return json.dumps(self.conf, default=str) if len(str(self.conf)) > settings.longest_field() else None

    @failing_at_once
    def execute(self, context: Any) -> None:
        """Run spark-submit. Errors and logs show references."""
        if not self._run:
            self._resolve(context, None)
        settled = self.conf
        try:
            super().execute(context)
        except BaseException as error:
            reverse_exception(error, self._run.reverser)
            raise
        finally:
            self.conf = settled
            self._run.clear()

    def _own_layers(self) -> Iterable[ConfigLayer]:
        return dag_layers(self)

    def _texts(self) -> Mapping[str, str]:
        return field_texts(self)

    def _fields(self) -> list[str]:
        """Return also the arguments without templates, because mapped ones can come from data."""
        return [*super()._fields(), *(f"_{name}" for name in arguments.KEYS if f"_{name}" in vars(self))]

    def _own_texts(self) -> Iterator[Text]:
        yield from super()._own_texts()
        yield from self._texts_in(*self._fields())

    def _show_conf(self, layered: LayeredConfig) -> None:
        self.conf = explain.texts(layered)

    def _own_files(self) -> Sequence[ConfigFile]:
        return [self._file(str(self.properties_file), "properties_file")] if self.properties_file else ()

    def _default_files(self) -> Sequence[ConfigFile]:
        """Return Spark's defaults file, which applies if the author named no properties file."""
        if self.properties_file:
            return ()
        defaults = locate_spark_defaults(self._spark_binary or DEFAULT_SPARK_BINARY, os.environ)
        return [ConfigFile(str(defaults), str(defaults), is_lenient=True)] if defaults else ()

    def _may_be_remote(self) -> bool:
        return True

    def _is_remote(self) -> bool:
        return bool(super()._get_hook()._connection["deploy_mode"] == "cluster")

    def _not_python(self) -> str:
        return not_python((spec_of(SparkSubmitOperator) or OperatorSpec()).jvm, self)

    def _may_follow(self) -> bool:
        hook = super()._get_hook()
        return bool(
            hook._should_track_driver_status
            or hook._should_track_driver_via_k8s_api()
            or (hook._is_yarn_cluster_mode and hook._yarn_track_via_rm_api)
        )

    def _texts_afterwards(self) -> Mapping[str, str]:
        texts = self._texts_in("post_submit_commands")
        if problems := [brought_problem(text.label) for text in texts if not self._is_written(text)]:
            raise ConfigException(*problems)
        return {label: text for label, text in self._texts().items() if label.startswith("post_submit_commands")}

    def _can_follow(self, job: Any, context: Any) -> bool:
        self._hook = self._get_hook()
        try:
            return super()._can_follow(job, context)
        finally:
            self._hook = None  # it was created before the layers were settled

    def _get_hook(self) -> ConfiguredSparkSubmitHook:
        return self._hook_class.of(
            super()._get_hook(),
            submission=lambda conf, environment_prefix: self._run.submission(self, conf, environment_prefix),
            reverser=lambda: self._run.reverser,
            withheld=lambda: self._run.withheld,
        )
