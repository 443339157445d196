"""Installs guards at each place where log records and printed text leave this process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import suppress
from typing import Any, Final

from airflow_config_providers.log.active import ActiveReversers
from airflow_config_providers.log.guards import FormatterGuard, MessageGuard, Processor, RenderGuard
from airflow_config_providers.log.streams import GuardedStream

Undo = Callable[[], None]

_CUTS_TOKENS: Final = "redact_jwt"
"""Name of the Airflow processor that shortens what looks like a token. Values must be found before it runs."""

_STREAMS: Final = ("stdout", "stderr", "__stdout__", "__stderr__")
"""The streams of ``sys``. The last two are the original ones, which can differ from the current ones."""

_HANDING_ON: Final = frozenset({"render_to_log_kwargs", "render_to_log_args_and_kwargs", "wrap_for_formatter"})
"""Names of structlog's last processors that leave rendering to a handler of the standard library."""


def guard_all(active: ActiveReversers) -> Iterator[Undo]:
    """Install guards wherever there is none yet, and yield for each a function that removes it."""
    if "structlog" in sys.modules:
        import structlog  # noqa: PLC0415 - a process that has not imported it does not log through it

        yield from _guard_renderer(structlog.get_config()["processors"], active)  # the list that cached loggers keep
    for handler in _handlers():
        yield from _guard_handler(handler, active)
    for name in _STREAMS:
        yield from _guard_stream(name, active)


def release_streams() -> None:
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


def _guard_handler(handler: logging.Handler, active: ActiveReversers) -> Iterator[Undo]:
    formatter: Any = handler.formatter
    if hasattr(formatter, "foreign_pre_chain") and hasattr(formatter, "processors"):  # structlog's ProcessorFormatter
        yield from _guard_attribute(formatter, "foreign_pre_chain", _guard_message, active)
        yield from _guard_attribute(formatter, "processors", _guard_renderer, active)
    elif not isinstance(formatter, FormatterGuard):
        handler.formatter = FormatterGuard(formatter, active)
        yield lambda: _restore(handler, "formatter", FormatterGuard)


def _guard_attribute(
    owner: object,
    name: str,
    guard: Callable[[MutableSequence[Processor], ActiveReversers], Iterator[Undo]],
    active: ActiveReversers,
) -> Iterator[Undo]:
    """Guard the processors in an attribute: a list in place, a tuple by replacing it."""
    processors: Sequence[Processor] | None = getattr(owner, name)
    if isinstance(processors, MutableSequence):
        yield from guard(processors, active)
    elif processors:
        guarded = list(processors)
        if list(guard(guarded, active)):
            setattr(owner, name, tuple(guarded))
            yield lambda: setattr(owner, name, tuple(map(_unguarded, getattr(owner, name))))


def _guard_message(processors: MutableSequence[Processor], active: ActiveReversers) -> Iterator[Undo]:
    """Guard the processor that would shorten a value, if there is one."""
    for index, processor in enumerate(processors):
        if getattr(processor, "__name__", "") == _CUTS_TOKENS:
            yield from _guard_item(processors, index, MessageGuard(processor, active))


def _guard_renderer(processors: MutableSequence[Processor], active: ActiveReversers) -> Iterator[Undo]:
    """Guard the last processor, and the one that would shorten a value."""
    yield from _guard_message(processors, active)
    if processors and not isinstance(last := processors[-1], MessageGuard):
        kind = MessageGuard if getattr(last, "__name__", "") in _HANDING_ON else RenderGuard
        yield from _guard_item(processors, len(processors) - 1, kind(last, active))


def _guard_item(processors: MutableSequence[Processor], index: int, guard: MessageGuard) -> Iterator[Undo]:
    processors[index] = guard

    def undo() -> None:
        for place, processor in enumerate(processors):
            if processor is guard:
                processors[place] = guard.inner

    yield undo


def _guard_stream(name: str, active: ActiveReversers) -> Iterator[Undo]:
    stream = getattr(sys, name)
    if stream is not None and not isinstance(stream, GuardedStream):
        setattr(sys, name, _guard_of(stream) or GuardedStream(stream, active, line_end="\n"))
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
