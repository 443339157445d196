"""Reverses what the author's functions that Airflow calls right before and after ``execute`` raise, bind and report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from inspect import getattr_static, isgeneratorfunction
from typing import Any, Final

from airflow_config_providers.airflow_compat import SUSPENSIONS, BaseOperator

_METHODS: Final = ("pre_execute", "post_execute")


class AuthorHook:
    """An attribute of an operator that is a function of its author, and leaves only references behind; or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Callable[..., Any] | None:
        hook = None if operator is None else vars(operator).get(self._name)
        return None if hook is None else _guarded(hook, operator)

    def __set__(self, operator: Any, hook: Callable[..., Any] | None) -> None:
        vars(operator)[self._name] = hook


class _AuthorMethod:
    """A method of an author's class, of any kind, which leaves only references behind when an operator has it."""

    def __init__(self, method: Any) -> None:
        self._method = method

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        bind = getattr(self._method, "__get__", None)
        method = self._method if bind is None else bind(operator, owner)
        return method if operator is None else _guarded(method, operator)


def guard_methods(kind: type) -> None:
    """Have ``pre_execute`` and ``post_execute`` of a class of operators leave only references behind."""
    for name in _METHODS:
        method = getattr_static(kind, name)
        if method is not getattr_static(BaseOperator, name) and not isinstance(method, _AuthorMethod):
            setattr(kind, name, _AuthorMethod(method))


def _guarded(call: Callable[..., Any], operator: Any) -> Callable[..., Any]:
    """Return ``call`` with references in what it raises, reports, and binds to the lines of its context's log."""

    def called(context: Any, *args: Any, **kwargs: Any) -> Any:
        with _reversing(operator, context):
            return call(context, *args, **kwargs)

    def generated(context: Any, *args: Any, **kwargs: Any) -> Any:
        with _reversing(operator, context):
            return (yield from call(context, *args, **kwargs))

    guarded = generated if isgeneratorfunction(call) else called  # of a generator, Airflow takes what it yields
    return update_wrapper(guarded, call)


@contextmanager
def _reversing(operator: Any, context: Any) -> Iterator[None]:
    try:
        with operator.reversing_reports(context):
            yield
    except SUSPENSIONS:  # from execute on, what Airflow gets of these is reversed as a message
        raise
    except BaseException as error:
        operator.reverse_error(error)
        raise
    finally:  # execute has a context of its own, and these functions have that of all later tasks of the process
        operator.reverse_bound_entries()
