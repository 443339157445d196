"""Stops requests to a server that is down, and to a mount that has too many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.exceptions import ProviderLookupError, ProviderUnavailableError

_FAILURES: Final = 3
"""How many requests in a row fail before the next ones are not sent."""
_PAUSE: Final = 1.0
"""Seconds until one request finds out whether the server is back."""
_LONGEST_PAUSE: Final = 60.0
"""The most seconds without a request, whatever the server asks for."""


class Breaker:
    """
    Fails requests at once while a server is known to be down, with the last error. Thread-safe.

    :param clock: seconds, monotonic
    :param failures: how many requests in a row fail before the next ones are not sent
    """

    def __init__(self, clock: Callable[[], float], *, failures: int = _FAILURES) -> None:
        self._clock = clock
        self._most = failures
        self._lock = threading.Lock()
        self._failures = 0
        self._error: ProviderLookupError | None = None
        self._until = 0.0

    @contextmanager
    def watching(self, failure: type[ProviderLookupError]) -> Iterator[None]:
        """
        Watch a request, which is made in the block.

        :param failure: the error of the block if the server is the problem, and not what was asked
        :raises ProviderLookupError: the server is down, and the request must not be sent
        """
        self.refuse()
        try:
            yield
        except failure as error:
            self.note(error)
            raise
        self.reset()

    def refuse(self) -> None:
        """
        Require that a request may be sent.

        :raises ProviderLookupError: the server is down
        """
        with self._lock:
            if self._error is None:
                return
            now = self._clock()
            if now < self._until:
                raise self._error.again()
            self._until = now + _PAUSE  # this request finds out, and the others wait for it

    def note(self, error: ProviderLookupError) -> None:
        """Count a failure; stop at once if another request cannot help, as with a wrong address or a retry time."""
        retry_after = error.retry_after if isinstance(error, ProviderUnavailableError) else 0.0
        with self._lock:
            self._failures += 1
            if self._failures >= self._most or retry_after is not None:
                pause = min(retry_after or _PAUSE, _LONGEST_PAUSE)
                self._error, self._until = error.again(), self._clock() + pause

    def reset(self) -> None:
        """Let every request pass: the server has answered."""
        with self._lock:
            self._failures, self._error = 0, None


class Breakers:
    """
    The breaker of a server, and one for each of its mounts, which have their own limits. Thread-safe.

    :param clock: seconds, monotonic
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._server = Breaker(clock)
        self._mounts: dict[str, Breaker] = {}

    @contextmanager
    def watching(
        self, mount: str, failure: type[ProviderLookupError], *, is_limit: Callable[[], bool]
    ) -> Iterator[None]:
        """
        Watch a request to ``mount``, as ``Breaker.watching`` does.

        :param is_limit: returns whether the block failed because the mount has too many requests: the server is up
        """
        limit = self._mounts.setdefault(mount, Breaker(self._clock))
        limit.refuse()
        self._server.refuse()
        try:
            yield
        except failure as error:
            if not is_limit():
                self._server.note(error)
                raise
            limit.note(error)
            self._server.reset()
            raise
        limit.reset()
        self._server.reset()
