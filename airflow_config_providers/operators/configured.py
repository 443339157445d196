"""The base of operators whose configuration comes in layers, and whose fields can hold references."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import astuple, replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow_config_providers.airflow_compat import BaseOperator, resuming_argument
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.foreign import require_bases
from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.authored_job import NO_OPTIONS, STORED, JobOptions, stored_text
from airflow_config_providers.job.fields import OURS, JobFields, path_list
from airflow_config_providers.job.nested_texts import NestedString, refuse_unstorable
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_or_default
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.reversal.author_hooks import AuthorHook, guard_methods
from airflow_config_providers.operators.try_state import TryState

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.authorship import Authorship
    from airflow_config_providers.job.exposed_values import Destination
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.job.resolver import Driver
    from airflow_config_providers.operators.reversing import TaskReversal
    from airflow_config_providers.spark.installation import SparkInstallation
    from airflow_config_providers.spark.layer_files import ConfigFile


_ARGUMENTS: Final = frozenset({"config_files", *JobOptions.__dataclass_fields__})
_ATTRIBUTES: Final = frozenset({*OURS, "config_conn_id", "unresolved", "allow_exposed_arguments", "resolve_in"})
"""The arguments and the attributes that a configured operator has besides those of its class."""


def taken_in_class(kind: Any) -> frozenset[str]:
    """
    Return the names of ours that a class of operators has for arguments or attributes of its own.

    :raises ConfigException: it is no such class
    """
    names: frozenset[str] = _taken_attributes(kind) | _taken_arguments(kind)
    return names


def taken_in_task(task: Any) -> frozenset[str]:
    """Return the names of ours that a task, or its class, has for attributes of its own."""
    kind: Any = type(task)
    of_class: frozenset[str] = _taken_attributes(kind)
    return of_class | _ATTRIBUTES.intersection(vars(task))


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


@lru_cache(maxsize=256)  # reading a DAG file again creates new classes, so the cache must be bounded
def _taken_attributes(kind: Any) -> frozenset[str]:
    """Return the attributes of ours that a class or a base of it has, for something of its own."""
    return frozenset(name for one in _derived(kind) for name in _ATTRIBUTES & vars(one).keys())


@lru_cache(maxsize=256)  # as above
def _taken_arguments(kind: Any) -> frozenset[str]:
    """Return the arguments of ours that a class or a base of it takes, for something of its own."""
    makers = [vars(one)["__init__"] for one in _derived(kind) if "__init__" in vars(one)]
    return frozenset(name for make in makers for name in _ARGUMENTS.intersection(inspect.signature(make).parameters))


def _derived(kind: Any) -> tuple[type, ...]:
    """Return a class of operators and its bases that are derived from ``BaseOperator``, or are mixins of these."""
    order: tuple[type, ...] = kind.__mro__
    if BaseOperator not in order:
        raise ConfigException(f"{printable(str(kind))} is not an operator class. Give configured() one.")
    return order[: order.index(BaseOperator)]


_OWN: Final = ("config_files", "effective_config", "written_params", "_authorship", "_job_options", "_try_state")
"""The attributes of a configured operator."""

_NONE_CHOSEN: Final = astuple(NO_OPTIONS)


class _ChosenOption:
    """An attribute of an operator with the option of that name, as its author chose it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        return self if operator is None else getattr(operator._job_options, self._name)

    def __set__(self, operator: Any, chosen: str | None) -> None:
        operator._job_options = replace(operator._job_options, **{self._name: chosen})


class ConfiguredOperator(BaseOperator):
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

    # What most operators have in common is not set on each, because Airflow checks each attribute that is set.
    config_files: Any = None
    effective_config: list[str] | None = None  # None, so that Airflow does not store it with the DAG
    written_params: Mapping[str, Any] = MappingProxyType({})
    spec: ClassVar[OperatorSpec | None] = None
    """The description of the operator; None to look it up by class."""

    _job_options = NO_OPTIONS
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
        held = vars(self)
        refuse_taken(type(self), held.keys() & {*OURS})
        for name in held.keys() & _OWN:  # another class can have set one of the same name
            del held[name]
        if options is not NO_OPTIONS:
            self._job_options = options
        if config_files is not None:
            self.config_files = path_list(config_files)
        if self.params:
            self.written_params = getattr(self.params, "dump", dict)()  # dump() never raises
        if self.start_from_trigger:
            self.start_from_trigger = False  # the triggerer does not resolve references

    # What Airflow asks for while it reads, stores and copies a DAG

    unresolved = _ChosenOption()
    """What to do with a reference that no provider answers; None for the default of the deployment."""
    resolve_in = _ChosenOption()
    """Where to resolve; None for the default of the deployment."""

    @property
    def config_conn_id(self) -> str:
        """The connection that defines the providers. Settings are slow, so this does not run while a DAG is parsed."""
        return self._job_options.conn_id

    @property
    def allow_exposed_arguments(self) -> bool:
        """Whether resolved values may be where others can read them. Like ``config_conn_id``, it is read late."""
        return self._job_options.allows_exposed

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including the job, so that ``describe`` needs no run."""
        stored = super().get_serialized_fields()  # type: ignore[no-untyped-call]  # Airflow has no types here
        return frozenset({*stored, STORED})

    @property
    def _authored_job(self) -> str | None:
        fields = self._job_fields()  # here, Airflow reports what is wrong as an error of the DAG file
        refuse_unstorable({name: fields.read(name) for name in fields.names})
        return stored_text(self, fields, self._job_options)

    def __getstate__(self) -> Any:
        """Return what a copy of this operator has, pickled or not, with a state of its own."""
        held = super().__getstate__()  # type: ignore[no-untyped-call]  # Airflow has no types here
        if not isinstance(held, dict) or "_try_state" not in held:  # another class can keep what it has in any way
            return held
        return {**held, "_try_state": copy(held["_try_state"])}

    # What Airflow calls while it runs a task

    @failing_at_once
    @clearing_frames
    @nested_texts.refusing_depth()
    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        # Mapped tasks call this instead of the public method. It also recurses into the fields of other objects.
        from airflow_config_providers.operators.rendering import Rendering

        if parent is self:
            Rendering(self, context, jinja_env).render(super(), template_fields, seen_oids)
        else:
            super()._do_render_template_fields(parent, template_fields, context, jinja_env, seen_oids)

    def render_template(
        self, content: Any, context: Any, jinja_env: Any = None, seen_oids: set[int] | None = None
    ) -> Any:
        """Return the result of a template, and track the references in templates of this operator's fields."""
        render = super().render_template
        if not self._authorship.is_rendering or not isinstance(content, str):
            return render(content, context, jinja_env, seen_oids)
        if id(content) in (seen_oids or ()):
            return content
        from airflow_config_providers.operators.rendering import Rendering

        return Rendering(self, context, jinja_env).fill_in(content, render, seen_oids)

    def execute(self, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the operator with values in its fields."""
        self._try_state.begin_late()
        run = partial(super().execute, context, *args, **kwargs)
        return self._with_values(context, run, how=self._run_with_record)

    def resume_execution(self, next_method: str, next_kwargs: Any, context: Any) -> Any:
        """Continue after a deferral, with values in the fields; the job has ended."""
        from airflow_config_providers.operators.execution import go_on
        from airflow_config_providers.operators.resuming import SEALED_VALUES

        kwargs = dict(next_kwargs or {})
        sealed = kwargs.pop(SEALED_VALUES, None)
        if resuming_argument(context.get("ti"), SEALED_VALUES) is not None:
            sealed = None  # it was opened when the fields were rendered
        run = partial(super().resume_execution, next_method, kwargs, context)
        return self._with_values(context, run, how=partial(go_on, self, sealed=sealed))

    @failing_at_once
    @clearing_frames
    def _with_values(
        self, context: Any, run: Callable[[], Any], *, how: Callable[[Any, Callable[[], Any]], Any]
    ) -> Any:
        from airflow_config_providers.operators.execution import execute

        return execute(self, context, run, how=how)

    @failing_at_once
    def run_and_forget(self, context: Any, run: Callable[[], Any]) -> Any:
        """Call the ``execute`` of a subclass, and forget the values also if that has not called the one of its base."""
        from airflow_config_providers.operators.execution import run_and_forget

        return run_and_forget(self, context, run)

    def on_kill(self) -> None:
        """Kill the job, and do not run it anew, or at all."""
        self._try_state.kill()
        if self._try_state.has_run:  # there is no job before rendering ends
            super().on_kill()

    # What the parts of an operator ask of it

    @cached_property
    def _try_state(self) -> TryState:
        return TryState()

    @cached_property
    def _authorship(self) -> Authorship:
        from airflow_config_providers.job.authorship import Authorship

        return Authorship()

    @property
    def task_reversal(self) -> TaskReversal:
        """What replaces the values of this run by references."""
        from airflow_config_providers.operators.reversing import TaskReversal

        return TaskReversal(self)

    def _operator_spec(self) -> OperatorSpec:
        own = type(self).spec  # an operator can have an attribute of this name
        return own if isinstance(own, OperatorSpec) else spec_or_default(type(self))

    def _job_fields(self) -> JobFields:
        return JobFields.of_operator(self, self._operator_spec())

    @classmethod
    def _own_execute_problems(cls, fields: JobFields) -> Iterable[tuple[str, str]]:
        """Return each field with a reference that the class would take for the value, with a sentence, for lint."""
        from airflow_config_providers.operators.authored import own_execute_problems

        return own_execute_problems(cls, fields)

    # What differs in a subclass: its job

    def _complete_fields(self) -> None:
        """Complete the fields after they are rendered, before references are resolved."""

    def _resolve_job(self, context: Any, jinja_env: Any) -> None:
        """Get the values of this run, and show where they come from."""
        from airflow_config_providers.operators.rendering import Rendering

        Rendering(self, context, jinja_env).resolve()

    def _spark_program(self) -> str:
        """Return the program of Spark that the operator starts; empty if it starts none on this machine."""
        return self._operator_spec().binary

    def _job_paths(self, fields: JobFields) -> Sequence[NestedString]:
        """Return the paths of files that the author named, which must be where the deployment allows them."""
        return fields.files()

    def _default_files(self, spark: SparkInstallation | None) -> Sequence[ConfigFile]:
        """Return Spark's defaults file, which the job reads in any case."""
        return [spark.defaults] if spark and spark.defaults else []

    def _destination(self) -> Destination:
        """Return where the job runs. The stock operator is asked for its hook at most once for that."""
        from airflow_config_providers.job.exposed_values import Destination

        return Destination(is_remote=lambda _: True)  # asked only if the driver may be remote

    def _job_driver(self, fields: JobFields) -> Driver:
        """Return the driver of the job, to which references can be left."""
        from airflow_config_providers.job.resolver import Driver

        may_be_remote = fields.spec.is_remote and bool(fields.conf or fields.cluster_confs)
        return Driver(may_be_remote, not_python=fields.not_python(), closed=tuple(fields.closed_confs()))

    def _own_problems(self, fields: JobFields) -> Iterable[str]:
        """Return what else is wrong with the fields before anything is resolved."""
        return ()

    def _own_notes(self, fields: JobFields) -> Iterable[str]:
        """Return what else people should know of the fields."""
        return ()

    # What differs in a subclass: its execution

    def _run_with_record(self, context: Any, run: Callable[[], Any]) -> Any:
        """Run the job, anew whenever its secrets have changed, and leave a record."""
        from airflow_config_providers.operators.reloading import Restarts

        return Restarts(self, context).run_with_record(run)

    def _job_of(self, context: Any, run: Callable[[], Any]) -> Callable[[], Any]:
        """Return what runs the job, or goes on with it, in place of the stock operator's ``run``."""
        return run

    def _obstacle_to_reload(self) -> str | None:
        """Return a sentence that says why the job cannot be restarted while it runs; None if it can."""
        if not self._operator_spec().is_restartable:
            return f"the job of a {self.task_type} cannot be stopped safely. Changes apply from the next run on."
        if getattr(self, "deferrable", False):
            return "its task is deferred while the job runs. To have it restarted, set deferrable=False."
        return None

    def _require_deliverable(self, handover: Handover) -> None:
        """
        Make sure that the values of the next run would reach a job; called in another thread, while the job runs.

        :raises ConfigProvidersError: one would not
        """

    def _has_begun(self) -> bool:
        """Return whether there is a job that ``_stop_job`` can stop; called in another thread."""
        return True

    def _stop_job(self) -> None:
        """Stop the running job, so that it can be submitted again; called in another thread."""
        try:
            self.on_kill()
        except BaseException:
            self._try_state.is_killed = False  # it goes on
            raise

    def _forget_job(self, context: Any) -> None:
        """Forget the job that was stopped, or has failed, before another one is submitted."""

    def _forget_objects(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        """Forget the values in other objects of the operator, whose attributes were these ``before`` it ran."""
