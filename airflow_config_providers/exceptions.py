"""
The errors that users of this package catch. Modules derive narrower ones from them for themselves.

::

    ConfigProvidersError
    ├── ConfigException                the configuration is wrong: correct it where the message says
    │   ├── ReservedKeyError           a layer sets a key that only the deployment may set
    │   ├── UnresolvedReferenceError   references that no provider answered (missing)
    │   ├── ExposedValueError          a value would go where other people can read it
    │   ├── UndeliverableValueError    a value would not arrive in Spark unchanged
    │   ├── LimitExceededError         more references, paths or bytes than allowed
    │   ├── UnknownResourceError       there is no such DAG or task
    │   ├── StaleVersionError          a change for a version that is not the newest
    │   └── MalformedRequestError      the server cannot understand a request
    ├── ProviderDefinitionError        a provider cannot be made from its definition
    ├── ProviderLookupError            a provider was asked and did not answer
    │   ├── AccessDeniedError          it refused; no other source may answer instead
    │   └── ProviderUnavailableError   it could not answer now; a later attempt can succeed
    ├── LeakError                      an audit has found values where they must not be
    ├── ForbiddenError                 the user lacks the permission on a server
    ├── SubmitError                    spark-submit cannot be started
    ├── UnsupportedVersionError        a package that this one leans on is too new or too old
    └── PolicyViolation                a policy denied a change

An error says where the problem is, what it is, and how to solve it. No error holds a resolved value: not in its
message, its ``args``, its cause or its context.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Generic, NoReturn, Self, TypeVar

_Error = TypeVar("_Error", bound="ConfigProvidersError")
_Other = TypeVar("_Other", bound=Exception)

_MOST_LISTED: Final = 100
"""How many problems a message lists: a file of 1 MiB can have tens of thousands."""

_NO_REASON: Final = "it does not say why."
"""The problem of an error that was raised without one: code that collects problems must not miss it."""


class ConfigProvidersError(Exception):
    """
    Base of every error of this package.

    :param problems: all the problems that were found, not only the first; the message lists at most 100
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems: tuple[str, ...] = problems if any(problems) else (_NO_REASON,)

    def again(self) -> Self:
        """
        Return an equal error: two threads that raise the same one would mix up its tracebacks.

        The constructor is not called, because a subclass can have other parameters.
        """
        return _equal(type(self), self.args, vars(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let ``copy`` and ``pickle`` do without the constructor, too."""
        return _equal, (type(self), self.args, vars(self))

    def alone(self) -> Self:
        """Return this error without its cause and context: an error of a client library can hold a server's answer."""
        self.__cause__ = self.__context__ = None
        return self

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        return "\n".join([f"{len(self.problems):,} problems:", *(f"- {problem}" for problem in listed(self.problems))])


def _equal(kind: type[_Error], args: tuple[Any, ...], attributes: Mapping[str, Any]) -> _Error:
    made = kind.__new__(kind)
    made.args = args
    vars(made).update(attributes)
    if "__notes__" in attributes:  # a list, to which others are added
        vars(made)["__notes__"] = [*attributes["__notes__"]]
    return made


def listed(problems: Sequence[str]) -> list[str]:
    """Return the problems that a message lists, and how many more there are."""
    more = len(problems) - _MOST_LISTED
    return [*problems[:_MOST_LISTED], *([f"... and {more:,} more. Solve these first."] if more > 0 else [])]


def problems_of(check: Callable[[], object]) -> tuple[str, ...]:
    """Return the problems of the error of this package that ``check`` raises; none if it raises none."""
    try:
        check()
    except ConfigProvidersError as error:
        return error.problems
    return ()


def refuse(kind: type[ConfigProvidersError], problems: Iterable[str]) -> None:
    """
    Report all ``problems`` in one error; do nothing if there are none.

    :raises ConfigProvidersError: of that ``kind``
    """
    if found := [*problems]:
        raise kind(*found)


def raise_alone(error: BaseException) -> NoReturn:
    """
    Raise ``error`` without a cause and a context, for a context manager whose block has failed.

    Python makes the error of the block the context of whatever the manager raises, also outside of an except block.
    """
    try:
        raise error
    finally:
        error.__cause__ = error.__context__ = None


class translating(Generic[_Other]):  # noqa: N801 - used like contextlib.suppress
    """
    Raises what ``failure`` makes of an error of one of ``kinds`` in its place.

    The error itself is neither its context nor in a frame of its traceback, as it would be with ``contextmanager``.
    """

    def __init__(
        self, kinds: type[_Other] | tuple[type[_Other], ...], failure: Callable[[_Other], ConfigProvidersError]
    ) -> None:
        self._kinds = kinds
        self._failure = failure

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """
        End the block.

        :raises ConfigProvidersError: the block raised such an error
        """
        if isinstance(error, self._kinds):
            translated = self._failure(error)
            del error, trace
            raise_alone(translated)


def system_reason(error: Exception) -> str:
    """Return the operating system's words for an error, which have no path in them; without any, the error's type."""
    return getattr(error, "strerror", None) or type(error).__name__


def errno_meaning(error: Exception) -> str | None:
    """
    Return the meaning of the number in an error of the operating system; None if there is none.

    The message is not used: a library can have made it, with addresses and credentials in it. Errors of ``ssl`` and of
    names of hosts are derived from ``OSError`` too, with numbers of their own.
    """
    if type(error).__module__ != "builtins" or not isinstance(error, OSError):
        return None
    number = error.errno or 0
    return os.strerror(number) if number in errno.errorcode else None


class ConfigException(ConfigProvidersError):  # noqa: N818 - Kafka's name
    """The configuration cannot be used as it is."""


class ReservedKeyError(ConfigException):
    """A layer sets a key that only the deployment may set."""


class UnresolvedReferenceError(ConfigException):
    """References that no provider answered: the provider is unknown or the key is missing."""


class ExposedValueError(ConfigException):
    """A resolved value would go where other people can read it."""


class UndeliverableValueError(ConfigException):
    """A value would change on its way into Spark, so it is not sent."""


class LimitExceededError(ConfigException):
    """More references, paths or bytes than the limits allow."""


class UnknownResourceError(ConfigException):
    """There is no such DAG or task."""


class StaleVersionError(ConfigException):
    """A change is meant for a version that is not the newest."""


class MalformedRequestError(ConfigException):
    """The server cannot understand a request."""


class ProviderDefinitionError(ConfigProvidersError):
    """A provider cannot be made from its definition."""


class ProviderLookupError(ConfigProvidersError):
    """A provider was asked and did not answer."""


class AccessDeniedError(ProviderLookupError):
    """A provider refused to answer; no other source may answer instead."""


class ProviderUnavailableError(ProviderLookupError):
    """
    A provider could not answer now; a later attempt can succeed.

    :param retry_after: the seconds to wait before the next request, if the provider asks for a wait; otherwise None
    """

    retry_after: float | None = None  # also for a subclass that does not call this constructor

    def __init__(self, *problems: str, retry_after: float | None = None) -> None:
        super().__init__(*problems)
        self.retry_after = retry_after


class LeakError(ConfigProvidersError):
    """An audit has found values where they must not be, or could not read everything."""


class ForbiddenError(ConfigProvidersError):
    """A server does not know the user, or the user lacks the permission."""


class SubmitError(ConfigProvidersError):
    """A task cannot submit its job: spark-submit cannot be started here, or the job to follow is unknown."""


class UnsupportedVersionError(ConfigProvidersError):
    """An installed version of another package lacks something that this package leans on."""


class PolicyViolation(ConfigProvidersError):  # noqa: N818 - Kafka's name
    """A policy denied a change of configuration, or the configuration of a run."""


def gravest(errors: Collection[ConfigProvidersError], order: Sequence[type[_Error]]) -> type[_Error]:
    """Return the first class in ``order`` that one of ``errors`` has; the last class if none has any of them."""
    return next((kind for kind in order if any(isinstance(error, kind) for error in errors)), order[-1])


_GRAVEST_FIRST: Final = (
    AccessDeniedError,
    ProviderUnavailableError,
    ProviderLookupError,
    UnresolvedReferenceError,
    ReservedKeyError,
    ConfigException,
)


def refuse_together(errors: Iterable[ConfigProvidersError]) -> None:
    """
    Report the problems of all ``errors`` in one error; do nothing if there are none.

    :raises ConfigProvidersError: of the gravest class among theirs
    """
    if found := [*errors]:
        raise gravest(found, _GRAVEST_FIRST)(*(problem for error in found for problem in error.problems))
