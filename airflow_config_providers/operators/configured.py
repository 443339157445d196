"""The base of operators whose configuration comes in layers, and whose fields can hold references."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.airflow_compat import SUSPENSIONS, resuming_argument
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.foreign import require_bases
from airflow_config_providers.job.fields import OURS, JobFields
from airflow_config_providers.job.nested_texts import NestedString, field_of, refuse_unstorable
from airflow_config_providers.job.options import NO_OPTIONS, JobOptions, listed
from airflow_config_providers.operators.held_texts import HeldTexts
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.postponed_timeout import PostponedTimeout
from airflow_config_providers.operators.reloading import attributes
from airflow_config_providers.operators.rendering import RenderingOperator
from airflow_config_providers.operators.resuming import SEALED_VALUES
from airflow_config_providers.operators.reversal.author_hooks import guard_methods

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.run import JobRun

_OWN: Final = ("config_files", "effective_config", "written_params", "_authorship", "_job_options", "_try_state")
"""The attributes of a configured operator."""

_WITHOUT_BASE: Final = (
    "The execute() of this operator has not called super().execute(), so its fields had references in place of "
    "values. Call it where you need them, or derive the class from the stock operator, and decorate it with configured."
)

_NONE_CHOSEN: Final = astuple(NO_OPTIONS)


class ConfiguredOperator(RenderingOperator):
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

    written_params: Mapping[str, Any] = MappingProxyType({})

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
            self.config_files = listed(config_files)
        if self.params:
            self.written_params = getattr(self.params, "dump", dict)()  # dump() never raises
        if self.start_from_trigger:
            self.start_from_trigger = False  # the triggerer does not resolve references

    def execute(self, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the operator with values in its fields."""
        self._ask_late()
        run = partial(super().execute, context, *args, **kwargs)
        return self._with_values(context, run, how=self._run_with_record)

    def resume_execution(self, next_method: str, next_kwargs: Any, context: Any) -> Any:
        """Continue after a deferral, with values in the fields; the job has ended."""
        kwargs = dict(next_kwargs or {})
        sealed = kwargs.pop(SEALED_VALUES, None)
        if resuming_argument(context.get("ti"), SEALED_VALUES) is not None:
            sealed = None  # it was opened when the fields were rendered
        run = partial(super().resume_execution, next_method, kwargs, context)
        return self._with_values(context, run, how=partial(self._run_resumed, sealed))

    def _run_resumed(self, sealed: object, context: Any, run: Callable[[], Any]) -> Any:
        self._know_sealed(self._try_state.run, context, sealed)
        try:
            return self._run_once(context, run)
        finally:
            self._try_state.end_record()

    @failing_at_once
    @clearing_frames
    def _with_values(
        self, context: Any, run: Callable[[], Any], *, how: Callable[[Any, Callable[[], Any]], Any]
    ) -> Any:
        if self._try_state.held_texts is not None:
            return run()
        if self._try_state.run.is_over:  # also if a subclass has called the execute of its base before
            self._resolve_job(context, None)
        try:
            with self.reversing_context("execute", context):
                return how(context, run)
        finally:
            self._try_state.clear_runs()  # also those of a job that did not begin
            self.guard_author_methods()  # those that Airflow calls next

    @failing_at_once
    def run_and_forget(self, context: Any, run: Callable[[], Any]) -> Any:
        """
        Call the ``execute`` of a subclass, and forget the values also if that has not called the one of its base.

        :param run: calls it; inside another one, as ``super().execute()`` is, it is only called
        """
        from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

        state = self._try_state
        if state.held_texts is not None or state.is_executing:
            return run()
        first_run, before = state.run, attributes(self)  # whose values are known until the end
        was_over, state.is_executing = first_run.is_over, True  # it is over if this is called once more
        has_references = not was_over and bool(first_run.places)
        try:
            with self.reversing_context("execute", context):
                result = run()
        except SUSPENSIONS as deferred:
            if state.run.reverser:  # or the execute of the base has done this
                self._reverse_deferral(context, deferred, state.run.reverser, stop=self.on_kill)
            raise
        except BaseException as error:
            self.reverse_error(error)
            raise
        finally:
            has_called_base = state.run.is_over and not (was_over and state.run is first_run)
            state.is_executing = False
            self._forget_values(before, state.run.reverser)
            state.clear_runs()
            self.guard_author_methods()  # those that Airflow calls next
        if has_called_base:
            return result
        if has_references and not state.has_submitted:
            self.log.warning("%s", _WITHOUT_BASE)
        return reverse_stored(result, state.run.reverser)

    def _run_once(self, context: Any, run: Callable[[], Any]) -> Any:
        with PostponedTimeout(self.log) as timeout:
            return self._run_with_values(context, partial(timeout.run, run))

    def _run_with_values(self, context: Any, run: Callable[[], Any]) -> Any:
        from airflow_config_providers.operators.reversal.stored_objects import reverse_stored
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        reverser = self._try_state.run.reverser
        added = AddedContext(context)  # by this job; then, a subclass goes on with references, or a restart follows
        reversing = added.around(self._current_reverser, is_followed=lambda: not self._try_state.is_executing)
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
            self._try_state.clear_runs()
        return reverse_stored(result, reverser)

    def _begin_anew(self, context: Any, before: Mapping[str, Any], run: JobRun) -> None:
        """Keep what code has added to the configuration, or changed there, after it was settled."""
        added = {} if self._try_state.followed else self._try_state.handover.added(self._job_fields().configs)
        super()._begin_anew(context, before, run)
        if added and (conf := (fields := self._job_fields()).conf) is not None:
            setattr(self, conf.field, conf.put(fields.read(conf.field), {**fields.configs, **added}))

    @contextmanager
    def _values_in_place(self, reverser: ReverseTransformer) -> Iterator[None]:
        fields = self._job_fields()
        shown = {name: getattr(self, name) for name in fields.names}
        before = attributes(self)
        try:
            resolved = self._resolved_fields(fields)
            self._try_state.held_texts = HeldTexts.of(shown, resolved)
            for name, value in resolved.items():
                setattr(self, name, value)
            yield
        finally:
            self._try_state.held_texts = None
            for name, value in shown.items():
                setattr(self, name, value)
            self._forget_values(before, reverser)

    def _resolved_fields(self, fields: JobFields) -> dict[str, Any]:
        from airflow_config_providers.job.exposed_values import refuse_broken_words

        handover = self._try_state.handover
        written = list(fields.other_texts())
        self._refuse_late([*written, *fields.argument_texts()])
        values = {one.label: handover.value(one) for one in written}
        refuse_broken_words(
            fields.spec.words,
            written={one.label: one.text for one in written},
            values=values,
            allow_exposed=self._job_options.allows_exposed,
        )
        resolved = fields.resolved(values)
        if self._try_state.followed:
            return resolved
        return fields.with_configs(resolved, self._configs_for, handover.run.shown)

    def _configs_for(self, conf: Mapping[str, Any]) -> Mapping[str, str]:
        self._log_added(self._try_state.handover.added(conf))  # no code has had a value yet
        return self._try_state.handover.configs_for(conf)

    def _check_added(self, conf: Mapping[str, Any], *names: str) -> None:
        """
        Check what code has added since the fields were rendered, and log its keys.

        :param names: fields that are read when the job is submitted
        :raises ConfigException: code has added references to these fields
        :raises ExposedValueError: code has put a value under a key where others can read it
        """
        self._refuse_late(self._job_fields().texts(*names) if names else ())
        added = self._try_state.handover.added(conf)
        if self._execute_can_read_values():
            self._try_state.handover.refuse_exposed(added)
        self._log_added(added)

    def _log_added(self, added: Collection[str]) -> None:
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
        known = self._try_state.referring_texts
        if not self._try_state.followed:
            self._try_state.handover.refuse_late(
                one for one in texts if scan(one.text) and known.get(one.label) != one.text
            )

    def _execute_can_read_values(self) -> bool:
        """Return whether a field had a reference whose value ``execute`` can read."""
        fields = self._job_fields()
        held = {*fields.spec.held, *fields.spec.paths, *fields.named_fields}
        return any(field_of(label) not in held for label in self._try_state.referring_texts)


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
