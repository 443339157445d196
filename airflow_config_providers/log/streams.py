"""Standard output and standard error with references in place of values."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, AnyStr, Generic

from airflow_config_providers.core.reversal.stream import LONGEST_LINE, StreamReverser
from airflow_config_providers.core.text import octets
from airflow_config_providers.log.active import ActiveReversers


class GuardedStream(Generic[AnyStr]):
    """
    Wraps a stream, and writes to it with references in place of values.

    Printed text arrives in pieces, so the last line is held back until it is complete or ``flush`` is called. A line
    that ends with the beginning of a value is held back until the next line.
    Without active reversers, everything passes through at once. Safe to use from several threads. Writes to the file
    descriptor that bypass Python are not reversed.

    :param inner: the stream
    :param line_end: the end of a line, as the type that the stream accepts
    """

    def __init__(self, inner: Any, active: ActiveReversers, *, line_end: AnyStr) -> None:
        self.inner = inner
        self._active = active
        self._line_end: AnyStr = line_end
        self._lines = StreamReverser()
        self._pending: list[AnyStr] = []
        self._characters = 0
        self._lock = threading.RLock()  # reentrant, since a signal handler can print too
        self._buffer: GuardedStream[bytes] | None = None

    def write(self, text: AnyStr) -> int:
        """Write whole lines, and hold back the rest."""
        with self._lock:
            self._emit(self._take(text))
        return len(text)

    def writelines(self, lines: Iterable[AnyStr]) -> None:
        """Write each of ``lines``."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what was held back, and flush the stream."""
        self.release()
        self.inner.flush()

    def release(self) -> None:
        """Write what was held back."""
        with self._lock:
            ready, self._pending = self._line_end[:0].join(self._pending), []
            self._characters = 0
            self._emit(ready)
            self._write(self._lines.flush(self._active.reversers))
        if self._buffer is not None:
            self._buffer.release()

    @property
    def buffer(self) -> GuardedStream[bytes]:
        """The underlying binary stream, guarded too."""
        if self._buffer is None:
            binary = self.inner.buffer
            self._buffer = GuardedStream(binary, self._active, line_end=b"\n")
        return self._buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

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

    def _emit(self, text: AnyStr) -> None:
        reversers = self._active.reversers
        if not reversers:
            self._write(self._lines.flush(()))
        if text and not reversers:
            self.inner.write(text)
        elif text:
            self._write(self._lines.feed(octets(text) if isinstance(text, str) else bytes(text), reversers))

    def _write(self, shown: bytes) -> None:
        if shown:
            self.inner.write(shown.decode("utf-8", "surrogatepass") if isinstance(self._line_end, str) else shown)
