"""The base of operators whose configuration comes in layers and may hold references."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.core import explain
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.resolver import ResolvedConfig, Unresolved
from airflow_config_providers.core.text import one_line
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, PolicyViolation
from airflow_config_providers.foreign import TASK_RUNNER, require, require_bases
from airflow_config_providers.job import dynamic_layers, nested_texts, policies, resolve_in
from airflow_config_providers.job.chosen_paths import PathTemplate, bounds_of_deployment
from airflow_config_providers.job.job_layers import JobLayers, listed, refuse_odd_paths
from airflow_config_providers.job.job_providers import JobProviders
from airflow_config_providers.job.mapped_texts import authors_params, authors_texts
from airflow_config_providers.job.reported import resolved_line, unresolved_notes
from airflow_config_providers.job.resolver import JobResolver
from airflow_config_providers.job.run import JobRun, path_texts
from airflow_config_providers.job.written import (
    FilledIn,
    Templates,
    WrittenReferences,
    brought_problem,
    filled_in,
    without_pushes,
)
from airflow_config_providers.operators import log_group
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.layer_files import Bound
from airflow_config_providers.spark.layers import ConfigFile
from airflow_config_providers.task_process import has_supervisor

FIELDS: Final = ("config_files", "effective_config")
"""The additional template fields of such an operator."""

STORED_OPTIONS: Final = ("_allow_exposed_arguments", "_config_conn_id")
"""The attributes that decide which references a job can have, and under which keys."""

_PATHS: Final = ("config_files", "properties_file")
"""The attributes with paths of properties files."""


@dataclass(frozen=True, slots=True)
class JobOptions:
    """
    The arguments that ``ConfiguredOperator`` adds to those of an operator.

    :raises ConfigException: an option has an unknown value; raised when the DAG is parsed
    """

    config_conn_id: str | None = None
    config_files: Sequence[str] | str | None = None
    unresolved: str | None = None
    allow_exposed_arguments: bool | None = None
    resolve_in: str | None = None

    def __post_init__(self) -> None:
        if self.unresolved is not None:
            settings.parse_unresolved(self.unresolved, where="argument unresolved")
        if self.resolve_in is not None:
            resolve_in.parse_place(self.resolve_in, where="argument resolve_in")


class ConfiguredOperator(BaseOperator):
    """
    Settles layers and resolves references when a task is rendered. People see only the references.

    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    :param config_files: a list of properties files, in which a later one overrides an earlier one, or a single path
        (templated)
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :param allow_exposed_arguments: allow resolved values where others than the job can read them; None for the default
        of the deployment
    :param resolve_in: where to resolve: ``worker``, ``driver`` or ``auto``; None for the default of the deployment
    """

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including those that decide about references, to check changes."""
        stored = super().get_serialized_fields()  # type: ignore[no-untyped-call]  # Airflow has no types here
        return frozenset({*stored, *STORED_OPTIONS})

    _authored: Mapping[str, str] = {}
    _bounds: Mapping[str, tuple[Bound, ...]] = {}
    _templates: Templates | None = None
    _is_filling_in: bool = False
    _written: WrittenReferences | None = None

    def __init__(
        self,
        *,
        config_conn_id: str | None = None,
        config_files: Sequence[str] | str | None = None,
        unresolved: str | None = None,
        allow_exposed_arguments: bool | None = None,
        resolve_in: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.take_over(JobOptions(config_conn_id, config_files, unresolved, allow_exposed_arguments, resolve_in))

    def take_over(self, options: JobOptions) -> None:
        """
        Set the attributes of ``__init__``, also on an operator that was created before it got this class.

        :raises UnsupportedVersionError: the installed Airflow or provider lacks something that this class leans on
        """
        require_bases(type(self))
        self._config_conn_id = options.config_conn_id
        self._allow_exposed_arguments = options.allow_exposed_arguments
        self.config_files = listed(options.config_files)
        self.unresolved = options.unresolved
        self.resolve_in = options.resolve_in
        self.written_params: Mapping[str, Any] = getattr(self.params, "dump", dict)()  # dump() never raises
        self.start_from_trigger = False  # the triggerer does not resolve references
        self.effective_config: list[str] | None = None  # None, so that Airflow does not store it with the DAG
        self._run = JobRun()

    @property
    def config_conn_id(self) -> str:
        """The connection that defines the providers. Settings are slow, so this does not run while a DAG is parsed."""
        return settings.config_conn_id() if self._config_conn_id is None else self._config_conn_id

    @property
    def allow_exposed_arguments(self) -> bool:
        """Whether resolved values may be where others can read them. Like ``config_conn_id``, it is read late."""
        chosen = self._allow_exposed_arguments
        return settings.allow_exposed_arguments() if chosen is None else chosen

    @abstractmethod
    def _own_layers(self) -> Iterable[ConfigLayer]:
        """Return the layers that the author of the DAG wrote."""

    @abstractmethod
    def _texts(self) -> Mapping[str, str]:
        """Return label -> text for texts with references outside the configuration."""

    @abstractmethod
    def _show_conf(self, layered: LayeredConfig) -> None:
        """Put the settled configuration into the field that people see."""

    def _own_files(self) -> Sequence[ConfigFile]:
        """Return files that the job always has, above those of the deployment and of the author."""
        return ()

    def _default_files(self) -> Sequence[ConfigFile]:
        """Return files that the job always has, below all others."""
        return ()

    def _may_be_remote(self) -> bool:
        """Return, without any requests, whether the driver could run on another machine."""
        return False

    def _is_remote(self) -> bool:
        """Return whether the driver runs on another machine, to which the job's configuration is sent."""
        return self._may_be_remote()

    def _not_python(self) -> str:
        """Return the field that shows that the job is not a Python program; its driver cannot resolve then."""
        return ""

    def _concerns_driver(self, layered: LayeredConfig) -> bool:
        """Return whether a driver would resolve or refuse anything here."""
        return resolve_in.concerns_driver(layered, self._texts())

    def _takes_any_key(self) -> bool:
        """Return whether the job also gets keys that do not begin with ``spark.``, which spark-submit ignores."""
        return False

    def _notes(self) -> Iterable[str]:
        """Return additional notes for the reader of the task log."""
        return ()

    @failing_at_once
    @nested_texts.refusing_depth()
    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        # Mapped tasks call this instead of the public method. It also recurses into the fields of other objects.
        render = partial(super()._do_render_template_fields, parent, template_fields, context, jinja_env, seen_oids)
        if parent is not self:
            render()
            return
        with log_group.ended_by_failure(self.log):
            self._render_whole(render, context, jinja_env, skip=frozenset(seen_oids))

    def _render_whole(self, render: Callable[[], None], context: Any, jinja_env: Any, *, skip: Collection[int]) -> None:
        before = self._authored = self._fill_in_templates(render, skip=skip)
        self.config_files = listed(self.config_files)  # what another task returned can be a string
        refuse_odd_paths(self.config_files)
        self._bounds = dict(self._bounds_of_files(before, context, jinja_env or self.get_template_env()))
        try:
            if self._is_preview(context):
                self._preview(context, jinja_env)
            else:
                self._resolve(context, jinja_env)
        finally:
            self._authored = {}  # it can contain plain-text secrets

    def _fill_in_templates(self, render: Callable[[], None], *, skip: Collection[int]) -> dict[str, str]:
        """
        Call ``render``, and determine which references in the fields the author wrote.

        :return: label -> the author's string before rendering
        """
        templates = self._templates = Templates(authors_texts(self), self._templates)
        names = (*self._fields(), "config_files")
        before = {
            text.label: text.text for text in self._texts_in(*names, skip=skip) if templates.is_authors(text.text)
        }
        try:
            self._is_filling_in = not settings.run_config_references()
            render()
        finally:
            self._is_filling_in = False
        self._written = WrittenReferences(
            text
            for text in self._texts_in(*names)
            if templates.is_written(text.text)
            or (before.get(text.label) is text.text and templates.is_authors(text.text))
        )
        return before

    def _bounds_of_files(
        self, before: Mapping[str, str], context: Any, environment: Any
    ) -> Iterator[tuple[str, tuple[Bound, ...]]]:
        """Yield the label of each path that the author named, with its bounds."""
        fill_in = partial(_text_of, environment=environment, context=context)
        config_paths, params = settings.config_paths(), authors_params(self, context)
        for text in self._paths():
            written = before.get(text.label, before.get(text.label.partition("[")[0]))
            template = PathTemplate(written, environment, fill_in, params)
            yield text.label, template.bounds(text.text, config_paths)

    def _paths(self) -> Iterator[nested_texts.Text]:
        """Yield the paths of files that the author of the DAG named."""
        for field in _PATHS:
            yield from nested_texts.texts(getattr(self, field, None), field)

    def render_template(
        self, content: Any, context: Any, jinja_env: Any = None, seen_oids: set[int] | None = None
    ) -> Any:
        """Return the result of a template, and track the references in templates of this operator's fields."""
        render = super().render_template
        if self._templates is None or not self._is_filling_in or not isinstance(content, str):
            return render(content, context, jinja_env, seen_oids)
        if id(content) in (seen_oids or ()):
            return content
        environment = jinja_env or self.get_template_env()
        return self._templates.fill_in(
            content,
            lambda env: render(content, context, env, seen_oids),
            environment,
            learn=lambda env: render(content, without_pushes(context), env, seen_oids),
            is_file=content.endswith(tuple(self.template_ext)),
        )

    def _is_preview(self, context: Any) -> bool:
        """Return whether ``airflow tasks render`` renders the DAG's own task; a run renders a locked copy."""
        if TASK_RUNNER in sys.modules:
            require(TASK_RUNNER)
        return "ti" in context and not self._lock_for_execution and not has_supervisor()

    def _preview(self, context: Any, jinja_env: Any) -> None:
        """Show what would be submitted, with notes about what would fail or differ in a run."""
        notes = list(self._brought_problems())
        files = [file for file in self._properties_files() if not scan(file.path)]
        notes += [f"{place} contains a reference, so the file is not shown." for place in self._referring_files()]
        resolver = self._resolver(JobProviders(self.config_conn_id))
        layers = self._layers(files, context, jinja_env, dynamic_layers.previewed(self._resource(), warn=notes.append))
        layered = resolver.settle(layers)
        try:
            self._require_allowed(layers)
        except PolicyViolation as violation:
            notes += violation.problems
        for note in notes:
            self.log.warning("This preview differs from a run: %s", note)
        self._show(layered, notes)

    def _resolve(self, context: Any, jinja_env: Any) -> None:
        if problems := list(self._brought_problems()):
            raise ConfigException(*problems)
        with ExitStack() as stack:
            resolver = self._resolver(stack.enter_context(JobProviders(self.config_conn_id)))
            dynamic = dynamic_layers.layers(self._resource())
            layers = self._layers(resolver.locate(self._properties_files()), context, jinja_env, dynamic)
            layered = resolver.settle(layers)
            self._require_allowed(layers)
            resolver = resolve_in.placed(
                resolver,
                self.resolve_in,
                suits_driver=self._may_be_remote() and not self._not_python() and self._concerns_driver(layered),
                is_remote=self._is_remote,
                not_python=self._not_python(),
            )
            resolved = self._resolved(resolver, layers)
            self._run = JobRun(
                resolved,
                stack.pop_all().close,
                resolver.carried,
                withheld=resolver.withheld(),
                providers=resolver.providers,
            )
        notes = [*self._notes(), *unresolved_notes(resolved, resolver.providers)]
        for note in notes:
            self.log.warning("%s", note)
        lines = self._show(resolved.layered, notes)
        self.log.info("Effective configuration:\n%s", "\n".join(lines))
        self.log.info("%s", resolved_line(resolved, of_driver=isinstance(resolver, resolve_in.DriverResolver)))

    def _require_allowed(self, layers: Sequence[ConfigLayer]) -> None:
        """Refuse layers that the deployment's policies deny."""
        policies.require_allowed(self._resource(), layers, self._references())

    def _resolved(self, resolver: JobResolver, layers: Sequence[ConfigLayer]) -> ResolvedConfig:
        return resolver.resolve(layers, self._texts())

    def _fields(self) -> list[str]:
        """Return the names of the attributes that may hold references."""
        return [name for name in self.template_fields if name not in FIELDS]

    def _texts_in(self, *names: str, skip: Collection[int] = ()) -> Iterator[nested_texts.Text]:
        for name in names:
            yield from nested_texts.texts(getattr(self, name), name, skip=skip)

    def _own_texts(self) -> Iterator[nested_texts.Text]:
        """Yield the texts in which a reference that is not written in the DAG is an error."""
        return self._texts_in("config_files")

    def _brought_problems(self) -> Iterator[str]:
        return (self._brought_problem(text) for text in self._own_texts() if not self._is_written(text))

    def _brought_problem(self, text: nested_texts.Text) -> str:
        goes_up = self._templates is not None and self._templates.goes_up(text.text)
        return brought_problem(text.label, template=self._authored.get(text.label, ""), goes_up=goes_up)

    def _is_written(self, text: nested_texts.Text) -> bool:
        """Return whether the references in ``text`` are written in the DAG and did not come from data."""
        return self._written is None or self._written.cover(text) or settings.run_config_references()

    def _resource(self) -> ConfigResource:
        return ConfigResource.of_task(self.dag_id, self.task_id)

    def _references(self) -> dict[str, str]:
        """Return label -> text for all texts with references outside the configuration, including paths."""
        return {**self._texts(), **self._referring_files()}

    def _referring_files(self) -> dict[str, str]:
        return path_texts(file.path for file in self._properties_files())

    def _resolver(self, providers: JobProviders) -> JobResolver:
        return JobResolver(providers, self._unresolved(), self.allow_exposed_arguments)

    def _unresolved(self) -> Unresolved:
        if self.unresolved is None:
            return settings.unresolved()
        return settings.parse_unresolved(self.unresolved, where="argument unresolved")

    def _properties_files(self) -> list[ConfigFile]:
        """Return the properties files, strongest last."""
        files = [self._file(path, "", is_template=True) for path in settings.config_files()]
        own = [
            self._file(path, f"config_files[{i}]", is_template=True) for i, path in enumerate(self.config_files or ())
        ]
        return [*self._default_files(), *files, *own, *self._own_files()]

    def _file(self, path: str, label: str, *, is_template: bool = False) -> ConfigFile:
        """Return a file that the deployment or the author named; ``label`` is its place in the DAG."""
        bounds = self._bounds.get(label, bounds_of_deployment(settings.config_paths()))
        return ConfigFile(path, path, is_template=is_template, bounds=bounds, label=label)

    def _layers(
        self, files: Sequence[ConfigFile], context: Any, jinja_env: Any, dynamic: Sequence[ConfigLayer]
    ) -> list[ConfigLayer]:
        layers = JobLayers(
            files=files,
            definition=spark_definition(),
            render=partial(_filled_in, jinja_env=jinja_env or self.get_template_env(), context=context),
            warn=self.log.warning,
            dynamic=dynamic,
            takes_any_key=self._takes_any_key(),
        )
        return layers.collect(self._own_layers(), getattr(context.get("dag_run"), "conf", None))

    def _show(self, layered: LayeredConfig, notes: Sequence[str] = ()) -> list[str]:
        """Set the fields that people see, and return all lines of ``effective_config``."""
        lines = [*(f"! {one_line(note)}" for note in notes), *explain.lines(layered)]
        self._show_conf(layered)
        self.effective_config = explain.shortened(
            lines,
            characters=settings.longest_field(),
            rest="see the task log, or raise [core] max_templated_field_length",
        )
        return lines


def _filled_in(text: str, *, jinja_env: Any, context: Any) -> FilledIn:
    learn = partial(_text_of, text, context=without_pushes(context))
    return filled_in(partial(_text_of, text, context=context), jinja_env, learn=learn, template=text)


def _text_of(template: str, environment: Any, *, context: Any) -> str:
    """Return the result of a template as a string, even in a DAG that renders templates as Python objects."""
    return "".join(map(str, environment.from_string(template).generate(context)))
