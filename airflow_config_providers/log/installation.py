"""Installs the guards that reverse everything that this process logs and prints while it holds values."""

from __future__ import annotations

import logging
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, Final

from airflow_config_providers.core.concurrency.per_process import hold_forks
from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.log.reversing_guards import (
    FactoryGuard,
    FormatterGuard,
    GuardedStream,
    MessageGuard,
    Processor,
    RecordGuard,
    RenderGuard,
    SetterGuard,
    guard_formatter,
    keeps_records,
)

_Undo = Callable[[], None]
_Guard = GuardedStream[str] | RecordGuard | SetterGuard

_CUTS_TOKENS: Final = "redact_jwt"
"""Name of the Airflow processor that shortens what looks like a token. Values must be found before it runs."""

_STREAMS: Final = ("stdout", "stderr", "__stdout__", "__stderr__")
"""The streams of ``sys``. The last two are the original ones, which can differ from the current ones."""

_METHODS: Final = frozenset({"write", "flush"})
"""The methods of a stream that its guard replaces. Something else could have replaced them before."""

_HANDING_ON: Final = frozenset({"render_to_log_kwargs", "render_to_log_args_and_kwargs", "wrap_for_formatter"})
"""Names of structlog's last processors that leave rendering to a handler of the standard library."""

_lock: Final = threading.RLock()  # reentrant, since a signal handler can end a task
_active: Final = ActiveReversers()
_undo: Final[list[_Undo]] = []
_streams: Final[weakref.WeakSet[GuardedStream[str]]] = weakref.WeakSet()
"""All guards of streams, also those that ``sys`` does not hold now, because output is redirected for a while."""

hold_forks(_lock)


class Installation:
    """The result of ``install``; ``uninstall`` ends the reversal."""

    __slots__ = ("_reverser",)

    def __init__(self, reverser: ReverseTransformer | None) -> None:
        self._reverser = reverser

    @property
    def is_active(self) -> bool:
        """Whether it reverses, so that ``uninstall`` takes locks, which writers of logs and streams can hold."""
        return self._reverser is not None

    def release(self) -> None:
        """Write what is held back of lines that are not complete. The reversal goes on."""
        _release_streams()

    def uninstall(self) -> None:
        """Deactivate the reverser; a second call does nothing. The last active reverser takes the guards with it."""
        try:
            if self._reverser is not None:
                _release_streams()
        finally:  # a timeout of the task can be raised meanwhile
            self._remove()

    def _remove(self) -> None:
        with _lock:
            if self._reverser is not None:
                _remove(self._reverser)
                self._reverser = None


def install(reverser: ReverseTransformer) -> Installation:
    """
    Replace values by references in what this process logs and prints.

    This covers structlog's processors, the handlers of every logger of the standard library, ``sys.stdout`` and
    ``sys.stderr``, also for code that kept these streams, and Sentry's SDK if it is loaded, in all threads. Call it
    after logging is configured and before the values can be shown. A reverser with nothing to hide changes nothing.
    This does not cover writes to file descriptors that bypass Python, handlers that send records unformatted, except
    those of the standard library, and handlers that are added later.
    """
    if not reverser:
        return Installation(None)
    with _lock:
        _active.add(reverser)
        try:
            _guard_all()
        except BaseException:  # such as of a foreign formatter
            Installation(reverser).uninstall()
            raise
    return Installation(reverser)


@contextmanager
def reversing(reverser: ReverseTransformer) -> Iterator[None]:
    """Install ``reverser`` for a ``with`` block. What is bound to its context then shows references in later lines."""
    installation = install(reverser)
    try:
        yield
    finally:
        reverse_bound(reverser)
        installation.uninstall()


def reverse_bound(reverser: ReverseTransformer) -> None:
    """
    Replace values by references in what was bound to this context with ``structlog.contextvars``.

    Loggers that code has bound itself keep what they have.
    """
    if not reverser or "structlog" not in sys.modules:
        return
    from structlog.contextvars import bind_contextvars, get_contextvars, unbind_contextvars  # noqa: PLC0415 - only where it is used

    for key, value in get_contextvars().items():
        name, shown = str(reverse_object(key, (reverser,))), reverse_object(value, (reverser,))
        if name != key:
            unbind_contextvars(key)
        if name != key or shown is not value:
            bind_contextvars(**{name: shown})


def _remove(reverser: ReverseTransformer) -> None:
    _active.remove(reverser)
    if not _active:
        while _undo:
            _undo.pop()()


def _release_streams() -> None:
    """Write what is held back, without the lock: a stream that is written to at this moment can log, and need it."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not isinstance(stream, GuardedStream):  # can be a task's own, above a guarded one
            with suppress(Exception):  # a foreign object can lack this method, or raise anything
                stream.flush()
    with _lock:
        guards = list(_streams)
    for guard in guards:
        with suppress(OSError, ValueError, RuntimeError):  # closed meanwhile, or in the middle of a write
            guard.release()


def _guard_all() -> None:
    """Put guards wherever there is none yet."""
    if "structlog" in sys.modules:
        _guard_configured()
        _guard_factory()
    for handler in _handlers():
        guard_formatter(handler, _guarded_formatter)
        _guard_setter(handler)
        if keeps_records(handler):
            _put(handler, "emit", RecordGuard(handler, _active))
    for name in _STREAMS:
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, GuardedStream):
            _put(sys, name, _guard_of(stream))
        if stream is not None:
            _take_over(getattr(sys, name))
    if "sentry_sdk" in sys.modules:
        from airflow_config_providers.log.sentry import guard_sentry  # noqa: PLC0415 - a process that has not loaded its SDK sends nothing

        guard_sentry(_active)


def _guard_configured() -> None:
    """Guard structlog's configured processors: a list in place, because loggers keep it."""
    import structlog  # noqa: PLC0415 - a process that has not imported it does not log through it

    processors: Sequence[Processor] = structlog.get_config()["processors"]
    if isinstance(processors, MutableSequence):
        _guard_processors(processors)
    elif guards := _guards(processors, renders=True):
        _configure("processors", _with_guards(processors, guards), instead_of=processors)


def _guard_factory() -> None:
    """Have processors that a task configures guarded when they are first used; structlog's own factory prints."""
    import structlog  # noqa: PLC0415 - as above

    inner = structlog.get_config()["logger_factory"]
    if structlog.is_configured() and not isinstance(inner, FactoryGuard):
        _configure("logger_factory", FactoryGuard(inner, _guard_reconfigured), instead_of=inner)


def _guard_reconfigured() -> None:
    import structlog  # noqa: PLC0415 - as above

    processors = structlog.get_config()["processors"]
    if _active and not (processors and isinstance(processors[-1], MessageGuard)):  # most lines do not take the lock
        with _lock:
            if _active:
                _guard_configured()


def _configure(name: str, guard: Any, *, instead_of: Any) -> None:
    """Set an entry of structlog's configuration, until that is undone, or the entry is another one."""
    import structlog  # noqa: PLC0415 - as above

    structlog.configure(**{name: guard})

    def undo() -> None:
        if structlog.get_config()[name] is guard:
            structlog.configure(**{name: instead_of})

    _undo.append(undo)


def _guard_setter(handler: logging.Handler) -> None:
    with suppress(AttributeError):  # of a class that lets nobody replace it
        if not isinstance(handler.setFormatter, SetterGuard):
            _put(handler, "setFormatter", SetterGuard(handler, _guarded_formatter))


def _guarded_formatter(handler: logging.Handler, formatter: Any) -> Any:
    """Return what ``handler`` formats with, until that is undone: one of structlog itself, with guarded processors."""
    with _lock:
        if not _active or isinstance(formatter, FormatterGuard):
            return formatter
        if hasattr(formatter, "foreign_pre_chain") and hasattr(formatter, "processors"):  # of structlog
            _guard_chain(formatter, "foreign_pre_chain", renders=False)
            _guard_chain(formatter, "processors")
            return formatter
        if not isinstance(handler.formatter, FormatterGuard):  # else the handler gets its own one back anyway
            _undo.append(lambda: _unguard_formatter(handler))
        return FormatterGuard(formatter, _active)


def _unguard_formatter(handler: logging.Handler) -> None:
    if isinstance(guard := handler.formatter, FormatterGuard):
        handler.formatter = guard.inner


def _handlers() -> set[logging.Handler]:
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    found = {handler for logger in loggers if isinstance(logger, logging.Logger) for handler in logger.handlers}
    return found | ({logging.lastResort} if logging.lastResort else set())


def _guard_of(stream: object) -> GuardedStream[str]:
    """Return the guard of ``stream``, a new one only if there is none: two would write their lines out of order."""
    for each in (getattr(sys, name) for name in _STREAMS):
        if isinstance(each, GuardedStream) and each.inner is stream:
            return each
    guard = GuardedStream(stream, _active, line_end="\n")
    _streams.add(guard)
    return guard


def _take_over(guard: GuardedStream[str]) -> None:
    """Have what code writes to the stream itself, which it kept, pass its guard, too."""
    if isinstance(guard.inner, TextIOWrapper) and not _METHODS & vars(guard.inner).keys():
        _undo.append(guard.take_over())


def _put(owner: object, name: str, guard: _Guard) -> None:
    """Replace an attribute by ``guard``, until that is undone, or the attribute no longer holds it."""
    is_own = name in vars(owner) or isinstance(getattr(type(owner), name, None), property)  # a method is not

    def undo() -> None:
        if getattr(owner, name) is guard:
            setattr(owner, name, guard.inner) if is_own else delattr(owner, name)

    setattr(owner, name, guard)
    _undo.append(undo)


def _guard_chain(owner: object, name: str, *, renders: bool = True) -> None:
    """Guard the processors in an attribute: a list in place, a tuple by replacing it."""
    processors: Sequence[Processor] | None = getattr(owner, name)
    if isinstance(processors, MutableSequence):
        _guard_processors(processors, renders=renders)
    elif processors and (guards := _guards(processors, renders=renders)):
        setattr(owner, name, tuple(_with_guards(processors, guards)))
        _undo.append(lambda: setattr(owner, name, tuple(map(_unguarded, getattr(owner, name)))))


def _guard_processors(processors: MutableSequence[Processor], *, renders: bool = True) -> None:
    guards = _guards(processors, renders=renders)
    for place, guard in guards.items():
        processors[place] = guard

    def undo() -> None:
        for place, processor in enumerate(processors):
            if processor is not (inner := _unguarded(processor)):
                processors[place] = inner

    if guards:
        _undo.append(undo)


def _guards(processors: Sequence[Processor], *, renders: bool) -> dict[int, MessageGuard]:
    """Return by their places the guards that are missing: of the renderer, and of what would shorten a value."""
    guards: dict[int, MessageGuard] = {}
    for place, processor in enumerate(processors):
        name = getattr(processor, "__name__", "")
        is_last = renders and place == len(processors) - 1
        if (is_last or name == _CUTS_TOKENS) and not isinstance(processor, MessageGuard):
            kind = RenderGuard if is_last and name not in _HANDING_ON else MessageGuard
            guards[place] = kind(processor, _active)
    return guards


def _with_guards(processors: Sequence[Processor], guards: Mapping[int, MessageGuard]) -> list[Processor]:
    return [guards.get(place, processor) for place, processor in enumerate(processors)]


def _unguarded(processor: Processor) -> Processor:
    return processor.inner if isinstance(processor, MessageGuard) else processor
