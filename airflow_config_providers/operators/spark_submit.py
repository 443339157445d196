"""``SparkSubmitOperator`` with layers and references."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import in_task_process
from airflow_config_providers.core import explain
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.text import one_line
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import PolicyViolation
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.operators import job_dynamic, job_policies
from airflow_config_providers.operators.job_layers import JobLayers
from airflow_config_providers.operators.job_providers import JobProviders
from airflow_config_providers.operators.job_resolver import JobResolver
from airflow_config_providers.operators.job_run import JobRun, field_texts, path_texts
from airflow_config_providers.spark import arguments
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.defaults import locate_spark_defaults
from airflow_config_providers.spark.layers import ConfigFile


class ConfiguredSparkSubmitOperator(SparkSubmitOperator):
    """
    Submit a Spark job whose configuration comes in layers and may hold references.

    When the task is rendered the layers are settled and the winners' references resolved. What this operator
    keeps, and so what Airflow stores and shows, are the references; the values go to spark-submit alone.

    :param config_conn_id: the connection that defines the providers
    :param config_files: properties files, each a layer above the one before it (templated)
    :param unresolved: ``fail`` or ``keep``; what becomes of a reference that nobody answers
    :param allow_exposed_arguments: let resolved values stand where users of the machine and of Spark's UI can read
        them: in ``application``, ``application_args``, ``proxy_user`` and ``post_submit_commands``, and under keys
        that Spark writes into a command
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "config_files", "effective_config")

    def __init__(
        self,
        *,
        config_conn_id: str = ConfigProvidersHook.default_conn_name,
        config_files: Sequence[str] | None = None,
        unresolved: str | None = None,
        allow_exposed_arguments: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.config_conn_id = config_conn_id
        self.config_files = config_files
        self.unresolved = unresolved
        if unresolved is not None:
            self._unresolved()  # a wrong word is found when the DAG is read
        self.allow_exposed_arguments = allow_exposed_arguments
        self.effective_config: list[str] = []
        self._run = JobRun()

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Have Airflow store also what it leaves out of a DAG, so that ``describe`` shows it without a run."""
        stored = super().get_serialized_fields()  # type: ignore[no-untyped-call]  # Airflow has no types here
        return frozenset({*stored, *(f"_{name}" for name in arguments.KEYS), "_whole_conf"})

    @property
    def _whole_conf(self) -> str | None:
        """Give ``conf`` as JSON where Airflow would cut it when it stores it."""
        return json.dumps(self.conf, default=str) if len(str(self.conf)) > settings.longest_field() else None

    def execute(self, context: Any) -> None:
        """Run spark-submit; what is raised and logged shows references."""
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

    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        # Mapped tasks call this and not the public method. It also recurses into the fields of other objects.
        super()._do_render_template_fields(parent, template_fields, context, jinja_env, seen_oids)
        if parent is self and self._is_preview(context):
            self._settle(context, jinja_env)
        elif parent is self:
            self._resolve(context, jinja_env)

    def _is_preview(self, context: Any) -> bool:
        """Tell ``airflow tasks render``, which renders the DAG's own task, from a run, which renders a locked copy."""
        return "ti" in context and not self._lock_for_execution and not in_task_process()

    def _settle(self, context: Any, jinja_env: Any) -> None:
        """Show what would be submitted, and above it what a run would not get through or get otherwise."""
        notes: list[str] = []
        files = [file for file in self._files() if not scan(file.path)]
        notes += [f"{place} holds a reference, so the file is left out." for place in self._referring_files()]
        resolver = self._resolver(JobProviders(self.config_conn_id))
        layers = self._layers(files, context, jinja_env, job_dynamic.previewed(self._resource(), warn=notes.append))
        layered = resolver.settle(layers)
        try:
            job_policies.require_allowed(self._resource(), layers, self._references())
        except PolicyViolation as violation:
            notes += violation.problems
        for note in notes:
            self.log.warning("This preview is not what a run would get: %s", note)
        self._show(layered, notes)

    def _resolve(self, context: Any, jinja_env: Any) -> None:
        with ExitStack() as stack:
            resolver = self._resolver(stack.enter_context(JobProviders(self.config_conn_id)))
            references = self._references()
            dynamic = job_dynamic.layers(self._resource())
            layers = self._layers(resolver.locate(self._files()), context, jinja_env, dynamic)
            resolver.settle(layers)
            job_policies.require_allowed(self._resource(), layers, references)
            resolved = resolver.resolve(layers, field_texts(self))
            self._run = JobRun(resolved, stack.pop_all().close)
        lines = self._show(resolved.layered)
        self.log.info("Effective configuration:\n%s", "\n".join(lines))

    def _resource(self) -> ConfigResource:
        return ConfigResource.of_task(self.dag_id, self.task_id)

    def _references(self) -> dict[str, str]:
        """Give what refers to something beside the configuration, by names that people understand."""
        return {**field_texts(self), **self._referring_files()}

    def _referring_files(self) -> dict[str, str]:
        return path_texts(file.path for file in self._files())

    def _resolver(self, providers: JobProviders) -> JobResolver:
        return JobResolver(providers, self._unresolved(), self.allow_exposed_arguments)

    def _unresolved(self) -> Unresolved:
        if self.unresolved is None:
            return settings.unresolved()
        return settings.parse_unresolved(self.unresolved, where="argument unresolved")

    def _files(self) -> list[ConfigFile]:
        """Give the properties files, the strongest last; Spark's defaults file counts where the author gave none."""
        paths = [*settings.config_files(), *(self.config_files or ())]
        files = [ConfigFile(path, path, is_template=True) for path in paths]
        if self.properties_file:
            return [*files, ConfigFile(self.properties_file, self.properties_file)]
        defaults = locate_spark_defaults(self._spark_binary or DEFAULT_SPARK_BINARY, os.environ)
        return [ConfigFile(str(defaults), str(defaults), is_lenient=True), *files] if defaults else files

    def _layers(
        self, files: Sequence[ConfigFile], context: Any, jinja_env: Any, dynamic: Sequence[ConfigLayer]
    ) -> list[ConfigLayer]:
        layers = JobLayers(
            files=files,
            definition=spark_definition(),
            render=lambda text: str(self.render_template(text, context, jinja_env)),
            warn=self.log.warning,
            dynamic=dynamic,
        )
        return layers.collect(self, getattr(context.get("dag_run"), "conf", None))

    def _show(self, layered: LayeredConfig, notes: Sequence[str] = ()) -> list[str]:
        """Fill the fields that people see, and give the lines of the longer one in full."""
        lines = [*(f"! {one_line(note)}" for note in notes), *explain.lines(layered)]
        self.conf = explain.texts(layered)
        self.effective_config = explain.shortened(
            lines,
            characters=settings.longest_field(),
            rest="see the task log, or raise [core] max_templated_field_length",
        )
        return lines

    def _get_hook(self) -> ConfiguredSparkSubmitHook:
        return ConfiguredSparkSubmitHook.of(
            super()._get_hook(),
            submission=lambda conf, environment_prefix: self._run.submission(self, conf, environment_prefix),
            reverser=lambda: self._run.reverser,
        )
