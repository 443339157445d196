"""``SparkSubmitOperator`` with layers and references."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import in_task_process
from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.resolver import ConfigResolver, Unresolved
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan, variables
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.operators.job_layers import JobLayers
from airflow_config_providers.operators.job_run import JobRun, field_texts
from airflow_config_providers.spark.arguments import EXPOSED_FIELDS, EXPOSED_KEYS
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.defaults import locate_spark_defaults
from airflow_config_providers.spark.layers import SUBSTITUTED_BY_SPARK, ConfigFile


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
        if unresolved is not None:
            settings.parse_unresolved(unresolved, where="argument unresolved")
        self.unresolved = unresolved
        self.allow_exposed_arguments = allow_exposed_arguments
        self.effective_config: list[str] = []
        self._run = JobRun()

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
        files = [file for file in self._files() if not scan(file.path)]
        self._show(self._resolver({}).settle(self._layers(files, context, jinja_env)))

    def _resolve(self, context: Any, jinja_env: Any) -> None:
        layers = self._layers(self._found(self._files()), context, jinja_env)
        texts = field_texts(self)
        settled = self._resolver({}).settle(layers).settled
        with self._providers([*settled.values(), *texts.values()]) as providers:
            self._refuse_exposed({**settled, **texts}, providers)
            resolved = self._resolver(providers).resolve(layers, texts)
        self._run = JobRun(resolved)
        self._show(resolved.layered)

    def _files(self) -> list[ConfigFile]:
        """Give the properties files, the strongest last; Spark's defaults file counts where the author gave none."""
        paths = [*settings.config_files(), *(self.config_files or ())]
        defaults = None
        if self.properties_file:
            paths.append(self.properties_file)
        else:
            defaults = locate_spark_defaults(self._spark_binary or DEFAULT_SPARK_BINARY, os.environ)
        files = [ConfigFile(path, path) for path in paths]
        return [ConfigFile(str(defaults), str(defaults), lenient=True), *files] if defaults else files

    def _found(self, files: Sequence[ConfigFile]) -> list[ConfigFile]:
        """Replace references in the paths; people go on seeing the references."""
        texts = {file.name: file.path for file in files}
        with self._providers(texts.values()) as providers:
            resolved = self._resolver(providers).resolve([], texts)
        return [replace(file, path=resolved.text(file.name)) for file in files]

    def _layers(self, files: Sequence[ConfigFile], context: Any, jinja_env: Any) -> list[ConfigLayer]:
        run = context.get("dag_run")
        layers = JobLayers(
            files=files,
            definition=spark_definition(),
            render=lambda text: str(self.render_template(text, context, jinja_env)),
            warn=self.log.warning,
        )
        return layers.collect(self, getattr(run, "conf", None))

    @contextmanager
    def _providers(self, texts: Iterable[str]) -> Iterator[Mapping[str, ConfigProvider]]:
        """Open the deployment's providers where ``texts`` hold a reference that may be theirs."""
        names = {variable.provider for text in texts for variable in variables(text)}
        hook = ConfigProvidersHook(self.config_conn_id)
        if names <= SUBSTITUTED_BY_SPARK and not (names and hook.is_defined()):
            yield {}
            return
        with hook.get_conn() as providers:
            yield providers

    def _resolver(self, providers: Mapping[str, ConfigProvider]) -> ConfigResolver:
        return ConfigResolver(
            providers,
            spark_definition(),
            unresolved=self._unresolved,
            foreign=SUBSTITUTED_BY_SPARK,
            max_workers=settings.max_workers(),
        )

    @property
    def _unresolved(self) -> Unresolved:
        if self.unresolved is None:
            return settings.unresolved()
        return settings.parse_unresolved(self.unresolved, where="argument unresolved")

    def _refuse_exposed(self, texts: Mapping[str, str], providers: Mapping[str, ConfigProvider]) -> None:
        if self.allow_exposed_arguments:
            return
        problems = [
            f"{printable(name)}: the value of {printable(str(variable))} would stand where every user of the machine "
            f"or of Spark's UI can read it. Pass it through conf, or say allow_exposed_arguments=True."
            for name, text in texts.items()
            if name in EXPOSED_KEYS or name.startswith(EXPOSED_FIELDS)
            for variable in variables(text)
            if variable.provider in providers
        ]
        if problems:
            raise ExposedValueError(*problems)

    def _show(self, layered: LayeredConfig) -> None:
        self.conf = dict(layered.settled)
        self.effective_config = explain.lines(layered.entries().values())

    def _get_hook(self) -> ConfiguredSparkSubmitHook:
        return ConfiguredSparkSubmitHook.of(
            super()._get_hook(),
            submission=lambda conf: self._run.submission(self, conf),
            reverser=lambda: self._run.reverser,
        )
