"""The base of operators whose configuration comes in layers, and whose fields can hold references."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import astuple, dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import SUSPENSIONS, BaseOperator, resuming_argument, resuming_method
from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.nested import ITEMS, is_mapping
from airflow_config_providers.core.text import once, one_line, printable, shortened
from airflow_config_providers.core.variable import scan
from airflow_config_providers.core.wording import first_of
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, refuse
from airflow_config_providers.foreign import TASK_RUNNER, has_supervisor, require, require_bases
from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.authored_job import STORED, AuthoredJob, stored_text
from airflow_config_providers.job.fields import OURS, JobFields
from airflow_config_providers.job.file_paths import listed, refuse_odd_paths
from airflow_config_providers.job.nested_texts import NestedString, field_of, refuse_unstorable, strings
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_or_default
from airflow_config_providers.job.options import NO_OPTIONS, JobOptions
from airflow_config_providers.job.unresolved_arguments import unresolved_arguments
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.postponed_timeout import PostponedTimeout
from airflow_config_providers.operators.reloading import ReloadingOperator, attributes
from airflow_config_providers.operators.reversal.author_hooks import (
    AuthorHook,
    defines,
    guard_callbacks,
    guard_methods,
    is_followed,
)

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.authorship import Authorship
    from airflow_config_providers.job.configuration import JobConfiguration
    from airflow_config_providers.job.policies import TaskVerdict
    from airflow_config_providers.job.resolver import Driver
    from airflow_config_providers.job.run import JobRun
    from airflow_config_providers.job.sealed_values import ValueSeal
    from airflow_config_providers.operators.reversal.task_output import AddedContext
    from airflow_config_providers.spark.installation import SparkInstallation
    from airflow_config_providers.spark.layer_files import ConfigFile

_OWN: Final = (
    *("config_files", "effective_config", "written_params"),
    *("_authorship", "_job_options", "_held_texts", "_job_run", "_job_reload", "_is_killed", "_is_outdated"),
    *("_kept_record", "_record_keeper", "_referring_texts", "_has_called_base", "_has_submitted"),
    *("_is_executing", "_before_submit", "_added_context"),
)
"""The attributes of a configured operator."""

_NONE: Final = (
    "{}: its template returned None, so the job gets the string 'None'. Give the template a default, or remove the key."
)

_WITHOUT_BASE: Final = (
    "The execute() of this operator has not called super().execute(), so its fields had references in place of "
    "values. Call it where you need them, or derive the class from the stock operator, and decorate it with configured."
)

_NOT_ASKED: Final = "This task went on after a deferral. What is shown was settled anew, without asking the policies, "
_SETTLED_ANEW: Final = f"{_NOT_ASKED}and {{}}."

_KNOWN: Final = ("airflow.providers.", "airflow.sdk.", "airflow_config_providers.")
"""The packages of which it is known what their methods do after a deferral: only ``execute`` submits a job."""

_MOST_NAMED: Final = 20
"""How many keys a note names."""

_NONE_CHOSEN: Final = astuple(NO_OPTIONS)

_SEALED_VALUES: Final = "_config_providers_values"
"""The argument with which a deferred task gets the values that its job had before, sealed."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _HeldTexts:
    """
    What the fields of an operator have while ``execute`` runs; it keeps the strings alive, so that no other gets an id.

    :param fields: name -> content
    :param texts: all strings in it, which are rendered already
    :param values: those that have values in place of references
    """

    fields: Mapping[str, Any]
    texts: Sequence[str]
    values: Sequence[str]

    @classmethod
    def of(cls, shown: Mapping[str, Any], resolved: Mapping[str, Any]) -> _HeldTexts:
        """Return what fields have that ``shown`` has with references, and ``resolved``, as far as it differs."""
        written = [*strings(shown)]  # lives as long as its ids are compared
        ids, fields = {*map(id, written)}, {**shown, **resolved}
        texts = [*strings(fields)]
        return cls(fields, texts, [text for text in texts if id(text) not in ids])

    def is_set_anew(self, name: str, content: object) -> bool:
        """Return whether code has set a field to another string than it had."""
        return isinstance(content, str) and content is not self.fields.get(name)


class ConfiguredOperator(ReloadingOperator):
    """
    A mixin for any operator, whose template fields can hold references, however nested.

    When the task is rendered, the layers of its Spark configuration are settled, and references are resolved: those
    that are written in the DAG, not those that come from data. People see only the references. The fields have the
    values only while ``execute`` runs, or a method that continues after a deferral. What is logged, raised, returned
    or pushed to XCom shows references.

    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    :param config_files: a list of properties files, in which a later one overrides an earlier one, or a single path
        (templated)
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :param allow_exposed_arguments: allow resolved values where others than the job can read them; None for the default
        of the deployment
    :param resolve_in: where to resolve: ``worker``, ``driver`` or ``auto``; None for the default of the deployment
    :param reload_action: what happens to the running job when its secrets change: ``none`` or ``restart``; None for
        ``config.reload.action`` of the connection
    :param streaming: whether the job is meant to run for ever, so that it is restarted by default
    """

    spec: ClassVar[OperatorSpec | None] = None
    """The description of the operator; None to look it up by class."""

    # What most operators have in common is not set on each, because Airflow checks each attribute that is set.
    config_files: Any = None
    effective_config: list[str] | None = None  # None, so that Airflow does not store it with the DAG
    written_params: Mapping[str, Any] = MappingProxyType({})
    _job_options = NO_OPTIONS
    _held_texts: _HeldTexts | None = None  # of the fields, while they have values in place of references
    _is_executing = False
    _has_called_base = False  # the execute of a subclass
    _has_submitted = False
    _added_context: AddedContext | None = None  # since it was rendered, if there are values
    _before_submit: Callable[[], object] | None = None  # of a task that goes on, if it submits a job after all
    _referring_texts: Mapping[str, str] | None = None  # label -> string, as rendered; None if a job is followed
    _pre_execute_hook = AuthorHook()
    _post_execute_hook = AuthorHook()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.start_from_trigger = False  # a mapped task is started as its class says, without an object
        cls.guard_author_methods()

    @classmethod
    def guard_author_methods(cls) -> None:
        """Have what is now set on this class leave only references behind, as what was there when it was made."""
        guard_methods(cls, ConfiguredOperator)

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """
        Return the operator to be mapped, which starts on a worker: the triggerer does not resolve references.

        :raises ConfigException: PostgreSQL could not store an argument
        """
        refuse_unstorable(kwargs)  # Airflow stores a mapped task without asking for its job
        made = super().partial(**kwargs)
        if made.kwargs.get("start_from_trigger"):  # a mapped task is started as this says, before its class is asked
            made.kwargs["start_from_trigger"] = False
        return made

    def __init__(  # noqa: PLR0913 - Airflow takes default_args for the arguments that it finds here
        self,
        *,
        config_conn_id: str | None = None,
        config_files: Sequence[str] | str | None = None,
        unresolved: str | None = None,
        allow_exposed_arguments: bool | None = None,
        resolve_in: str | None = None,
        reload_action: str | None = None,
        streaming: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        chosen = (config_conn_id, unresolved, allow_exposed_arguments, resolve_in, reload_action, streaming)
        self.take_over(NO_OPTIONS if chosen == _NONE_CHOSEN else JobOptions(*chosen), config_files)

    def take_over(self, options: JobOptions = NO_OPTIONS, config_files: Sequence[str] | str | None = None) -> None:
        """
        Set the attributes of ``__init__``, also on an operator that was created before it got this class.

        :raises ConfigException: another class has set an attribute of the same name
        :raises UnsupportedVersionError: the installed Airflow or provider lacks something that this class leans on
        """
        require_bases(type(self))
        found = vars(self)
        refuse_taken(type(self), found.keys() & {*OURS})
        for name in found.keys() & _OWN:  # another class can have set one of the same name
            del found[name]
        if options is not NO_OPTIONS:
            self._job_options = options
        if config_files is not None:
            self.config_files = listed(config_files)
        if self.params:
            self.written_params = getattr(self.params, "dump", dict)()  # dump() never raises
        if self.start_from_trigger:
            self.start_from_trigger = False  # the triggerer does not resolve references

    @cached_property
    def _authorship(self) -> Authorship:
        from airflow_config_providers.job.authorship import Authorship

        return Authorship()

    @property
    def config_conn_id(self) -> str:
        """The connection that defines the providers. Settings are slow, so this does not run while a DAG is parsed."""
        return self._job_options.conn_id

    @property
    def unresolved(self) -> str | None:
        """What to do with a reference that no provider answers; None for the default of the deployment."""
        return self._job_options.unresolved

    @unresolved.setter
    def unresolved(self, text: str | None) -> None:
        self._job_options = replace(self._job_options, unresolved=text)

    @property
    def allow_exposed_arguments(self) -> bool:
        """Whether resolved values may be where others can read them. Like ``config_conn_id``, it is read late."""
        return self._job_options.allows_exposed

    @property
    def resolve_in(self) -> str | None:
        """Where to resolve; None for the default of the deployment."""
        return self._job_options.resolve_in

    @resolve_in.setter
    def resolve_in(self, text: str | None) -> None:
        self._job_options = replace(self._job_options, resolve_in=text)

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including the job, so that ``describe`` needs no run."""
        stored = super().get_serialized_fields()  # type: ignore[no-untyped-call]  # Airflow has no types here
        return frozenset({*stored, STORED})

    @property
    def _authored_job(self) -> str | None:
        fields = self._job_fields()
        # Here, Airflow reports it as an error of the DAG file.
        refuse_unstorable({name: fields.read(name) for name in fields.names})
        return stored_text(self, fields, self._job_options)

    @failing_at_once
    @clearing_frames
    @nested_texts.refusing_depth()
    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        # Mapped tasks call this instead of the public method. It also recurses into the fields of other objects.
        if parent is self and self._held_texts is not None:  # code renders what it has set, as @task.bash does
            self._render_again(self._held_texts, template_fields, context, jinja_env, seen_oids)
            return
        render = partial(super()._do_render_template_fields, parent, template_fields, context, jinja_env, seen_oids)
        if parent is not self:
            render()
            return
        with _outside_log_group(self.log):
            self._render_whole(render, context, jinja_env, skip=frozenset(seen_oids))

    def _render_again(
        self, held: _HeldTexts, template_fields: Iterable[str], context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        """Render what code has set, even to a string that another field has; a value is no template."""
        names = list(template_fields)
        moved = [name for name in names if held.is_set_anew(name, getattr(self, name, None))]
        render = super()._do_render_template_fields
        for some, texts in (([name for name in names if name not in moved], held.texts), (moved, held.values)):
            render(self, some, context, jinja_env, seen_oids.union(map(id, texts)))

    def _render_whole(self, render: Callable[[], None], context: Any, jinja_env: Any, *, skip: Collection[int]) -> None:
        from airflow_config_providers.job.authorship import Authorship

        self.guard_author_methods()
        fields = self._job_fields()
        self._authorship = authorship = Authorship(self._authorship)  # the original of this copy can run again
        before, is_plain = fields.texts(skip=skip), self._renders_plainly()
        authorship.render(self, render, before=before, after=fields.texts, is_plain=is_plain)
        self.config_files = listed(self.config_files)  # what another task returned can be a string
        refuse_odd_paths(self.config_files)
        authorship.bound_paths(self, self._job_paths(fields), context, jinja_env or self.get_template_env())
        try:
            if self._is_preview(context):
                self._preview_job(context, jinja_env)
            else:
                self._resolve_job(context, jinja_env)
        finally:
            authorship.forget_templates()

    def render_template(
        self, content: Any, context: Any, jinja_env: Any = None, seen_oids: set[int] | None = None
    ) -> Any:
        """Return the result of a template, and track the references in templates of this operator's fields."""
        from airflow_config_providers.job.template_references import without_pushes

        render = super().render_template
        if not self._authorship.is_rendering or not isinstance(content, str):
            return render(content, context, jinja_env, seen_oids)
        if id(content) in (seen_oids or ()):
            return content
        return self._authorship.fill_in(
            content,
            lambda environment: render(content, context, environment, seen_oids),
            jinja_env or self.get_template_env(),
            learn=lambda environment: render(content, without_pushes(context), environment, seen_oids),
            is_file=content.endswith(tuple(self.template_ext)),
        )

    def _renders_plainly(self) -> bool:
        """Return whether each template becomes a string, and no other class changes how."""
        if any(getattr(one, "render_template_as_native_obj", None) for one in (self, self.get_dag())):
            return False
        ways = super().render_template, self._render
        return [getattr(way, "__func__", None) for way in ways] == [BaseOperator.render_template, BaseOperator._render]

    def _is_preview(self, context: Any) -> bool:
        """Return whether ``airflow tasks render`` renders the DAG's own task; a run renders a locked copy."""
        if TASK_RUNNER in sys.modules:
            require(TASK_RUNNER)
        return "ti" in context and not self._lock_for_execution and not has_supervisor()

    def _preview_job(self, context: Any, jinja_env: Any) -> None:
        """Show what would be submitted, with notes about what would fail or differ in a run."""
        fields = self._job_fields()
        problems = list(self._job_problems(fields))
        layered, notes = self._job_configuration(fields, context, jinja_env).preview()
        notes = [*problems, *notes]
        for note in notes:
            self.log.warning("Preview: %s", note)
        self._show_job(fields, layered, notes)

    def _resolve_job(self, context: Any, jinja_env: Any) -> None:
        """Get the values of this run, and show where they come from. Values of an earlier one stay hidden."""
        before, run = self._job_run, self._resolved_run(context, jinja_env)
        if before.reverser:  # code renders or runs once more
            run.know(before.reverser)
        else:
            self._know_sealed(run, context, resuming_argument(context.get("ti"), _SEALED_VALUES))
        self._job_run = run
        if run.reverser:
            self._begin_reversal(context)
        self._show_run(run, self._resuming_notes(context, run))

    def _begin_reversal(self, context: Any) -> None:
        """Have all that Airflow gets of this task show references from now on: an author's code runs next."""
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        guard_output(self._known_values())
        if self._added_context is None or self._added_context.context is not context:
            self._added_context = AddedContext(context)
            guard_callbacks(self)

    def _resolved_run(self, context: Any, jinja_env: Any) -> JobRun:
        configuration = self._checked_configuration(context, jinja_env)
        name = resuming_method(context.get("ti"))
        if name is not None and (name != "execute" or self._is_known(name)):  # another can be called after the job, too
            self._before_submit = partial(self._begin_late, context)
        layered: LayeredConfig | None = None
        try:
            with configuration.settled() as settled:
                layered = settled.layered
                return configuration.run_of(settled, self._verdict_on(configuration, settled.layers, context))
        except ConfigProvidersError as error:
            is_late = name == "execute" and self._before_submit is not None
            self._keep_refused(context, layered, error.problems, is_late=is_late)
            raise

    def _verdict_on(self, configuration: JobConfiguration, layers: Sequence[ConfigLayer], context: Any) -> TaskVerdict:
        """Return what the policies say; nothing if the job has run, so that they are asked only if another begins."""
        from airflow_config_providers.job.policies import NO_VERDICT

        ask = partial(configuration.verdict, layers)
        if not self._has_run_its_job(context):
            return ask()
        self._before_submit = partial(self._begin_late, context, ask)
        return NO_VERDICT

    def _has_run_its_job(self, context: Any) -> bool:
        """
        Return whether the task goes on after its job.

        In ``execute``, as on EMR Serverless, it goes on before it. A method of a class outside Airflow's providers and
        this package can submit a job in any way, so it does not count as going on after the job either.
        """
        name = resuming_method(context.get("ti"))
        return name not in {None, "execute"} and self._is_known(name)

    def _is_known(self, name: str) -> bool:
        owners = [one.__module__ for one in type(self).__mro__ if defines(one, name)]
        return bool(owners) and all(owner.startswith(_KNOWN) for owner in owners)

    def _ask_late(self) -> None:
        """
        Ask the policies, and keep the record, before a task that went on after a deferral submits a job.

        :raises PolicyViolation: policies deny the configuration
        """
        before, self._before_submit = self._before_submit, None
        if before is not None:
            before()

    def _begin_late(self, context: Any, ask: Callable[[], TaskVerdict] | None = None) -> None:
        """Keep and show what the job gets, in place of what was kept before the deferral, or keep why it is refused."""
        run = self._job_run
        if ask is not None:
            try:
                run.verdict = ask()
            except ConfigProvidersError as error:
                self._keep_refused(context, run.layered, error.problems, is_late=True)
                raise
            lines = self.effective_config or ()
            self.effective_config = [line for line in lines if not line.startswith(f"! {_NOT_ASKED}")]
            self.overwrite_rtif_after_execution = True  # by which Airflow shows it
        self._begin_record(context)

    def _resuming_notes(self, context: Any, run: JobRun) -> list[str]:
        """Return how what is shown differs from what the job got, if that was submitted before a deferral."""
        if not self._has_run_its_job(context):
            return []
        from airflow_config_providers.operators.record_keeper import RecordKeeper

        keeper = RecordKeeper.of(context, self.log)
        changed = keeper.changed_keys(context["ti"], run.layered, run.reverser)
        if changed is None:
            return [_SETTLED_ANEW.format("this try has left no record of what its job was submitted with")]
        named = first_of(list(map(printable, changed)), _MOST_NAMED)
        differs = f"differs from what its job was submitted with, which the record of this try has: {named}"
        return [_SETTLED_ANEW.format(differs)] if changed else []

    def _checked_configuration(self, context: Any, jinja_env: Any) -> JobConfiguration:
        """
        Return the configuration of the job.

        :raises ConfigException: fields are wrong, or what fills in a template brought a reference
        """
        fields = self._job_fields()
        refuse(ConfigException, self._job_problems(fields))
        return self._job_configuration(fields, context, jinja_env)

    def _show_run(self, run: JobRun, notes: Sequence[str] = ()) -> None:
        fields = self._job_fields()
        notes = [*notes, *self._job_notes(fields), *self._reload_notes(), *run.unresolved_notes()]
        for note in notes:
            self.log.warning("%s", note)
        self.log.info("Effective configuration:\n%s", "\n".join(self._show_job(fields, run.layered, notes)))
        self.log.info("%s", run.resolved_line())
        for note in run.value_notes():
            self.log.warning("%s", note)
        self._referring_texts = {one.label: one.text for one in fields.texts() if scan(one.text)}

    def _job_problems(self, fields: JobFields) -> Iterator[str]:
        """Yield what is wrong with the fields before anything is resolved."""
        yield from self._authorship.brought_problems(fields.author_texts(), self)
        yield from self._authorship.inserted_problems(fields.conf_texts())
        keeps = self._job_options.keeps_unresolved
        yield from (problem for _, problem in unresolved_arguments(self, fields.names, keeps_unresolved=keeps))

    def _job_configuration(self, fields: JobFields, context: Any, jinja_env: Any) -> JobConfiguration:
        from airflow_config_providers.core.alter import ConfigResource
        from airflow_config_providers.job.authorship import rendered
        from airflow_config_providers.job.configuration import JobConfiguration
        from airflow_config_providers.job.job_layers import JobLayers

        spark = self._job_spark()
        return JobConfiguration(
            resource=ConfigResource.of_task(self.dag_id, self.task_id),
            job=AuthoredJob.of(fields, self._job_options, is_written=self._authorship.is_written),
            files=self._properties_files(fields, spark),
            driver=self._job_driver(fields),
            run_conf=getattr(context.get("dag_run"), "conf", None),
            sources=JobLayers(
                render=partial(rendered, environment=jinja_env or self.get_template_env(), context=context),
                warn=once(self.log.warning),  # a reload settles it again
                takes_any_key=fields.spec.takes_any_key,
                spark_version=spark.version if spark else None,
            ),
            words=fields.spec.words,
            environment_prefixes=self._environment_prefixes,
        )

    def _environment_prefixes(self) -> Collection[str]:
        """Return the prefixes under which ``env_vars`` are keys of Spark."""
        return ()

    def _job_fields(self) -> JobFields:
        own = type(self).spec  # an operator can have an attribute of this name
        spec = own if isinstance(own, OperatorSpec) else spec_or_default(type(self))
        return JobFields.of_operator(self, spec)

    def _properties_files(self, fields: JobFields, spark: SparkInstallation | None) -> list[ConfigFile]:
        """Return the properties files, strongest last."""
        from airflow_config_providers.spark.layer_files import ConfigFile

        bounds = self._authorship.bounds
        of_deployment = [
            ConfigFile(path, path, is_template=True, bounds=bounds("")) for path in settings.config_files()
        ]
        own = [
            ConfigFile(text, text, is_template=label != "properties_file", bounds=bounds(label), label=label)
            for label, text in ((file.label, file.text) for file in fields.files())
        ]
        return [*self._default_files(spark), *of_deployment, *own]

    def _job_paths(self, fields: JobFields) -> list[NestedString]:
        return fields.files()

    def _default_files(self, spark: SparkInstallation | None) -> list[ConfigFile]:
        """Return Spark's defaults file, which the job reads in any case."""
        found = spark.defaults if spark else None
        return [found] if found else []

    def _job_spark(self) -> SparkInstallation | None:
        from airflow_config_providers.spark.installation import SparkInstallation

        binary = self._spark_binary_of(self._job_fields())
        return SparkInstallation.of(binary, os.environ) if binary else None

    def _spark_binary_of(self, fields: JobFields) -> str:
        """Return the program of Spark that the operator starts; empty if it starts none on this machine."""
        return fields.spec.binary

    def _job_driver(self, fields: JobFields) -> Driver:
        from airflow_config_providers.job.resolver import Driver

        is_remote = fields.spec.is_remote and bool(fields.conf or fields.cluster_confs)
        return Driver(is_remote, lambda _: is_remote, fields.not_python(), tuple(fields.closed_confs()))

    def _job_notes(self, fields: JobFields) -> Iterator[str]:
        if fields.cluster_confs:
            yield "Several clusters: each gets these layers around its own spark_conf, which the task's fields show."
            return
        if fields.spec.conf and fields.conf is None:
            yield "No layers: this task has no Spark configuration, or several of them. Its references are resolved."
        for text in fields.texts(*fields.names):
            if not self._authorship.is_written(text):
                yield f"{printable(text.label)}: a reference came from data, so none in this text is resolved."
            if self._authorship.became_none(text):
                yield _NONE.format(printable(text.label))

    def _obstacle_to_reload(self) -> str | None:
        if not self._job_fields().spec.is_restartable:
            return f"the job of a {self.task_type} cannot be stopped safely. Changes apply from the next run on."
        return super()._obstacle_to_reload()

    def _begin_anew(self, context: Any, before: Mapping[str, Any], run: JobRun) -> None:
        """Keep what code has added to the configuration, or changed there, after it was settled."""
        is_settled = self._referring_texts is not None
        added = self._job_run.added(self._job_fields().configs) if is_settled else {}
        super()._begin_anew(context, before, run)
        if added and (conf := (fields := self._job_fields()).conf) is not None:
            setattr(self, conf.field, conf.put(fields.read(conf.field), {**fields.configs, **added}))

    def _show_job(self, fields: JobFields, layered: LayeredConfig, notes: Sequence[str]) -> list[str]:
        """Set the fields that people see, and return all lines of ``effective_config``."""
        lines = [*(f"! {one_line(note)}" for note in notes), *layered.lines()]
        self._show_conf(fields, layered)
        self.effective_config = shortened(
            lines,
            characters=settings.longest_field(),
            rest="see the task log, or raise [core] max_templated_field_length",
        )
        return lines

    def _show_conf(self, fields: JobFields, layered: LayeredConfig) -> None:
        """Put the settled configuration into the field that people see."""
        for name, value in fields.shown(layered).items():
            setattr(self, name, value)

    def execute(self, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the operator with values in its fields."""
        self._ask_late()
        return self._with_values(context, partial(super().execute, context, *args, **kwargs), how=self._reloading)

    def resume_execution(self, next_method: str, next_kwargs: Any, context: Any) -> Any:
        """Continue after a deferral, with values in the fields; the job has ended."""
        kwargs = dict(next_kwargs or {})
        sealed = kwargs.pop(_SEALED_VALUES, None)
        if resuming_argument(context.get("ti"), _SEALED_VALUES) is not None:
            sealed = None  # it was opened when the fields were rendered
        run = partial(super().resume_execution, next_method, kwargs, context)
        return self._with_values(context, run, how=partial(self._run_resumed, sealed))

    def _run_resumed(self, sealed: object, context: Any, run: Callable[[], Any]) -> Any:
        self._know_sealed(self._job_run, context, sealed)
        try:
            return self._run_once(context, run)
        finally:
            self._end_record()

    def _know_sealed(self, run: JobRun, context: Any, sealed: object) -> None:
        """Have ``run`` show references also in place of the values that its job had before a deferral."""
        earlier = None if sealed is None else self._deferral_seal(context).open(sealed)
        if earlier is not None:
            run.know(earlier)

    def _deferral_seal(self, context: Any) -> ValueSeal:
        from airflow_config_providers.job.sealed_values import ValueSeal

        ti = context.get("ti")
        return ValueSeal.of_task(ti, "deferral", getattr(ti, "try_number", ""), log=self.log)

    @failing_at_once
    @clearing_frames
    def _with_values(
        self, context: Any, run: Callable[[], Any], *, how: Callable[[Any, Callable[[], Any]], Any]
    ) -> Any:
        if self._held_texts is not None:
            return run()
        if self._job_run.is_over:  # also if a subclass has called the execute of its base before
            self._resolve_job(context, None)
        self._has_called_base = True
        try:
            with self.reversing_context("execute", context):
                return how(context, run)
        finally:
            self.guard_author_methods()  # those that Airflow calls next

    @failing_at_once
    def run_and_forget(self, context: Any, run: Callable[[], Any]) -> Any:
        """
        Call the ``execute`` of a subclass, and forget the values also if that has not called the one of its base.

        :param run: calls it; inside another one, as ``super().execute()`` is, it is only called
        """
        from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

        if self._held_texts is not None or self._is_executing:
            return run()
        first_run, before = self._job_run, attributes(self)  # whose values are known until the end
        self._is_executing, has_references = True, bool(first_run and first_run.places)
        try:
            with self.reversing_context("execute", context):
                result = run()
        except SUSPENSIONS as deferred:
            if self._job_run.reverser:  # or the execute of the base has done this
                self._reverse_deferral(context, deferred, self._job_run.reverser, stop=self.on_kill)
            raise
        except BaseException as error:
            self.reverse_error(error)
            raise
        finally:
            self._is_executing = False
            self._forget_values(before, self._job_run.reverser)
            self._clear_runs()
            self.guard_author_methods()  # those that Airflow calls next
        if self._has_called_base:
            return result
        if has_references and not self._has_submitted:
            self.log.warning("%s", _WITHOUT_BASE)
        return reverse_stored(result, self._job_run.reverser)

    def _run_once(self, context: Any, run: Callable[[], Any]) -> Any:
        with PostponedTimeout(self.log) as timeout:
            return self._run_with_values(context, partial(timeout.run, run))

    def _run_with_values(self, context: Any, run: Callable[[], Any]) -> Any:
        from airflow_config_providers.operators.reversal.stored_objects import reverse_stored
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        reverser = self._job_run.reverser
        added = AddedContext(context)  # by this job; then, a subclass goes on with references, or a restart follows
        reversing = added.around(self._known_values, is_followed=lambda: not self._is_executing)
        try:
            with reversing, self._values_in_place(reverser):
                guard_output(reverser)
                result = run()
        except SUSPENSIONS as deferred:
            self._reverse_deferral(context, deferred, reverser, stop=self.on_kill)
            raise
        except BaseException as error:
            self.reverse_error(error)
            raise
        finally:
            self._clear_runs()
        return reverse_stored(result, reverser)

    def reverse_error(self, error: BaseException) -> None:
        """Replace the values of this run by references, in place, in an exception and its causes and contexts."""
        from airflow_config_providers.log.exceptions import reverse_exception

        reverse_exception(error, self._job_run.reverser)

    def reverse_bound_entries(self) -> None:
        """Replace the values of this run by references in what was bound to the lines of this context's log."""
        from airflow_config_providers.log.installation import reverse_bound

        reverse_bound(self._job_run.reverser)

    def reversing_context(self, name: str, context: Any = None) -> AbstractContextManager[None]:
        """
        Return what runs around a function of the author, and reverses what was put into the task's context.

        That happens after the last function of the author that Airflow calls, or after one that fails.

        :param name: of the attribute that is the function
        :param context: of the function; None for the one with which the task was rendered, if there are values
        """
        added = self._added_context
        if context is None and added is None:
            return nullcontext()
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        guard_output(self._known_values())
        if added is not None and (context is None or context is added.context):
            return added.around(self._known_values, is_followed=partial(is_followed, self, name, added.context))
        return AddedContext(context).around(self._known_values, is_followed=lambda: False)

    @failing_at_once
    def reverse_deferral(self, deferred: Any) -> None:
        """
        Keep the values of this run out of a deferral for which ``execute`` is not the reason.

        :param deferred: one of ``SUSPENSIONS``
        :raises ExposedValueError: its trigger would need a value
        """
        if self._added_context is not None:
            context = self._added_context.context
            self._reverse_deferral(context, deferred, self._known_values(), stop=lambda: None)

    def _reverse_deferral(
        self, context: Any, deferred: Any, reverser: ReverseTransformer, *, stop: Callable[[], object]
    ) -> None:
        """Keep values out of a deferral, except sealed ones for the process that resumes the task."""
        from airflow_config_providers.operators.reversal.deferral import reverse_deferral

        reverse_deferral(deferred, reverser, carried=self._job_fields().spec.carried, stop=stop)
        if sealed := self._deferral_seal(context).seal(reverser):
            deferred.kwargs = {**(deferred.kwargs or {}), _SEALED_VALUES: sealed}

    def _known_values(self) -> ReverseTransformer:
        """Return what knows the values of the job now, and of all that this task had before."""
        return self._job_run.reverser

    def _clear_runs(self) -> None:
        """Forget the values of the job that has ended."""
        self._job_run.clear()

    @contextmanager
    def _values_in_place(self, reverser: ReverseTransformer) -> Iterator[None]:
        fields = self._job_fields()
        shown = {name: getattr(self, name) for name in fields.names}
        before = attributes(self)
        try:
            resolved = self._resolved_fields(fields)
            self._held_texts = _HeldTexts.of(shown, resolved)
            for name, value in resolved.items():
                setattr(self, name, value)
            yield
        finally:
            self._held_texts = None
            for name, value in shown.items():
                setattr(self, name, value)
            self._forget_values(before, reverser)

    def _resolved_fields(self, fields: JobFields) -> dict[str, Any]:
        from airflow_config_providers.job.exposed_values import refuse_broken_words

        run = self._job_run
        written = list(fields.other_texts())
        self._refuse_late([*written, *fields.named_texts()])
        values = {one.label: run.value(one) for one in written}
        refuse_broken_words(
            fields.spec.words,
            written={one.label: one.text for one in written},
            values=values,
            allow_exposed=self._job_options.allows_exposed,
        )
        resolved = fields.resolved(values)
        is_following = self._referring_texts is None
        return resolved if is_following else fields.with_configs(resolved, self._configs_for, run.shown)

    def _configs_for(self, conf: Mapping[str, Any]) -> Mapping[str, str]:
        self._tell_of(self._job_run.added(conf))  # no code has had a value yet
        return self._job_run.configs_for(conf)

    def _check_added(self, conf: Mapping[str, Any], *names: str) -> None:
        """
        Check what code has added since the fields were rendered, and log its keys.

        :param names: fields that are read when the job is submitted
        :raises ConfigException: code has added references to these fields
        :raises ExposedValueError: code has put a value under a key where others can read it
        """
        self._refuse_late(self._job_fields().texts(*names) if names else ())
        added = self._job_run.added(conf)
        if self._knows_values():
            self._job_run.refuse_exposed(added)
        self._tell_of(added)

    def _tell_of(self, added: Collection[str]) -> None:
        """Log the keys that code has added to the configuration, except those of Airflow's integration."""
        keys = sorted(key for key in added if not key.startswith("spark.openlineage."))
        if keys:
            self.log.info(
                "Keys that code added or changed after the configuration was settled, so that no policy has seen them "
                "and the record lacks them: %s",
                ", ".join(map(printable, keys)),
            )

    def _refuse_late(self, texts: Iterable[NestedString]) -> None:
        """Refuse references that were added, or moved, since the fields were rendered."""
        known = self._referring_texts
        if known is not None:  # this try does not follow a job
            self._job_run.refuse_late(one for one in texts if scan(one.text) and known.get(one.label) != one.text)

    def _knows_values(self) -> bool:
        """Return whether a field had a reference whose value ``execute`` can read."""
        fields = self._job_fields()
        held = {*fields.spec.held, *fields.spec.paths, *fields.named_fields}
        return any(field_of(label) not in held for label in self._referring_texts or ())

    def _forget_values(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        """Reverse what ``execute`` left on the operator, where listeners and links can read it."""
        from airflow_config_providers.core.reversal.reverse import reverse_object

        if not reverser:
            return
        for name, value in attributes(self).items():
            is_old = before.get(name) is value and not (isinstance(value, ITEMS) or is_mapping(value))
            held = _with_param_values(value)
            if not is_old and (hidden := reverse_object(held, (reverser,))) is not held:
                setattr(self, name, hidden)


def _with_param_values(value: Any) -> Any:
    """Return ``value``, or what parameters of Airflow hold, whose string form does not show that."""
    from airflow.sdk.definitions.param import ParamsDict

    is_params = issubclass(type(value), ParamsDict)
    return {key: param.value for key, param in value.items()} if is_params else value


def refuse_taken(kind: type, names: Collection[str]) -> None:
    """
    Make sure that a class of operators has no argument or attribute of its own that has the name of one of ours.

    :param names: those that it has
    :raises ConfigException: it has some
    """
    if names:
        raise ConfigException(
            f"Class {printable(f'{kind.__module__}.{kind.__qualname__}')} has its own {', '.join(sorted(names))}. This "
            f"package gives configured operators an argument or an attribute of that name. Rename it in the class. If "
            f"apply_to configures the operator, the tag 'config_providers:off' leaves its DAG alone."
        )


@contextmanager
def _outside_log_group(log: Any) -> Iterator[None]:
    """Show errors outside the group ``Pre Execute`` of the task log, which Airflow ends only after rendering."""
    try:
        yield
    except Exception:
        if has_supervisor():
            log.info("::endgroup::")
        raise
