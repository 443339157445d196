"""``SparkPipelinesOperator`` with layers and references."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.hooks.spark_pipelines import ConfiguredSparkPipelinesHook
from airflow_config_providers.job.nested_texts import Text
from airflow_config_providers.operators.in_place import ConfigProvidersMixin
from airflow_config_providers.spark import arguments
from airflow_config_providers.spark.defaults import locate_spark_defaults
from airflow_config_providers.spark.delivery import Submission
from airflow_config_providers.spark.layers import ConfigFile, mapping_layer

_BINARY: Final = "spark-pipelines"
_HELD: Final = ("conf", "env_vars")
"""Fields whose values the hook gets when it runs the pipeline."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A pipeline with the fields of a ``SparkSubmitOperator``, of which it lacks most."""

    env_vars: Mapping[str, Any] | None
    application: str = ""
    application_args: None = None
    proxy_user: None = None
    post_submit_commands: None = None
    properties_file: None = None


class SparkPipelinesMixin(ConfigProvidersMixin):
    """
    A mixin for ``SparkPipelinesOperator``. The values of its configuration go to Spark through a private file.

    A connection to Spark Connect may hold references too; its address goes the same way. References in
    ``pipeline_spec``, ``keytab`` and ``principal`` require ``allow_exposed_arguments``: they are in the command.
    """

    conf: Mapping[str, Any] | None
    env_vars: Mapping[str, Any] | None

    def _own_layers(self) -> Iterable[ConfigLayer]:
        yield mapping_layer(ConfigSource.DAG_CONFIG, "conf", self.conf or {})
        named = mapping_layer(ConfigSource.DAG_CONFIG, "arguments", arguments.pipelines_configs(self))
        yield replace(named, origins={key: f"argument {name}" for name, key in arguments.PIPELINES_KEYS.items()})

    def _own_texts(self) -> Iterator[Text]:
        yield from super()._own_texts()
        yield from self._texts_in(*arguments.PIPELINES_KEYS)

    def _without_conf(self) -> dict[str, Any]:
        """Return the fields without those that are in the layers."""
        fields = super()._without_conf()
        return {name: value for name, value in fields.items() if name not in arguments.PIPELINES_KEYS}

    def _default_files(self) -> Sequence[ConfigFile]:
        defaults = locate_spark_defaults(_BINARY, os.environ)
        return [ConfigFile(str(defaults), str(defaults), is_lenient=True)] if defaults else ()

    def _with_conf(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in fields.items() if name not in _HELD}

    @cached_property
    def hook(self) -> ConfiguredSparkPipelinesHook:
        """The stock hook with our additions, which gets values when it runs the pipeline."""
        hook = ConfiguredSparkPipelinesHook.of(
            super().hook,  # type: ignore[misc]  # of the operator
            submission=self._submission,
            reverser=lambda: self._run.reverser,
            withheld=lambda: self._run.withheld,
        )
        hook.config_conn_id = self.config_conn_id
        return hook

    def _submission(self, conf: Mapping[str, Any], environment_prefix: str | None) -> Submission:
        return self._run.submission(_Job(self.env_vars), conf, environment_prefix)
