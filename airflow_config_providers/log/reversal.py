"""Reversal of everything that this process logs and prints while it holds values."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.log.guards import (
    ActiveReversers,
    FormatterGuard,
    GuardedStream,
    MessageGuard,
    Processor,
    RenderGuard,
)

_Undo = Callable[[], None]

_CUTS_TOKENS: Final = "redact_jwt"
"""Name of the Airflow processor that shortens what looks like a token. Values must be found before it runs."""

_STREAMS: Final = ("stdout", "stderr", "__stdout__", "__stderr__")
"""The streams of ``sys``. The last two are the original ones, which can differ from the current ones."""

_HANDING_ON: Final = frozenset({"render_to_log_kwargs", "render_to_log_args_and_kwargs", "wrap_for_formatter"})
"""Names of structlog's last processors that leave rendering to a handler of the standard library."""

_lock: Final = threading.RLock()  # reentrant, since a signal handler can end a task
_active: Final = ActiveReversers()
_undo: Final[list[_Undo]] = []


class Installation:
    """The result of ``install``; ``uninstall`` ends the reversal."""

    __slots__ = ("_reverser",)

    def __init__(self, reverser: ReverseTransformer | None) -> None:
        self._reverser = reverser

    def uninstall(self) -> None:
        """Deactivate the reverser; a second call does nothing. The last active reverser takes the guards with it."""
        with _lock:
            if self._reverser is not None:
                _remove(self._reverser)
                self._reverser = None


def install(reverser: ReverseTransformer) -> Installation:
    """
    Replace values by references in what this process logs and prints.

    This covers structlog's processors, the handlers of every logger of the standard library, ``sys.stdout`` and
    ``sys.stderr``, in all threads. Call it after logging is configured and before the values can be shown. A
    reverser with nothing to hide changes nothing. This does not cover writes to file descriptors that bypass Python,
    handlers that send records unformatted, and handlers that are added later.
    """
    if not reverser:
        return Installation(None)
    with _lock:
        _active.add(reverser)
        _undo.extend(_guard_all())
    return Installation(reverser)


@contextmanager
def reversing(reverser: ReverseTransformer) -> Iterator[None]:
    """Install ``reverser`` for the duration of a ``with`` block."""
    installation = install(reverser)
    try:
        yield
    finally:
        installation.uninstall()


def _remove(reverser: ReverseTransformer) -> None:
    _release_streams()
    _active.remove(reverser)
    if not _active:
        while _undo:
            _undo.pop()()


def _guard_all() -> Iterator[_Undo]:
    """Install guards wherever there is none yet, and yield for each a function that removes it."""
    if "structlog" in sys.modules:
        import structlog  # noqa: PLC0415 - a process that has not imported it does not log through it

        yield from _guard_renderer(structlog.get_config()["processors"])  # the list that cached loggers keep
    for handler in _handlers():
        yield from _guard_handler(handler)
    for name in _STREAMS:
        yield from _guard_stream(name)


def _release_streams() -> None:
    """Write what the guarded streams have held back."""
    for stream in (getattr(sys, name) for name in _STREAMS):
        if isinstance(stream, GuardedStream):
            with suppress(OSError, ValueError):  # closed meanwhile
                stream.release()


def _handlers() -> set[logging.Handler]:
    """Return the handlers of all loggers, and the handler of last resort."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    found = {handler for logger in loggers if isinstance(logger, logging.Logger) for handler in logger.handlers}
    return found | ({logging.lastResort} if logging.lastResort else set())


def _guard_handler(handler: logging.Handler) -> Iterator[_Undo]:
    formatter: Any = handler.formatter
    if hasattr(formatter, "foreign_pre_chain") and hasattr(formatter, "processors"):  # structlog's ProcessorFormatter
        yield from _guard_attribute(formatter, "foreign_pre_chain", _guard_message)
        yield from _guard_attribute(formatter, "processors", _guard_renderer)
    elif not isinstance(formatter, FormatterGuard):
        handler.formatter = FormatterGuard(formatter, _active)
        yield lambda: _restore(handler, "formatter", FormatterGuard)


def _guard_attribute(
    owner: object, name: str, guard: Callable[[MutableSequence[Processor]], Iterator[_Undo]]
) -> Iterator[_Undo]:
    """Guard the processors in an attribute: a list in place, a tuple by replacing it."""
    processors: Sequence[Processor] | None = getattr(owner, name)
    if isinstance(processors, MutableSequence):
        yield from guard(processors)
    elif processors:
        guarded = list(processors)
        if list(guard(guarded)):
            setattr(owner, name, tuple(guarded))
            yield lambda: setattr(owner, name, tuple(map(_unguarded, getattr(owner, name))))


def _guard_message(processors: MutableSequence[Processor]) -> Iterator[_Undo]:
    """Guard the processor that would shorten a value, if there is one."""
    for index, processor in enumerate(processors):
        if getattr(processor, "__name__", "") == _CUTS_TOKENS:
            yield from _guard_item(processors, index, MessageGuard(processor, _active))


def _guard_renderer(processors: MutableSequence[Processor]) -> Iterator[_Undo]:
    """Guard the last processor, and the one that would shorten a value."""
    yield from _guard_message(processors)
    if processors and not isinstance(last := processors[-1], MessageGuard):
        kind = MessageGuard if getattr(last, "__name__", "") in _HANDING_ON else RenderGuard
        yield from _guard_item(processors, len(processors) - 1, kind(last, _active))


def _guard_item(processors: MutableSequence[Processor], index: int, guard: MessageGuard) -> Iterator[_Undo]:
    processors[index] = guard

    def undo() -> None:
        for place, processor in enumerate(processors):
            if processor is guard:
                processors[place] = guard.inner

    yield undo


def _guard_stream(name: str) -> Iterator[_Undo]:
    stream = getattr(sys, name)
    if stream is not None and not isinstance(stream, GuardedStream):
        setattr(sys, name, _guard_of(stream) or GuardedStream(stream, _active, line_end="\n"))
        yield lambda: _restore(sys, name, GuardedStream)


def _guard_of(stream: object) -> GuardedStream[str] | None:
    """Return the existing guard of ``stream``, if any: two guards would write their lines out of order."""
    guards = (guard for name in _STREAMS if isinstance(guard := getattr(sys, name), GuardedStream))
    return next((guard for guard in guards if guard.inner is stream), None)


def _restore(owner: object, name: str, kind: type[FormatterGuard] | type[GuardedStream[str]]) -> None:
    """Restore what a guard has replaced, unless the attribute no longer holds the guard."""
    guard = getattr(owner, name)
    if isinstance(guard, kind):
        setattr(owner, name, guard.inner)


def _unguarded(processor: Processor) -> Processor:
    return processor.inner if isinstance(processor, MessageGuard) else processor
