"""Reverses what the author's functions leave behind that Airflow calls right before and after ``execute``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from inspect import getattr_static, isgeneratorfunction
from typing import Any, Final

from airflow_config_providers.airflow_compat import SUSPENSIONS, BaseOperator

_LAST: Final = ("post_execute", "_post_execute_hook")
"""The functions after which Airflow, listeners and callbacks get the context of the task."""

_METHODS: Final = ("pre_execute", "post_execute")


class AuthorHook:
    """An attribute of an operator that is a function of its author, and leaves only references behind; or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Callable[..., Any] | None:
        hook = None if operator is None else vars(operator).get(self._name)
        return None if hook is None else _guarded(hook, operator, is_last=self._name in _LAST)

    def __set__(self, operator: Any, hook: Callable[..., Any] | None) -> None:
        vars(operator)[self._name] = hook


class _AuthorMethod:
    """A method of an author's class, of any kind, which leaves only references behind when an operator has it."""

    def __init__(self, method: Any, *, is_last: bool) -> None:
        self._method = method
        self._is_last = is_last

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        bind = getattr(self._method, "__get__", None)
        method = self._method if bind is None else bind(operator, owner)
        return method if operator is None else _guarded(method, operator, is_last=self._is_last)


def guard_methods(kind: type) -> None:
    """Have ``pre_execute`` and ``post_execute`` of a class of operators leave only references behind."""
    for name in _METHODS:
        method = getattr_static(kind, name)
        if method is not getattr_static(BaseOperator, name) and not isinstance(method, _AuthorMethod):
            setattr(kind, name, _AuthorMethod(method, is_last=name in _LAST))


def _guarded(call: Callable[..., Any], operator: Any, *, is_last: bool) -> Callable[..., Any]:
    """
    Return ``call`` with references in what it raises, and leaves in the task's context and that of its log.

    :param is_last: whether ``execute`` is over; otherwise it gets what this puts into the task's context
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        with _reversing(operator, is_last=is_last):
            return call(*args, **kwargs)

    def generated(*args: Any, **kwargs: Any) -> Any:
        with _reversing(operator, is_last=is_last):
            return (yield from call(*args, **kwargs))

    guarded = generated if isgeneratorfunction(call) else called  # of a generator, Airflow takes what it yields
    return update_wrapper(guarded, call)


@contextmanager
def _reversing(operator: Any, *, is_last: bool) -> Iterator[None]:
    try:
        with _deferring(operator):
            yield
    except BaseException as error:
        is_last = True
        if not isinstance(error, SUSPENSIONS):
            operator.reverse_error(error)
        raise
    finally:  # execute has a context of its own, and these functions have that of all later tasks of the process
        operator.reverse_bound_entries()
        if is_last:
            operator.reverse_context()


@contextmanager
def _deferring(operator: Any) -> Iterator[None]:
    try:
        yield
    except SUSPENSIONS as deferred:
        operator.reverse_deferral(deferred)
        raise
