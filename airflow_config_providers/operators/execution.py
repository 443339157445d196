"""The execution of an operator, with values in its fields while it lasts, and references in what it leaves behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from airflow_config_providers.airflow_compat import SUSPENSIONS
from airflow_config_providers.core.nested import ITEMS, is_mapping, slots_of
from airflow_config_providers.core.reversal.reverse import UNCHECKED, reverse_object
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.exposed_values import refuse_broken_words
from airflow_config_providers.job.nested_texts import NestedString, field_of
from airflow_config_providers.operators.resuming import know_sealed
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored
from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output
from airflow_config_providers.operators.reversing import TaskReversal, keep_out
from airflow_config_providers.operators.try_state import HeldTexts
from airflow_config_providers.spark.catalogue import FOLLOWED

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.operators.job_operator import JobOperator


def attributes(operator: object) -> dict[str, Any]:
    """Return the attributes of ``operator``, including those in slots."""
    slots = {name: getattr(operator, name) for name, _ in slots_of(type(operator)) if hasattr(operator, name)}
    return {**slots, **vars(operator)}


def _reverse_attributes(operator: object, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
    """
    Reverse what ``execute`` left on the operator, where listeners and links can read it.

    :param before: its attributes before ``execute``
    """
    if not reverser:
        return
    for name, value in attributes(operator).items():
        was_there = before.get(name) is value
        if was_there and not (isinstance(value, ITEMS) or is_mapping(value)):
            continue
        hidden = _reversed_attribute(value, reverser)
        cannot_be_read = hidden is UNCHECKED and not isinstance(value, (dict, *ITEMS))  # such as a closed shelf
        if hidden is not value and not (was_there and cannot_be_read):
            setattr(operator, name, hidden)


def _reversed_attribute(value: Any, reverser: ReverseTransformer) -> Any:
    """Return what shows references in place of ``value``; that itself if it has no values in it."""
    try:
        held = _with_param_values(value)
        hidden = reverse_object(held, (reverser,))
    except Exception:  # noqa: BLE001 - a foreign class can raise anything
        return UNCHECKED
    return value if hidden is held else hidden


def _with_param_values(value: Any) -> Any:
    """Return ``value``, or what parameters of Airflow hold, whose string form does not show that."""
    from airflow.sdk.definitions.param import ParamsDict

    is_params = issubclass(type(value), ParamsDict)
    return {key: getattr(param, "value", param) for key, param in value.items()} if is_params else value


_T = TypeVar("_T")

_ALARM: Final = signal.SIGALRM
"""The signal by which Airflow interrupts a task that takes longer than its ``execution_timeout``."""


class PostponedTimeout:
    """
    Holds the alarm of the timeout back until the end of a ``with`` block, except while ``run`` runs the job.

    An alarm that was held back interrupts the task at the end of the block if the block raises. Otherwise the job has
    ended in time, and a warning says so. Airflow interrupts only the main thread: elsewhere, nothing is held back.

    :param log: the log of the task
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        self._has_rung = False
        self._handler: Any = None

    def __enter__(self) -> Self:
        self._hold()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._let_go()
        if self._has_rung and kind is not None:
            self._ring()
        elif self._has_rung:
            self._log.warning("The execution_timeout of this task ended while it cleaned up. Its job had ended before.")

    def run(self, job: Callable[[], _T]) -> _T:
        """Run ``job``, which the alarm interrupts."""
        with self._ringing():
            return job()

    @contextmanager
    def _ringing(self) -> Iterator[None]:
        self._let_go()
        try:
            if self._has_rung:
                self._ring()
            yield
        finally:
            self._hold()

    def _hold(self) -> None:
        handler = signal.getsignal(_ALARM)
        if handler is not None and threading.current_thread() is threading.main_thread():
            self._handler = handler
            signal.signal(_ALARM, self._note)

    def _let_go(self) -> None:
        if self._handler is not None:
            signal.signal(_ALARM, self._handler)
            self._handler = None

    def _note(self, number: int, frame: object) -> None:
        self._has_rung = True

    def _ring(self) -> None:
        self._has_rung = False
        signal.raise_signal(_ALARM)


def check_added(operator: JobOperator, conf: Mapping[str, Any], *names: str) -> None:
    """
    Check what code has added since the fields were rendered, and log its keys.

    :param names: fields that are read when the job is submitted
    :raises ConfigException: code has added references to these fields
    :raises ExposedValueError: code has put a value under a key where others can read it
    """
    refuse_late(operator, operator._job_fields().texts(*names) if names else ())
    handover = operator._try_state.handover
    added = handover.added(conf)
    if _execute_can_read_values(operator):
        handover.refuse_exposed(added)
    _log_added(operator, added)


def check_environment(operator: JobOperator, prefix: str | None) -> None:
    """
    Check what code has put into environment variables since the fields were rendered.

    :param prefix: the prefix of their keys if Spark takes them as configuration; otherwise None
    :raises ExposedValueError: code has put a value there, and others can read it
    """
    if prefix is None or not _execute_can_read_values(operator):
        return
    rendered = operator._try_state.environment
    changed = {name: text for name, text in operator._job_fields().environment().items() if rendered.get(name) != text}
    operator._try_state.handover.refuse_exposed_variables(changed, prefix, is_remote=lambda: _is_remote(operator))


def _is_remote(operator: JobOperator) -> bool:
    """Return whether the driver runs on another machine. This asks for the connection."""
    return operator._destination().is_remote(operator._job_fields().configs)


def configs_for(operator: JobOperator, conf: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the values of the configuration ``conf``, before any code had one, and log the keys that were added."""
    handover = operator._try_state.handover
    _log_added(operator, handover.added(conf))
    return handover.configs_for(conf)


def refuse_late(operator: JobOperator, texts: Iterable[NestedString]) -> None:
    """
    Refuse references that were added, or moved, since the fields were rendered.

    :raises ConfigException: some of ``texts`` have such references
    """
    state = operator._try_state
    known = state.referring_texts
    if not state.followed:
        state.handover.refuse_late(one for one in texts if scan(one.text) and known.get(one.label) != one.text)


def _log_added(operator: JobOperator, added: Collection[str]) -> None:
    """Log the keys that code has added to the configuration, except those that Airflow itself adds."""
    keys = sorted(key for key in added if not key.startswith("spark.openlineage.") and key not in FOLLOWED)
    if keys:
        operator.log.info(
            "Keys that code added or changed after the configuration was settled, so that no policy has seen them "
            "and the record lacks them: %s",
            ", ".join(map(printable, keys)),
        )


def _execute_can_read_values(operator: JobOperator) -> bool:
    """Return whether a field had a reference whose value ``execute`` can read."""
    fields = operator._job_fields()
    held = {*fields.spec.held, *fields.spec.paths, *fields.named_fields}
    return any(field_of(label) not in held for label in operator._try_state.referring_texts)


Run = Callable[[], Any]
"""Runs the job, or goes on with it."""

_WITHOUT_BASE: Final = (
    "The execute() of this operator has not called super().execute(), so its fields had references in place of "
    "values. Call it where you need them, or derive the class from the stock operator, and decorate it with configured."
)


def execute(operator: JobOperator, context: Any, run: Run, *, how: Callable[[Any, Run], Any]) -> Any:
    """
    Run the operator, and forget the values of its job in the end.

    :param how: runs the job with values in the fields; not called inside of another ``execute``, which has them there
    """
    state = operator._try_state
    if state.held_texts is not None:
        return run()
    if state.run.is_over:  # also if a subclass has called the execute of its base before
        operator._resolve_job(context, None)
    try:
        with TaskReversal(operator).around("execute", context):
            return how(context, run)
    finally:
        state.clear_runs()  # also those of a job that did not begin
        operator.guard_author_methods()  # those that Airflow calls next


def go_on(operator: JobOperator, context: Any, run: Run, *, sealed: object) -> Any:
    """
    Go on after a deferral; the job has ended.

    :param sealed: the values that it had before; None if they are known already
    """
    state = operator._try_state
    know_sealed(operator, context, state.run, sealed)
    try:
        return run_once(operator, context, run)
    finally:
        state.end_record()


def run_and_forget(operator: JobOperator, context: Any, run: Run) -> Any:
    """
    Call the ``execute`` of a subclass, and forget the values also if that has not called the one of its base.

    :param run: calls it; inside another one, as ``super().execute()`` is, it is only called
    """
    state, reversal = operator._try_state, TaskReversal(operator)
    if state.held_texts is not None or state.is_executing:
        return run()
    first_run, before = state.run, attributes(operator)  # whose values are known until the end
    was_over, state.is_executing = first_run.is_over, True  # it is over if this is called once more
    has_references = not was_over and bool(first_run.places)
    try:
        with reversal.around("execute", context):
            result = run()
    except SUSPENSIONS as deferred:
        if state.run.reverser:  # or the execute of the base has done this
            keep_out(operator, deferred, context=context, reverser=state.run.reverser, stop=operator.on_kill)
        raise
    except BaseException as error:
        reversal.reverse_error(error)
        raise
    finally:
        has_called_base = state.run.is_over and not (was_over and state.run is first_run)
        state.is_executing = False
        _forget_values(operator, before, state.run.reverser)
        state.clear_runs()
        operator.guard_author_methods()  # those that Airflow calls next
    if has_called_base:
        return result
    if has_references and not state.has_submitted:
        operator.log.warning("%s", _WITHOUT_BASE)
    return reverse_stored(result, state.run.reverser)


def run_once(operator: JobOperator, context: Any, run: Run) -> Any:
    """Call ``run`` with the values of its run in the fields; return its result with references."""
    run = operator._job_of(context, run)
    with PostponedTimeout(operator.log) as timeout:
        return _run_with_values(operator, context, partial(timeout.run, run))


def _run_with_values(operator: JobOperator, context: Any, run: Run) -> Any:
    state, reversal = operator._try_state, TaskReversal(operator)
    reverser = state.run.reverser
    added = AddedContext(context)  # by this job; then, a subclass goes on with references, or a restart follows
    reversing = added.around(lambda: state.run.reverser, is_followed=lambda: not state.is_executing)
    try:
        with reversing, _values_in_place(operator, reverser):
            guard_output(reverser)
            result = run()
    except SUSPENSIONS as deferred:
        keep_out(operator, deferred, context=context, reverser=reverser, stop=operator.on_kill)
        raise
    except BaseException as error:
        reversal.reverse_error(error)
        raise
    finally:
        state.clear_runs()
    return reverse_stored(result, reverser)


@contextmanager
def _values_in_place(operator: JobOperator, reverser: ReverseTransformer) -> Iterator[None]:
    fields, state = operator._job_fields(), operator._try_state
    shown = {name: getattr(operator, name) for name in fields.names}
    before = attributes(operator)
    try:
        resolved = _resolved_fields(operator, fields)
        state.held_texts = HeldTexts.of(shown, resolved)
        for name, value in resolved.items():
            setattr(operator, name, value)
        yield
    finally:
        state.held_texts = None
        for name, value in shown.items():
            setattr(operator, name, value)
        _forget_values(operator, before, reverser)


def _forget_values(operator: JobOperator, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
    operator._forget_objects(before, reverser)
    _reverse_attributes(operator, before, reverser)


def _resolved_fields(operator: JobOperator, fields: JobFields) -> dict[str, Any]:
    """Return field -> content with values."""
    state = operator._try_state
    written = list(fields.other_texts())
    refuse_late(operator, [*written, *fields.argument_texts()])
    values = {one.label: state.handover.value(one) for one in written}
    refuse_broken_words(
        fields.spec.words,
        written={one.label: one.text for one in written},
        values=values,
        allow_exposed=operator._job_options.allows_exposed,
    )
    resolved = fields.resolved(values)
    if state.followed:
        return resolved
    return fields.with_configs(resolved, partial(configs_for, operator), state.handover.run.shown)
