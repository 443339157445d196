"""Errors that can hold values: messages about those of foreign code, and the clearing of their frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from types import FrameType
from typing import Any, Final, ParamSpec, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderLookupError

_T = TypeVar("_T")
_P = ParamSpec("_P")
_R = TypeVar("_R")

OWN: Final = vars(BaseException)
_EXCEPTIONS: Final = vars(BaseExceptionGroup)["exceptions"]
"""Where every exception has its attributes and members, whatever its class has under these names."""

_OURS: Final = __name__.partition(".")[0]


def guarded(
    call: Callable[[], _T], what: Callable[[], str], kind: type[ConfigProvidersError], *, way_out: str = ""
) -> _T:
    """
    Return the result of ``call``, which is code of others, and can even end the process.

    :param what: returns how the message begins
    :param way_out: how it ends
    :raises ConfigProvidersError: one that it raised, without its cause; any other error is one of this ``kind``
    """
    try:
        return call()
    except ConfigProvidersError as error:
        error.alone()
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything can be raised; its text can hold a value
        reason = kind_and_place(error)
    raise kind(f"{what()} ({reason}). {way_out}".rstrip())


def kind_and_place(error: BaseException) -> str:
    """
    Return the type of ``error``, and where it comes from, such as ``KeyError in /opt/acme/provider.py:12``.

    That is the last line of the package that we have called, and not of a library that it uses. An error of our own
    code has only its type.
    """
    place = _place(error)
    return f"{type(error).__name__} in {place}" if place else type(error).__name__


def foreign_failure(place: tuple[str, str], failure: BaseException) -> ConfigProvidersError:
    """
    Return our error for one that a provider of another package has raised, whose message can contain a value.

    :param place: the name of the provider, and the path
    """
    provider, path = map(printable, place)
    return ProviderLookupError(
        f"Provider '{provider}' failed at path '{path}' with {kind_and_place(failure)}. "
        f"Its message is not shown, because it can contain a value. Call the class itself to see it."
    )


def _place(error: BaseException) -> str:
    """Return file and line; empty if no other code was called."""
    from traceback import walk_tb  # noqa: PLC0415 - slow to import, and only for a message

    called: list[tuple[str, str]] = []
    for frame, line in walk_tb(error.__traceback__):
        package = _package(frame)
        if package == _OURS:
            called.clear()
        elif package != "importlib":
            called.append((package, f"{printable(frame.f_code.co_filename)}:{line}"))
    if not called:
        return f"{printable(error.filename or '')}:{error.lineno}" if isinstance(error, SyntaxError) else ""
    return next(place for package, place in reversed(called) if package == called[0][0])


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def clearing_frames(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """
    Return ``function``, whose errors bring no local variables of it, or of what it called.

    Tracebacks keep them alive, and Sentry, a callback or a terminal can show them.
    """

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            for each in chain_of(error):
                clear_own_frames(each)
            raise

    return run


def clear_own_frames(exception: BaseException) -> None:
    """Clear the local variables of finished frames in the traceback of ``exception``, not of its causes."""
    place = own(exception, "__traceback__")
    while place is not None:  # as traceback.clear_frames does, but an import can fail, and the values would stay
        with suppress(RuntimeError):  # the frame has not finished
            place.tb_frame.clear()
        place = place.tb_next


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
