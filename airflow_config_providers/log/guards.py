"""Parts of a logging chain that replace values by references."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_config_providers.log.active import ActiveReversers

Processor = Callable[[Any, str, Any], Any]
"""A part of structlog's chain. It takes the logger, the name of the method, and the event or its previous result."""

_NEEDED_AS_OBJECTS: Final = frozenset({"_record", "exc_info"})
"""Entries of an event that later processors need unchanged, and that are not shown themselves."""


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
        return {
            self._active.value(key): value if key in _NEEDED_AS_OBJECTS else self._active.value(value)
            for key, value in event.items()
        }


class RenderGuard(MessageGuard):
    """
    Wraps the renderer: turns exceptions into text before it, and reverses its result.

    A renderer can show more of an object than its ``str()`` does, for example the fields of a dataclass.
    """

    __slots__ = ()

    def __call__(self, logger: Any, name: str, event: Any) -> Any:  # noqa: D102 - the class says it
        if not self._active:
            return self.inner(logger, name, event)
        return self._checked(self.inner(logger, name, self._reversed(_with_exception_as_text(event))))

    def _checked(self, rendered: Any) -> Any:
        if not isinstance(rendered, str | bytes | bytearray):
            return rendered
        hidden = self._active.value(rendered)
        return rendered if hidden == rendered else self._checked_json(rendered) or hidden

    def _checked_json(self, rendered: str | bytes | bytearray) -> str | bytes | None:
        """Return JSON with its strings reversed, so that it stays valid; None if ``rendered`` is not JSON."""
        try:
            event = json.loads(rendered)
        except (ValueError, RecursionError):
            return None
        text = json.dumps(self._active.value(event), ensure_ascii=False)
        return text if isinstance(rendered, str) else text.encode("utf-8", "replace")


class FormatterGuard(logging.Formatter):
    """Wraps a formatter of the standard library that has no processors."""

    def __init__(self, inner: logging.Formatter | None, active: ActiveReversers) -> None:
        super().__init__()
        self.inner = inner
        self._active = active

    def format(self, record: logging.LogRecord) -> str:
        """Return the result of the wrapped formatter, reversed."""
        formatter = self.inner if self.inner is not None else logging.Formatter()
        return self._active.text(formatter.format(record))


def _with_exception_as_text(event: Any) -> Any:
    """Render the event's exception as text, which can be reversed and to which no renderer adds local variables."""
    if not isinstance(event, Mapping) or not event.get("exc_info"):
        return event
    rest = {key: value for key, value in event.items() if key != "exc_info"}
    exception = _exception(event["exc_info"])
    return rest if exception is None else {"exception": _traceback(exception), **rest}


def _exception(exc_info: object) -> BaseException | None:
    """Return the exception in ``exc_info``, as logging reads it: an exception, a tuple, or true for the current one."""
    if isinstance(exc_info, tuple):
        exc_info = exc_info[1]
    return exc_info if isinstance(exc_info, BaseException) else sys.exception()


def _traceback(exception: BaseException) -> str:
    return "".join(traceback.format_exception(exception)).rstrip("\n")
