"""What leaves an operator shows references: its errors, its log, its deferrals, and what its author's functions add."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.nested import ITEMS, is_mapping
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.reloading import attributes
from airflow_config_providers.operators.resuming import SEALED_VALUES, ResumingOperator
from airflow_config_providers.operators.reversal.author_hooks import AuthorHook, guard_callbacks, is_followed

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer


class ReversingOperator(ResumingOperator):
    """A base of ``ConfiguredOperator``, which replaces the values of its job by references."""

    _pre_execute_hook = AuthorHook()
    _post_execute_hook = AuthorHook()

    @classmethod
    @abstractmethod
    def guard_author_methods(cls) -> None:
        """Have what is now set on this class leave only references behind, as what was there when it was made."""

    def _begin_reversal(self, context: Any) -> None:
        """Have all that Airflow gets of this task show references from now on: an author's code runs next."""
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        guard_output(self._current_reverser())
        if (added := self._try_state.added_context) is None or added.context is not context:
            self._try_state.added_context = AddedContext(context)
            self.guard_callbacks()

    def guard_callbacks(self) -> None:
        """Have the callbacks before ``execute`` that are now set keep values out of a deferral, if there are values."""
        if self._try_state.added_context is not None:
            guard_callbacks(self)

    def reversing_context(self, name: str, context: Any = None) -> AbstractContextManager[None]:
        """
        Return what runs around a function of the author, and reverses what was put into the task's context.

        That happens after the last function of the author that Airflow calls, or after one that fails.

        :param name: of the attribute that is the function
        :param context: of the function; None for the one with which the task was rendered, if there are values
        """
        added = self._try_state.added_context
        if context is None and added is None:
            return nullcontext()
        from airflow_config_providers.operators.reversal.task_output import AddedContext, guard_output

        guard_output(self._current_reverser())
        if added is not None and (context is None or context is added.context):
            return added.around(self._current_reverser, is_followed=partial(is_followed, self, name, added.context))
        return AddedContext(context).around(self._current_reverser, is_followed=lambda: False)

    def reverse_error(self, error: BaseException) -> None:
        """Replace the values of this run by references, in place, in an exception and its causes and contexts."""
        from airflow_config_providers.log.exceptions import reverse_exception

        reverse_exception(error, self._try_state.run.reverser)

    def reverse_bound_entries(self) -> None:
        """Replace the values of this run by references in what was bound to the lines of this context's log."""
        from airflow_config_providers.log.installation import reverse_bound

        reverse_bound(self._try_state.run.reverser)

    @failing_at_once
    def reverse_deferral(self, deferred: Any) -> None:
        """
        Keep the values of this run out of a deferral for which ``execute`` is not the reason.

        :param deferred: one of ``SUSPENSIONS``
        :raises ExposedValueError: its trigger would need a value
        """
        if (added := self._try_state.added_context) is not None:
            self._reverse_deferral(added.context, deferred, self._current_reverser(), stop=lambda: None)

    def _reverse_deferral(
        self, context: Any, deferred: Any, reverser: ReverseTransformer, *, stop: Callable[[], object]
    ) -> None:
        """Keep values out of a deferral, except sealed ones for the process that resumes the task."""
        from airflow_config_providers.operators.reversal.deferral import reverse_deferral

        reverse_deferral(deferred, reverser, carried=self._operator_spec().carried, stop=stop)
        if sealed := self._deferral_seal(context).seal(reverser):
            deferred.kwargs = {**(deferred.kwargs or {}), SEALED_VALUES: sealed}

    def _current_reverser(self) -> ReverseTransformer:
        """Return what replaces the values that the job has now, and all that this task had before."""
        return self._try_state.run.reverser

    def _forget_values(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        """Reverse what ``execute`` left on the operator, where listeners and links can read it."""
        from airflow_config_providers.core.reversal.reverse import UNCHECKED

        if not reverser:
            return
        for name, value in attributes(self).items():
            was_there = before.get(name) is value
            if was_there and not (isinstance(value, ITEMS) or is_mapping(value)):
                continue
            hidden = _reversed_attribute(value, reverser)
            cannot_be_read = hidden is UNCHECKED and not isinstance(value, (dict, *ITEMS))  # such as a closed shelf
            if hidden is not value and not (was_there and cannot_be_read):
                setattr(self, name, hidden)


def _reversed_attribute(value: Any, reverser: ReverseTransformer) -> Any:
    """Return what shows references in place of ``value``; that itself if it has no values in it."""
    from airflow_config_providers.core.reversal.reverse import UNCHECKED, reverse_object

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
