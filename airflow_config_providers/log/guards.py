"""Parts of a logging chain that let only references through."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_config_providers.log.active import ActiveReversers

Processor = Callable[[Any, str, Any], Any]
"""A part of structlog's chain: logger, name of the method, and the event or what became of it."""

_NEEDED_AS_OBJECTS: Final = frozenset({"_record", "exc_info"})
"""Entries of an event that later processors read and that are not shown themselves."""


class MessageGuard:
    """
    Stands for a processor and gives it the event with references in place of values.

    It takes the place of the processor, and is not put in front of it, so that a thread that is on its way
    through the list neither skips a processor nor meets one twice.
    """

    __slots__ = ("_active", "inner")

    def __init__(self, inner: Processor, active: ActiveReversers) -> None:
        self.inner = inner
        self._active = active

    def __call__(self, logger: Any, name: str, event: Any) -> Any:  # noqa: D102 - the class says it
        return self.inner(logger, name, self._reversed(event) if self._active else event)

    def _reversed(self, event: Any) -> Any:
        """Reverse entry by entry, so that one that cannot be checked does not take the others with it."""
        if not isinstance(event, Mapping):
            return self._active.value(event)
        return {
            self._active.value(key): value if key in _NEEDED_AS_OBJECTS else self._active.value(value)
            for key, value in event.items()
        }


class RenderGuard(MessageGuard):
    """
    Stands for the renderer: turns exceptions into text before it, and looks at what it gives.

    A renderer may show more of an object than its text form does, for example the fields of a dataclass.
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
        """Reverse inside the JSON, so that it stays JSON; None where it is none."""
        try:
            event = json.loads(rendered)
        except (ValueError, RecursionError):
            return None
        text = json.dumps(self._active.value(event), ensure_ascii=False)
        return text if isinstance(rendered, str) else text.encode("utf-8", "replace")


class FormatterGuard(logging.Formatter):
    """Stands for a formatter of the standard library that is not made of processors."""

    def __init__(self, inner: logging.Formatter | None, active: ActiveReversers) -> None:
        super().__init__()
        self.inner = inner
        self._active = active

    def format(self, record: logging.LogRecord) -> str:
        """Format as the guarded formatter does, and reverse."""
        formatter = self.inner if self.inner is not None else logging.Formatter()
        return self._active.text(formatter.format(record))


def _with_exception_as_text(event: Any) -> Any:
    """Render a pending exception here: its text can be searched, and no renderer adds local variables to it."""
    if not isinstance(event, Mapping) or not event.get("exc_info"):
        return event
    rest = {key: value for key, value in event.items() if key != "exc_info"}
    exception = _exception(event["exc_info"])
    return rest if exception is None else {"exception": _traceback(exception), **rest}


def _exception(exc_info: object) -> BaseException | None:
    """Read ``exc_info`` as logging does: an exception, a tuple with one in its middle, or the one being handled."""
    if isinstance(exc_info, tuple):
        exc_info = exc_info[1]
    return exc_info if isinstance(exc_info, BaseException) else sys.exception()


def _traceback(exception: BaseException) -> str:
    return "".join(traceback.format_exception(exception)).rstrip("\n")
