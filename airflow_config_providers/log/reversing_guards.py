"""
Guards where a process logs and prints: they pass on references in place of values.

Some handlers keep or send records, which others format later, or in another process.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import starmap
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, AnyStr, Final, Generic

from airflow_config_providers.core.concurrency.per_process import forget_in_children
from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import find
from airflow_config_providers.core.reversal.stream import LONGEST_LINE, StreamReverser
from airflow_config_providers.core.text import octets

Processor = Callable[[Any, str, Any], Any]
"""A part of structlog's chain. It takes the logger, the name of the method, and the event or its previous result."""

_NEEDED_AS_OBJECTS: Final = frozenset({"_record", "exc_info"})
"""Entries of an event that later processors need unchanged, and that are not shown themselves."""


_LAYOUTS: Final = tuple(
    json.JSONEncoder(ensure_ascii=is_ascii, separators=separators)
    for is_ascii in (False, True)
    for separators in ((",", ":"), (", ", ": "))
)
"""The layouts in which renderers write JSON. In another one, what was found there could be shown."""

_KEPT_IN_MESSAGES: Final = ("timestamp", "level", "logger")
"""Entries by which a log is sorted and filtered."""

_NAMES: Final = _NEEDED_AS_OBJECTS.union(_KEPT_IN_MESSAGES, ("event", "exception", "filename", "lineno", "loc"))
"""The names of entries that later processors, and Airflow's supervisor, look up."""

_LEVELS: Final = frozenset({"debug", "info", "warn", "warning", "error", "exception", "critical", "fatal", "notset"})

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?", re.ASCII)

_KINDS: Final = ("BufferingHandler", "HTTPHandler", "QueueHandler", "SocketHandler")
"""The handlers of ``logging.handlers`` that hand on a record as it is; others are below them."""

_OF_ANY: Final = frozenset(vars(logging.makeLogRecord({})))
"""The attributes of every record. Formats rely on those that are numbers."""


class MessageGuard:
    """
    Wraps a processor, and passes it the event with references in place of values.

    It replaces the processor instead of preceding it, so that a thread that iterates over the list at that moment
    neither skips a processor nor calls one twice.
    """

    __slots__ = ("_active", "inner")

    def __init__(self, inner: Processor, active: ActiveReversers) -> None:
        self.inner = inner
        self._active = active

    def __call__(self, logger: Any, name: str, event: Any) -> Any:  # noqa: D102 - the class says it
        return self.inner(logger, name, self._reversed(event) if self._active else event)

    def _reversed(self, event: Any) -> Any:
        """Return the event with each entry reversed by itself, so that one that cannot be checked spoils no other."""
        if not isinstance(event, Mapping):
            return self._active.value(event)
        return dict(starmap(self._reversed_entry, event.items()))

    def _reversed_entry(self, key: Any, value: object) -> tuple[Any, object]:
        is_kept = key in _NEEDED_AS_OBJECTS or is_frame(key, value)
        return key if key in _NAMES else self._active.value(key), value if is_kept else self._active.value(value)


class RenderGuard(MessageGuard):
    """
    Wraps the renderer: turns exceptions into text before it, and reverses its result.

    A renderer can show more of an object than its ``str()`` does, for example the fields of a dataclass.
    """

    __slots__ = ()

    def __call__(self, logger: Any, name: str, event: Any) -> Any:  # noqa: D102 - the class says it
        if not self._active:
            return self.inner(logger, name, event)
        return self._checked(self.inner(logger, name, self._reversed(with_exception_as_text(event))))

    def _checked(self, rendered: Any) -> Any:
        if not isinstance(rendered, str | bytes | bytearray):
            return rendered
        hidden = self._active.value(rendered)
        return rendered if hidden == rendered else self._checked_json(rendered) or hidden

    def _checked_json(self, rendered: str | bytes | bytearray) -> str | bytes | None:
        """Return JSON in which strings, or else whole entries, are reversed; None if it would not be valid or safe."""
        try:
            text = rendered if isinstance(rendered, str) else rendered.decode()
            event = json.loads(text)
            layout = next((each for each in _LAYOUTS if each.encode(event) == text), None)
        except (ValueError, RecursionError):
            return None
        found = self._laid_out(event, layout) if layout else self._as_message(event, text)
        return found.encode("utf-8", "replace") if found and not isinstance(rendered, str) else found

    def _laid_out(self, event: object, layout: json.JSONEncoder) -> str | None:
        shown = self._reversed(event)
        return self._safe(shown, layout) or self._safe(self._with_texts(shown, layout), layout)

    def _as_message(self, event: object, text: str) -> str | None:
        """Return an event whose message is ``text``, reversed: Airflow's supervisor drops what is no JSON."""
        if not isinstance(event, Mapping) or "event" not in event:
            return None
        kept = {key: event[key] for key in _KEPT_IN_MESSAGES if key in event}
        return self._safe({**kept, "event": self._active.text(text)}, _LAYOUTS[0])

    def _safe(self, event: object, layout: json.JSONEncoder) -> str | None:
        """Return ``event`` as JSON; None if a value extends over several of its strings, as one that is JSON does."""
        text = layout.encode(event)
        return text if self._is_only_in(_frame_ranges(event, layout), octets(text)) else None

    def _is_safe(self, value: object, layout: json.JSONEncoder) -> bool:
        text = layout.encode(value)
        return self._active.text(text) == text

    def _is_only_in(self, ranges: Sequence[tuple[int, int]], data: bytes) -> bool:
        """Return whether all values in ``data`` are inside of ``ranges``."""
        try:
            matches = find(data, self._active.reversers)
        except Exception:  # noqa: BLE001 - fail closed
            return False
        values = [(start, end) for start, end, label in matches if data[start:end] != label]
        return all(any(first <= start and end <= last for first, last in ranges) for start, end in values)

    def _with_texts(self, event: object, layout: json.JSONEncoder) -> object:
        """Return ``event`` with each entry that shows a value as a whole replaced by its text, reversed."""
        if not isinstance(event, Mapping):
            return self._active.text(layout.encode(event))
        return {
            key: value
            if is_frame(key, value) or self._is_safe(value, layout)
            else self._active.text(layout.encode(value))
            for key, value in event.items()
        }


class FormatterGuard(logging.Formatter):
    """
    Wraps a formatter of the standard library that has no processors.

    Handlers can call more of a formatter than ``format``, as Rich's does, and read its attributes.
    """

    def __init__(self, inner: logging.Formatter | None, active: ActiveReversers) -> None:
        super().__init__()
        held: Mapping[str, Any] = getattr(inner, "__dict__", {})
        for name in held.keys() - dir(FormatterGuard):  # not a method that is an attribute: it would replace ours
            setattr(self, name, held[name])
        self.inner = inner
        self._active = active
        self._made_by: Any = inner if inner is not None else logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        """Return the result of the wrapped formatter, reversed; so do the other methods."""
        return self._active.text(self._made_by.format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - a name of the standard library
        """Return the message alone."""
        return self._active.text(self._made_by.formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - as above
        """Return the text of an exception."""
        return self._active.text(self._made_by.formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - as above
        """Return the text of a stack."""
        return self._active.text(self._made_by.formatStack(stack_info))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - as above
        """Return the time of a record, which a class of its own can write in any way."""
        return self._active.text(str(self._made_by.formatTime(record, datefmt)))

    def usesTime(self) -> bool:  # noqa: N802 - as above
        """Return whether the wrapped formatter shows the time."""
        return bool(self._made_by.usesTime())


class GuardedStream(Generic[AnyStr]):
    """
    Wraps a stream, and writes to it with references in place of values.

    Printed text arrives in pieces, so the last line is held back until it is complete or ``flush`` is called. A line
    that ends with the beginning of a value is held back until the next line.
    Without active reversers, everything passes through at once. Safe to use from several threads, and in a forked
    child, which leaves what was held back to its parent. Writes to the file descriptor that bypass Python are not
    reversed.

    :param inner: the stream
    :param line_end: the end of a line, as the type that the stream accepts
    """

    def __init__(self, inner: Any, active: ActiveReversers, *, line_end: AnyStr) -> None:
        self.inner = inner
        self._methods: Any = inner
        self._active = active
        self._line_end: AnyStr = line_end
        self._below: GuardedStream[bytes] | None = None
        self.forget()
        forget_in_children(self)

    def forget(self) -> None:
        """Begin, also anew in a forked child: another thread of the parent can have been writing, and held the lock."""
        self._lines = StreamReverser()
        self._pending: list[AnyStr] = []
        self._characters = 0
        self._meanwhile: list[AnyStr] = []
        self._is_writing = False
        self._lock = threading.RLock()  # reentrant, since a signal handler can print too

    def take_over(self) -> Callable[[], None]:
        """
        Have the stream itself write through this guard, for code that kept it, as Loguru does; return what ends that.

        Python and its own streams look up both methods by name whenever they need them. Only for a stream that has
        attributes of its own, and no other methods of these names among them.
        """
        self._methods = SimpleNamespace(write=self.inner.write, flush=self.inner.flush)
        replaced = {"write": self.write, "flush": self.flush}
        vars(self.inner).update(replaced)

        def give_back() -> None:
            for name, method in replaced.items():
                if vars(self.inner).get(name) is method:
                    del vars(self.inner)[name]

        return give_back

    def write(self, text: AnyStr) -> int:
        """Write whole lines, and hold back the rest."""
        kept = _kept(text)
        with self._lock:
            if self._is_writing:
                self._meanwhile.append(kept)
            else:
                self._advance(kept)
        return len(kept)

    def writelines(self, lines: Iterable[AnyStr]) -> None:
        """Write each of ``lines``."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what was held back, and flush the stream."""
        self.release()
        self._methods.flush()

    def close(self) -> None:
        """Write what was held back, and close the stream."""
        try:
            self.release()
        finally:
            self.inner.close()

    def release(self) -> None:
        """Write what was held back; within a write, only what a signal handler has written meanwhile."""
        with self._lock:
            if self._is_writing:  # in a signal handler, or in the stream's own method, which flushes it
                self._write_apart()
            else:
                self._advance(self._line_end[:0], is_last=True)
        if self._below is not None:
            self._below.release()

    @property
    def buffer(self) -> GuardedStream[bytes]:
        """The underlying binary stream, guarded too."""
        return self._guard_below(self.inner.buffer)

    @property
    def raw(self) -> GuardedStream[bytes]:
        """The stream below the underlying one, guarded too."""
        return self._guard_below(self.inner.raw)

    def detach(self) -> GuardedStream[bytes]:
        """Separate the underlying stream, and return it, guarded."""
        self.release()
        return self._guard_below(self.inner.detach())

    def _guard_below(self, inner: Any) -> GuardedStream[bytes]:
        if self._below is None or self._below.inner is not inner:
            self._below = GuardedStream(inner, self._active, line_end=b"\n")
        return self._below

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _advance(self, text: AnyStr, *, is_last: bool = False) -> None:
        """
        Write whole lines, and then what comes meanwhile.

        :param is_last: also what is held back
        """
        try:
            self._is_writing = True
            self._emit_meanwhile()  # what came right at the end of the last write
            self._emit(self._take(text), self._lines)
            self._emit_meanwhile()
            if is_last:
                self._emit(self._take_rest(), self._lines)
                self._write(self._lines.flush(self._active.reversers))
        finally:
            self._is_writing = False

    def _emit_meanwhile(self) -> None:
        while self._meanwhile:
            self._emit(self._take(self._meanwhile.pop(0)), self._lines)

    def _write_apart(self) -> None:
        meanwhile, self._meanwhile = self._meanwhile, []
        lines = StreamReverser()
        self._emit(self._line_end[:0].join(meanwhile), lines)
        self._write(lines.flush(self._active.reversers))

    def _take_rest(self) -> AnyStr:
        rest, self._pending = self._line_end[:0].join(self._pending), []
        self._characters = 0
        return rest

    def _take(self, text: AnyStr) -> AnyStr:
        """Hold back ``text``, and return what can be written now."""
        nothing = self._line_end[:0]
        is_line = self._line_end in text
        self._pending.append(text)
        self._characters += len(text)
        if self._active and not is_line and self._characters < LONGEST_LINE:
            return nothing
        kept = nothing.join(self._pending)
        end = kept.rfind(self._line_end) + 1
        if not self._active or len(kept) - end >= LONGEST_LINE:
            end = len(kept)
        self._pending, self._characters = [kept[end:]], len(kept) - end
        return kept[:end]

    def _emit(self, text: AnyStr, lines: StreamReverser) -> None:
        reversers = self._active.reversers
        if not reversers:
            self._write(lines.flush(()))
        if text and not reversers:
            self._methods.write(text)
        elif text:
            self._write(lines.feed(octets(text) if isinstance(text, str) else bytes(text), reversers))

    def _write(self, shown: bytes) -> None:
        if shown:
            self._methods.write(shown.decode("utf-8", "surrogatepass") if isinstance(self._line_end, str) else shown)


def _kept(text: Any) -> Any:
    """Return what can be held back: a copy of a buffer, such as a bytearray, which its owner can fill anew."""
    return text if isinstance(text, str | bytes) else bytes(memoryview(text))


def is_frame(key: object, value: object) -> bool:
    """
    Return whether an entry says when something was logged, or how severe it is.

    The supervisor drops an event whose level it does not know, and ends at a time that it cannot read.
    """
    if key == "timestamp":
        return type(value) is datetime or (type(value) is str and _TIME.fullmatch(value) is not None)
    return key == "level" and type(value) is str and value in _LEVELS


def _frame_ranges(event: object, layout: json.JSONEncoder) -> list[tuple[int, int]]:
    """Return where ``event`` as JSON has its time and level, and names of entries that any event has, in bytes."""
    ranges: list[tuple[int, int]] = []
    if not isinstance(event, Mapping):
        return ranges
    place = len("{")
    for key, value in event.items():
        for part, is_framing, separator in (
            (key, key in _NAMES, layout.key_separator),
            (value, is_frame(key, value), layout.item_separator),
        ):
            end = place + len(octets(layout.encode(part)))
            ranges += [(place, end)] if is_framing else []
            place = end + len(separator)
    return ranges


def with_exception_as_text(event: Any) -> Any:
    """Render the event's exception as text, which can be reversed and to which no renderer adds local variables."""
    if not isinstance(event, Mapping) or not event.get("exc_info"):
        return event
    rest = {key: value for key, value in event.items() if key != "exc_info"}
    exception = _exception(event["exc_info"])
    if exception is None:
        return rest
    return {"exception": "".join(traceback.format_exception(exception)).rstrip("\n"), **rest}


def _exception(exc_info: object) -> BaseException | None:
    """Return the exception in ``exc_info``, as logging reads it: an exception, a tuple, or true for the current one."""
    if isinstance(exc_info, tuple):
        exc_info = exc_info[1]
    return exc_info if isinstance(exc_info, BaseException) else sys.exception()


GuardedFormatter = Callable[[logging.Handler, Any], Any]
"""Returns what a handler formats with in place of a formatter."""


def guard_formatter(handler: logging.Handler, guarded: GuardedFormatter) -> None:
    """Have ``handler`` format with what ``guarded`` returns in place of its formatter."""
    formatter = handler.formatter
    guard = guarded(handler, formatter)
    if guard is not formatter:  # else another thread could have set one meanwhile, which would be lost
        handler.formatter = guard


class SetterGuard:
    """
    Takes the place of a handler's ``setFormatter``, so that no line is formatted without a guard.

    :param guarded: returns what a handler formats with in place of a formatter
    """

    __slots__ = ("_guarded", "_handler", "inner")

    def __init__(self, handler: logging.Handler, guarded: GuardedFormatter) -> None:
        self.inner: Callable[[logging.Formatter | None], Any] = handler.setFormatter
        self._handler = handler
        self._guarded = guarded

    def __call__(self, fmt: logging.Formatter | None) -> None:  # noqa: D102 - the class says it
        self.inner(self._guarded(self._handler, fmt))
        guard_formatter(self._handler, self._guarded)  # a class of others can have made its own


class FactoryGuard:
    """
    Wraps structlog's factory of loggers, so that processors which were configured meanwhile are guarded, too.

    A logger asks the factory before it takes the processors. Those of a task can write to Airflow's own channel.
    The factory is called as if by the logger itself: that of the standard library names a logger after its caller.

    :param guard: guards the configured processors
    """

    __slots__ = ("_guard", "inner")

    def __init__(self, inner: Callable[..., Any], guard: Callable[[], object]) -> None:
        self.inner = inner
        self._guard = guard

    @property
    def __call__(self) -> Callable[..., Any]:
        """The factory itself, which Python calls when a logger calls this, so that no caller comes in between."""
        self._guard()
        return self.inner


class RecordGuard:
    """Takes the place of a handler's ``emit``, and passes it a copy of each record with references."""

    __slots__ = ("_active", "_handler", "inner")

    def __init__(self, handler: logging.Handler, active: ActiveReversers) -> None:
        self.inner: Callable[[logging.LogRecord], Any] = handler.emit
        self._handler = handler
        self._active = active

    def __call__(self, record: logging.LogRecord, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - the class says it
        try:
            shown = self._shown(record) if self._active else record
        except Exception:  # noqa: BLE001 - arguments that do not fit the message, as in any handler
            return self._handler.handleError(record)
        return self.inner(shown, *args, **kwargs)

    def _shown(self, record: logging.LogRecord) -> logging.LogRecord:
        held = _as_text(record)
        entries = {key: self._reversed_entry(key, value) for key, value in held.items()}
        is_same = all(name is key and held[key] is value for key, (name, value) in entries.items())
        if is_same and self._active.value(record.args) is record.args:
            if not _has_exception(record):
                return record
            if isinstance(record.msg, str) and type(record).getMessage is logging.LogRecord.getMessage:
                entries |= {name: (name, getattr(record, name)) for name in ("msg", "args")}
        shown = logging.LogRecord.__new__(logging.LogRecord)  # a class of others can change the message once more
        vars(shown).update(entries.values())
        return shown

    def _reversed_entry(self, key: str, value: object) -> tuple[Any, object]:
        if key == "levelname" or (key in _OF_ANY and isinstance(value, int | float)):
            return key, value
        return key if key in _OF_ANY else self._active.value(key), self._active.value(value)


def keeps_records(handler: logging.Handler) -> bool:
    """Return whether ``handler`` keeps or sends records, and is not guarded yet."""
    module = sys.modules.get("logging.handlers")  # slow to import; without it, there is no such handler
    kinds = attrgetter(*_KINDS)(module) if module else ()
    return isinstance(handler, kinds) and not isinstance(handler.emit, RecordGuard)


def _has_exception(record: logging.LogRecord) -> bool:
    """Return whether a renderer could show the local variables of an exception, which can be values."""
    return bool(record.exc_info or (isinstance(record.msg, Mapping) and record.msg.get("exc_info")))


def _as_text(record: logging.LogRecord) -> dict[str, Any]:
    """Return the attributes of ``record``, with its message and its exception as text."""
    held = dict(vars(record))
    if isinstance(record.msg, str):
        held |= {"msg": record.getMessage(), "args": None}
    else:  # an event of structlog
        held["msg"] = with_exception_as_text(record.msg)
    if "exception" in (shown := with_exception_as_text({"exc_info": record.exc_info})):
        held |= {"exc_info": None, "exc_text": shown["exception"]}
    return held
