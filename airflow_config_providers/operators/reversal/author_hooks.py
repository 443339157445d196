"""Reverses what ``execute`` leaves behind, and the author's functions that Airflow calls right before and after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial, update_wrapper
from inspect import isfunction, isgeneratorfunction
from types import MethodType
from typing import Any, Final

from airflow_config_providers.airflow_compat import SUSPENSIONS, AirflowTaskTerminated, BaseOperator
from airflow_config_providers.exceptions import raise_alone

_BEFORE: Final = ("_pre_execute_hook", "pre_execute")
_AFTER: Final = ("_post_execute_hook", "post_execute")
"""The author's functions before and after ``execute``, in the order in which Airflow calls them unless one fails."""

_METHODS: Final = ("pre_execute", "execute", "post_execute")


class AuthorHook:
    """An attribute of an operator that is a function of its author, and leaves only references behind; or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Callable[..., Any] | None:
        hook = None if operator is None else vars(operator).get(self._name)
        return None if hook is None else _guarded_call(hook, operator, self._name)

    def __set__(self, operator: Any, hook: Callable[..., Any] | None) -> None:
        vars(operator)[self._name] = hook

    def __delete__(self, operator: Any) -> None:
        _delete(operator, self._name)


class _Inherited:
    """In place of what is not set, or not defined. It is a class, because a copy of a class is the class itself."""


class _AuthorMethod:
    """
    A method of a class of operators, which leaves only references behind when an operator has it.

    As without it, an operator has what was set on it, or else what the first of its classes defines, from this one on.
    Both are looked up when they are needed, so that nothing is kept of a base.

    :param kind: the class
    :param base: the class whose own and inherited methods stay as they are, so that Airflow sees which are overridden
    :param own: what ``kind`` itself defines, of any kind; ``_Inherited`` if it defines nothing
    """

    def __init__(self, kind: type, base: type, name: str, own: Any) -> None:
        self.kind = kind
        self.own = own
        self._base = base
        self._name = name

    @property
    def __isabstractmethod__(self) -> bool:
        return bool(getattr(self.own, "__isabstractmethod__", False))

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        order = (owner or type(operator)).__mro__
        if operator is not None and order[0] is self.kind and self._name in vars(operator):  # not super()
            return self._set_on(operator)
        method = _defined(self._name, order[order.index(self.kind) :])
        if method is self._unguarded or (operator is None and not isfunction(method)):
            return _bound(method, operator, owner)
        guarded = _guarded(method, self._name)
        return guarded if operator is None else MethodType(guarded, operator)  # as a method, it can be pickled

    def __set__(self, operator: Any, method: Any) -> None:
        vars(operator)[self._name] = method

    def __delete__(self, operator: Any) -> None:
        _delete(operator, self._name)

    @property
    def _unguarded(self) -> Any:
        return _defined(self._name, self._base.__mro__)

    def _set_on(self, operator: Any) -> Any:
        method = vars(operator)[self._name]
        if getattr(method, "__func__", None) is self._unguarded:
            return method
        return _guarded_call(method, operator, self._name)


def _delete(operator: Any, name: str) -> None:
    if name not in vars(operator):
        raise AttributeError(name)
    del vars(operator)[name]


def guard_methods(kind: type, base: type) -> None:
    """
    Have ``execute`` of a class of operators, and the methods right before and after, leave only references behind.

    :param base: the class whose own and inherited methods stay as they are
    """
    for name in _METHODS:
        found = vars(kind).get(name, _Inherited)
        if not isinstance(found, _AuthorMethod):
            setattr(kind, name, _AuthorMethod(kind, base, name, found))
        elif found.kind is not kind:  # a decorator has made a class of what another one contains
            setattr(kind, name, _AuthorMethod(kind, base, name, found.own))


def defines(kind: type, name: str) -> bool:
    """Return whether ``kind`` itself defines a method, which it does not if only its guard is there."""
    return _own(kind, name) is not _Inherited


def is_followed(operator: Any, name: str, context: Mapping[str, Any]) -> bool:
    """
    Return whether Airflow calls another function of the author after one that succeeds, and before it ends the task.

    :param name: of the attribute that is the function
    :param context: of the task that Airflow runs; after ``execute`` of another operator, Airflow calls nothing of that
    """
    if name in _BEFORE:
        return True
    if getattr(context.get("ti"), "task", None) is not operator:
        return False
    later = _AFTER[_AFTER.index(name) + 1 :] if name in _AFTER else _AFTER
    return any(_is_called(getattr(operator, each), getattr(BaseOperator, each)) for each in later)


def _is_called(function: Any, of_airflow: Any) -> bool:
    return getattr(function, "__func__", function) is not of_airflow


def _defined(name: str, order: tuple[type, ...]) -> Any:
    """Return what the first class in ``order`` defines; the last is Airflow's."""
    return next(own for own in (_own(kind, name) for kind in order) if own is not _Inherited)


def _own(kind: type, name: str) -> Any:
    found = vars(kind).get(name, _Inherited)
    return found.own if isinstance(found, _AuthorMethod) else found


def _bound(method: Any, operator: Any, owner: type | None) -> Any:
    bind = getattr(method, "__get__", None)
    return method if bind is None else bind(operator, owner)


class _GuardedCall(partial[Any]):
    """
    A function of the author that takes no operator, and leaves only references behind when it is called.

    In all else it looks as the function does, such as in what Airflow logs of it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _guarded_call(call: Callable[..., Any], operator: Any, name: str) -> Callable[..., Any]:
    """Return ``call``, which takes no operator, as one that leaves only references behind when this one has it."""
    own = call.__wrapped__ if isinstance(call, _GuardedCall) else call  # code renders once more
    return update_wrapper(_GuardedCall(_guarded(staticmethod(own), name), operator), own, updated=())


def _guarded(method: Any, name: str) -> Callable[..., Any]:
    """
    Return a function of an operator that does the same as ``method`` of it, and leaves only references behind.

    :param method: what a class defines, of any kind
    :param name: of the attribute
    """
    guard = _GUARDS.get(name) or partial(_in_context, around=partial(_showing_references, name=name))
    return update_wrapper(guard(method), method)


def _forgetting_execute(execute: Any) -> Callable[..., Any]:
    """Return an author's ``execute``, after which the values are forgotten. It need not call that of its base."""

    def forgetting(operator: Any, *args: Any, **kwargs: Any) -> Any:
        context = (args[0] if args else kwargs.get("context")) or {}
        return operator.run_and_forget(context, partial(_bound(execute, operator, type(operator)), *args, **kwargs))

    return forgetting


def _in_context(method: Any, *, around: Callable[[Any], AbstractContextManager[None]]) -> Callable[..., Any]:
    """
    Return ``method``, which may be a generator, in a context.

    :param around: returns the context for an operator
    """

    def called(operator: Any, *args: Any, **kwargs: Any) -> Any:
        with around(operator):
            return _bound(method, operator, type(operator))(*args, **kwargs)

    def generated(operator: Any, *args: Any, **kwargs: Any) -> Any:
        with around(operator):
            return (yield from _bound(method, operator, type(operator))(*args, **kwargs))

    is_generator = isgeneratorfunction(_bound(method, None, object))
    return generated if is_generator else called  # of a generator, Airflow takes what it yields


@contextmanager
def _showing_references(operator: Any, *, name: str) -> Iterator[None]:
    """Show references in what is raised, and left in the task's context and that of its log."""
    reversal = operator.task_reversal
    try:
        with reversal.around(name), _reversing_deferral(operator):
            yield
    except BaseException as error:
        if not isinstance(error, SUSPENSIONS):
            reversal.reverse_error(error)
        raise
    finally:  # execute has a context of its own, and these functions have that of all later tasks of the process
        reversal.reverse_bound_entries()
        operator.guard_author_methods()
        reversal.guard_callbacks()


@contextmanager
def _reversing_deferral(operator: Any) -> Iterator[None]:
    try:
        yield
    except SUSPENSIONS as deferred:
        operator.task_reversal.reverse_deferral(deferred)
        raise


@contextmanager
def _refusing_values_in_deferral(operator: Any) -> Iterator[None]:
    """
    Keep values out of a deferral by a callback.

    :raises AirflowTaskTerminated: its trigger would need a value; after other errors of a callback, Airflow goes on
    """
    problem = ""
    try:
        yield
    except SUSPENSIONS as deferred:
        problem = _problem_of_deferral(operator, deferred)
        if not problem:
            raise
    if problem:
        raise_alone(AirflowTaskTerminated(problem))


@contextmanager
def _around_callback(operator: Any) -> Iterator[None]:
    """Do the same as ``_refusing_values_in_deferral``, and reverse the task's context if the callback ends the task."""
    try:
        with _refusing_values_in_deferral(operator):
            yield
    except BaseException as error:
        if isinstance(error, Exception):  # after which Airflow goes on
            raise
        with operator.task_reversal.around(_CALLBACKS):
            raise


def _problem_of_deferral(operator: Any, deferred: BaseException) -> str:
    try:
        operator.task_reversal.reverse_deferral(deferred)
    except Exception as error:  # noqa: BLE001 - a foreign trigger can raise anything
        operator.task_reversal.reverse_error(error)
        return str(error) or type(error).__name__
    return ""


_CALLBACKS: Final = "on_execute_callback"

_GUARDS: Final[Mapping[str, Callable[[Any], Callable[..., Any]]]] = {
    "execute": _forgetting_execute,
    _CALLBACKS: partial(_in_context, around=_around_callback),
}
"""Attribute -> what guards its function; those of the other attributes run in ``_showing_references``."""


def guard_callbacks(operator: Any) -> None:
    """Have the callbacks that Airflow calls right before ``execute`` keep values out of a deferral."""
    found = getattr(operator, _CALLBACKS)
    if isinstance(found, Collection):
        setattr(operator, _CALLBACKS, [_guarded_call(call, operator, _CALLBACKS) for call in found])
