"""What every operator has whose configuration comes in layers and may hold references."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import BaseOperator, in_task_process
from airflow_config_providers.core import explain
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.text import one_line
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import PolicyViolation
from airflow_config_providers.operators import job_dynamic, job_place, job_policies
from airflow_config_providers.operators.job_layers import JobLayers
from airflow_config_providers.operators.job_providers import JobProviders
from airflow_config_providers.operators.job_resolver import JobResolver
from airflow_config_providers.operators.job_run import JobRun, path_texts
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.layers import ConfigFile

FIELDS: Final = ("config_files", "effective_config")
"""The template fields that such an operator has beside its own."""


class ConfiguredOperator(BaseOperator):
    """
    Settles layers and resolves references when a task is rendered; what people see are the references.

    :param config_conn_id: the connection that defines the providers; None for the deployment's
    :param config_files: properties files, each a layer above the one before it (templated)
    :param unresolved: ``fail`` or ``keep``; what becomes of a reference that nobody answers
    :param allow_exposed_arguments: let resolved values stand where others than the job can read them; None for what
        the deployment says
    :param resolve_in: ``worker``, ``driver`` or ``auto``; None for what the deployment says
    """

    def __init__(
        self,
        *,
        config_conn_id: str | None = None,
        config_files: Sequence[str] | None = None,
        unresolved: str | None = None,
        allow_exposed_arguments: bool | None = None,
        resolve_in: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.take_over(config_conn_id, config_files, unresolved, allow_exposed_arguments, resolve_in)

    def take_over(
        self,
        config_conn_id: str | None = None,
        config_files: Sequence[str] | None = None,
        unresolved: str | None = None,
        allow_exposed_arguments: bool | None = None,
        resolve_in: str | None = None,
    ) -> None:
        """Set what ``__init__`` would have set, for an operator that was made before it got this class."""
        self.config_conn_id = settings.config_conn_id() if config_conn_id is None else config_conn_id
        self.config_files = config_files
        self.unresolved = unresolved
        if unresolved is not None:
            self._unresolved()  # a wrong word is found when the DAG is read
        if allow_exposed_arguments is None:
            allow_exposed_arguments = settings.allow_exposed_arguments()
        self.allow_exposed_arguments = allow_exposed_arguments
        self.resolve_in = resolve_in
        if resolve_in is not None:
            job_place.parse_place(resolve_in, where="argument resolve_in")  # as above
        self.effective_config: list[str] = []
        self._run = JobRun()

    @abstractmethod
    def _own_layers(self) -> Iterable[ConfigLayer]:
        """Give the layers that the author of the DAG wrote."""

    @abstractmethod
    def _texts(self) -> Mapping[str, str]:
        """Give the texts that hold references and are no configuration, by a name that people understand."""

    @abstractmethod
    def _show_conf(self, layered: LayeredConfig) -> None:
        """Put the settled configuration where people see it."""

    def _own_files(self) -> Sequence[ConfigFile]:
        """Give the files that the job has anyway, above those of the deployment and of the author."""
        return ()

    def _default_files(self) -> Sequence[ConfigFile]:
        """Give the files that the job has anyway, below all others."""
        return ()

    def _is_remote(self) -> bool:
        """Tell whether the driver runs on another machine, and so has the job's configuration sent there."""
        return False

    def _notes(self) -> Iterable[str]:
        """Give what else a reader of the task log should know."""
        return ()

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
            resolver = job_place.placed(resolver, self.resolve_in, is_remote=self._is_remote)
            references = self._references()
            dynamic = job_dynamic.layers(self._resource())
            layers = self._layers(resolver.locate(self._files()), context, jinja_env, dynamic)
            resolver.settle(layers)
            job_policies.require_allowed(self._resource(), layers, references)
            resolved = resolver.resolve(layers, self._texts())
            self._run = JobRun(resolved, stack.pop_all().close, resolver.carried)
        notes = list(self._notes())
        for note in notes:
            self.log.warning("%s", note)
        lines = self._show(resolved.layered, notes)
        self.log.info("Effective configuration:\n%s", "\n".join(lines))

    def _resource(self) -> ConfigResource:
        return ConfigResource.of_task(self.dag_id, self.task_id)

    def _references(self) -> dict[str, str]:
        """Give what refers to something beside the configuration, by names that people understand."""
        return {**self._texts(), **self._referring_files()}

    def _referring_files(self) -> dict[str, str]:
        return path_texts(file.path for file in self._files())

    def _resolver(self, providers: JobProviders) -> JobResolver:
        return JobResolver(providers, self._unresolved(), self.allow_exposed_arguments)

    def _unresolved(self) -> Unresolved:
        if self.unresolved is None:
            return settings.unresolved()
        return settings.parse_unresolved(self.unresolved, where="argument unresolved")

    def _files(self) -> list[ConfigFile]:
        """Give the properties files, the strongest last."""
        paths = [*settings.config_files(), *(self.config_files or ())]
        files = [ConfigFile(path, path, is_template=True) for path in paths]
        return [*self._default_files(), *files, *self._own_files()]

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
        return layers.collect(self._own_layers(), getattr(context.get("dag_run"), "conf", None))

    def _show(self, layered: LayeredConfig, notes: Sequence[str] = ()) -> list[str]:
        """Fill the fields that people see, and give the lines of the longer one in full."""
        lines = [*(f"! {one_line(note)}" for note in notes), *explain.lines(layered)]
        self._show_conf(layered)
        self.effective_config = explain.shortened(
            lines,
            characters=settings.longest_field(),
            rest="see the task log, or raise [core] max_templated_field_length",
        )
        return lines
