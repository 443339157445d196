"""The execution of an operator, with values in its fields while it lasts, and references in what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.airflow_compat import SUSPENSIONS
from airflow_config_providers.job.exposed_values import refuse_broken_words
from airflow_config_providers.operators.added_later import configs_for, refuse_late
from airflow_config_providers.operators.attributes import attributes, forget_values
from airflow_config_providers.operators.held_texts import HeldTexts
from airflow_config_providers.operators.postponed_timeout import PostponedTimeout
from airflow_config_providers.operators.resuming import know_sealed
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored
from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output
from airflow_config_providers.operators.reversing import TaskReversal, keep_out

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.operators.job_operator import JobOperator

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
    forget_values(operator, before, reverser)


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
