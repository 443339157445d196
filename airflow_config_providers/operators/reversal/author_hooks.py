"""Reverses errors and bound entries of the author's functions that Airflow calls right before and after ``execute``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, Final

from airflow_config_providers.airflow_compat import SUSPENSIONS, BaseOperator

_METHODS: Final = ("pre_execute", "post_execute")

_IS_GUARDED: Final = "shows_references"
"""The attribute of a method that leaves only references behind."""


class AuthorHook:
    """An attribute of an operator that is a function of its author, and leaves only references behind; or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Callable[..., Any] | None:
        hook = None if operator is None else vars(operator).get(self._name)
        return None if hook is None else _guarded(hook, operator)

    def __set__(self, operator: Any, hook: Callable[..., Any] | None) -> None:
        vars(operator)[self._name] = hook


def guard_methods(kind: type) -> None:
    """Have ``pre_execute`` and ``post_execute`` of a class of operators leave only references behind."""
    for name in _METHODS:
        method = getattr(kind, name)
        if method is not getattr(BaseOperator, name) and not hasattr(method, _IS_GUARDED):
            guarded = _guarded(method)
            setattr(guarded, _IS_GUARDED, True)
            setattr(kind, name, guarded)


def _guarded(call: Callable[..., Any], operator: Any = None) -> Callable[..., Any]:
    """
    Return ``call`` with references in what it raises, and binds to the lines of its context's log.

    :param operator: whose values it can have; None if that is its first argument
    """

    @wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        with _reversing(args[0] if operator is None else operator):
            return call(*args, **kwargs)

    @wraps(call)
    def generated(*args: Any, **kwargs: Any) -> Any:
        with _reversing(args[0] if operator is None else operator):
            return (yield from call(*args, **kwargs))

    return generated if isgeneratorfunction(call) else called  # of a generator, Airflow takes what it yields


@contextmanager
def _reversing(operator: Any) -> Iterator[None]:
    try:
        yield
    except SUSPENSIONS:  # what Airflow gets of these is reversed as a message
        raise
    except BaseException as error:
        operator.reverse_error(error)
        raise
    finally:  # execute has a context of its own, and these functions have that of all later tasks of the process
        operator.reverse_bound_entries()
