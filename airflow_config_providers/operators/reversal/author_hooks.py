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


class _Inherited:
    """In place of what is not set, or not defined. It is a class, because a copy of a class is the class itself."""


class _AuthorMethod:
    """
    A method of a class of operators, which leaves only references behind when an operator has it.

    As without it, an operator has what was set on it, or else what the first of its classes defines, from this one on.
    Both are looked up when they are needed, so that nothing is kept of a base. What Airflow defines stays as it is.

    :param own: what this class itself defines, of any kind; ``_Inherited`` if it defines nothing
    """

    def __init__(self, kind: type, name: str, own: Any) -> None:
        self.kind = kind
        self.own = own
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        order = (owner or type(operator)).__mro__
        if operator is None:
            return _bound(self._defined(order), None, owner)
        set_on_it = vars(operator).get(self._name, _Inherited) if order[0] is self.kind else _Inherited  # not super()
        method = _bound(self._defined(order), operator, owner) if set_on_it is _Inherited else set_on_it
        if getattr(method, "__func__", None) is getattr_static(BaseOperator, self._name):
            return method  # so that Airflow sees that nobody has overridden it
        return _guarded(method, operator, is_last=self._name in _LAST)

    def __set__(self, operator: Any, method: Any) -> None:
        vars(operator)[self._name] = method

    def __delete__(self, operator: Any) -> None:
        if self._name not in vars(operator):
            raise AttributeError(self._name)
        del vars(operator)[self._name]

    def _defined(self, order: tuple[type, ...]) -> Any:
        """Return what the first class from ``kind`` on defines; the last is Airflow's."""
        found = (vars(kind).get(self._name, _Inherited) for kind in order[order.index(self.kind) :])
        own = (one.own if isinstance(one, _AuthorMethod) else one for one in found)
        return next(one for one in own if one is not _Inherited)


def guard_methods(kind: type) -> None:
    """Have ``pre_execute`` and ``post_execute`` of a class of operators leave only references behind."""
    for name in _METHODS:
        found = vars(kind).get(name, _Inherited)
        if not isinstance(found, _AuthorMethod):
            setattr(kind, name, _AuthorMethod(kind, name, found))
        elif found.kind is not kind:  # a decorator has made a class of what another one contains
            setattr(kind, name, _AuthorMethod(kind, name, found.own))


def _bound(method: Any, operator: Any, owner: type | None) -> Any:
    bind = getattr(method, "__get__", None)
    return method if bind is None else bind(operator, owner)


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
