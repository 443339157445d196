"""What leaves an operator shows references: its errors, its log, its deferrals, and what its author's functions add."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.resuming import SEALED_VALUES, deferral_seal
from airflow_config_providers.operators.reversal.author_hooks import guard_callbacks, is_followed
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored

if TYPE_CHECKING:
    from airflow_config_providers.operators.job_operator import JobOperator


_log = logging.getLogger(__name__)


def reverse_deferral(
    deferred: Any, reverser: ReverseTransformer, *, carried: Collection[str], stop: Callable[[], Any]
) -> None:
    """
    Keep values out of the trigger, and out of the arguments with which the task resumes.

    A trigger of a pod leaves the pod's log to the task, since the triggerer does not know the values.

    :param deferred: a ``TaskDeferred``, or a ``TaskAwaitingInput``, which has no trigger
    :param carried: arguments that the trigger only passes on, in which references replace values
    :param stop: called if this fails, since the job could already run
    :raises ExposedValueError: the trigger would need a value
    """
    deferred.kwargs = reverse_stored(deferred.kwargs, reverser)
    if not hasattr(deferred, "trigger"):
        return
    if reverser and getattr(deferred.trigger, "logging_interval", None) is not None:
        deferred.trigger.logging_interval = None
        _log.warning("logging_interval has no effect: the task fetches the log when the pod ends.")
    _, arguments = deferred.trigger.serialize()
    hidden = {name: reverse_stored(value, reverser) for name, value in arguments.items()}
    changed = {name for name, value in arguments.items() if hidden[name] is not value}
    if not changed:
        return
    if not changed <= set(carried):
        with suppress(Exception):  # the reason below is more important than an error of stop
            stop()
        kind, deferred.trigger = type(deferred.trigger).__name__, None  # the error has it in its context
        raise ExposedValueError(
            f"The trigger {kind} would be stored with values, in "
            f"{', '.join(printable(name) for name in sorted(changed - set(carried)))}. Run this task with "
            f"deferrable=False, or let the job itself resolve its references."
        )
    deferred.trigger = type(deferred.trigger)(**hidden)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TaskReversal:
    """Replaces the values that the job of ``operator`` has now, and all that this task had before, by references."""

    operator: JobOperator

    def _known(self) -> ReverseTransformer:
        return self.operator._try_state.run.reverser

    def begin(self, context: Any) -> None:
        """Have all that Airflow gets of this task show references from now on: an author's code runs next."""
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        guard_output(self._known())
        state = self.operator._try_state
        if state.added_context is None or state.added_context.context is not context:
            state.added_context = AddedContext(context)
            self.guard_callbacks()

    def guard_callbacks(self) -> None:
        """Have the callbacks before ``execute`` that are now set keep values out of a deferral, if there are values."""
        if self.operator._try_state.added_context is not None:
            guard_callbacks(self.operator)

    def around(self, name: str, context: Any = None) -> AbstractContextManager[None]:
        """
        Return what runs around a function of the author, and reverses what was put into the task's context.

        That happens after the last function of the author that Airflow calls, or after one that fails.

        :param name: of the attribute that is the function
        :param context: of the function; None for the one with which the task was rendered, if there are values
        """
        added = self.operator._try_state.added_context
        if context is None and added is None:
            return nullcontext()
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        guard_output(self._known())
        if added is not None and (context is None or context is added.context):
            return added.around(self._known, is_followed=partial(is_followed, self.operator, name, added.context))
        return AddedContext(context).around(self._known, is_followed=lambda: False)

    def reverse_error(self, error: BaseException) -> None:
        """Replace values by references, in place, in an exception and its causes and contexts."""
        from airflow_config_providers.log.exceptions import reverse_exception

        reverse_exception(error, self._known())

    def reverse_bound_entries(self) -> None:
        """Replace values by references in what was bound to the lines of this context's log."""
        from airflow_config_providers.log.installation import reverse_bound

        reverse_bound(self._known())

    def reverse_deferral(self, deferred: Any) -> None:
        """
        Keep values out of a deferral for which ``execute`` is not the reason.

        :param deferred: one of ``SUSPENSIONS``
        :raises ExposedValueError: its trigger would need a value
        """
        if (added := self.operator._try_state.added_context) is not None:
            keep_out(self.operator, deferred, context=added.context, reverser=self._known(), stop=lambda: None)


@failing_at_once
def keep_out(
    operator: JobOperator, deferred: Any, *, context: Any, reverser: ReverseTransformer, stop: Callable[[], object]
) -> None:
    """
    Keep values out of a deferral, except sealed ones for the process that resumes the task.

    :param stop: called if this fails
    :raises ExposedValueError: its trigger would need a value
    """
    reverse_deferral(deferred, reverser, carried=operator._job_fields().spec.carried, stop=stop)
    if sealed := deferral_seal(operator, context).seal(reverser):
        deferred.kwargs = {**(deferred.kwargs or {}), SEALED_VALUES: sealed}
