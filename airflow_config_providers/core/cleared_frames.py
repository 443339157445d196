"""Errors without the values that the functions they left had in local variables."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

OWN: Final = vars(BaseException)
_EXCEPTIONS: Final = vars(BaseExceptionGroup)["exceptions"]
"""Where every exception has its attributes and members, whatever its class has under these names."""


def clearing_frames(function: Callable[P, R]) -> Callable[P, R]:
    """
    Return ``function``, whose errors bring no local variables of it, or of what it called.

    Tracebacks keep them alive, and Sentry, a callback or a terminal can show them.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            for each in chain_of(error):
                clear_own_frames(each)
            raise

    return run


def clear_own_frames(exception: BaseException) -> None:
    """Clear the local variables of finished frames in the traceback of ``exception``, not of its causes."""
    traceback.clear_frames(own(exception, "__traceback__"))


def chain_of(exception: BaseException) -> Iterator[BaseException]:
    """Yield ``exception`` with all its causes, contexts and members, each once."""
    found: dict[int, BaseException] = {}
    todo = [exception]
    while todo:
        each = todo.pop()
        if id(each) not in found:
            found[id(each)] = each
            yield each
            todo += linked(each)


def linked(exception: BaseException) -> Iterator[BaseException]:
    """Yield the cause, the context and the members of a group."""
    members = _EXCEPTIONS.__get__(exception) if issubclass(type(exception), BaseExceptionGroup) else ()
    for each in (own(exception, "__cause__"), own(exception, "__context__"), *members):
        if each is not None:
            yield each


def own(exception: BaseException, name: str) -> Any:
    """Return an attribute that every exception has, whatever its class has under this name."""
    return OWN[name].__get__(exception)
