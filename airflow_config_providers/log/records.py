"""Guards of handlers that keep or send records, which others format later, or in another process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.log.guards import with_exception_as_text

_KINDS: Final = ("BufferingHandler", "HTTPHandler", "QueueHandler", "SocketHandler")
"""The handlers of ``logging.handlers`` that hand on a record as it is; others are below them."""

_OF_ANY: Final = frozenset(vars(logging.makeLogRecord({})))
"""The attributes of every record. Formats rely on those that are numbers."""


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
