"""Logins that failed and are not repeated, so that this process locks no user out."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Self, cast

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.logins.login import Login
    from airflow_config_providers.providers.vault.settings import VaultSettings

SECONDS_AFTER_A_REFUSAL: Final = 16 * 60.0
"""Vault locks a user at the fifth failed login, and restarts its count after 15 minutes without one."""

_SECONDS_AFTER_A_FAILURE: Final = 60.0
_MOST_KEPT: Final = 1024
"""The most logins of which attempts are kept."""

_TURNS: Final = 64
"""How many locks the logins share."""

_SECONDS_AFTER_LOST_ONES: Final = (8.0, 120.0, SECONDS_AFTER_A_REFUSAL)
"""
How long a login is not sent after its first, second and third lost answer in a row; each might have been a refusal.

The retries of one resolve last longer than the first pause. Vault locks a user at the fifth failure, and restarts its
count after 15 minutes without one. These are three failures at most, and a test of the connection between them is a
fourth; after the last pause Vault has restarted its count. So this process alone locks no user out.
"""
_SECONDS_AFTER_LOST_ONES_IF_PROVEN: Final = (8.0, 60.0)
"""For a login that worked before: Vault is unlikely to count failures, but can count the uses of its secret."""
_SECONDS_BETWEEN_CHECKS: Final = 60.0
"""One check of many providers tries each login once."""


@dataclass(frozen=True, slots=True)
class LoginRefusal:
    """
    A failure that another try would only repeat, until some time has passed or the credentials have changed.

    :param of: what was refused
    :param until: by the session's clock
    """

    error: ProviderLookupError
    of: object = field(repr=False)
    until: float

    @classmethod
    def of_login(cls, error: ProviderLookupError, *, of: object, now: float) -> Self | None:
        """Return what to remember of a login that failed; None if it may succeed the next time."""
        if isinstance(error, ProviderUnavailableError):
            return None
        denied = isinstance(error, AccessDeniedError)
        return cls(error.again(), of=of, until=now + (SECONDS_AFTER_A_REFUSAL if denied else _SECONDS_AFTER_A_FAILURE))

    def raise_at(self, now: float, *, of: object) -> None:
        """
        Require that this was not refused recently.

        :raises ProviderLookupError: an equal error
        """
        if now < self.until and of == self.of:
            raise self.error.again()


@dataclass(frozen=True, slots=True)
class _Record:
    """
    What is known of one login.

    :param until: when all this is forgotten, by the clock of the sessions
    :param error: why it is not tried; None if it may be
    :param paused_until: when it may be tried again after the error
    :param lost: how many answers to it were lost
    :param is_proven: whether Vault accepted it in its last answer
    :param forgiven: when it was tried again for a check; None for never
    """

    until: float = 0.0
    error: ProviderLookupError | None = None
    paused_until: float = 0.0
    lost: int = 0
    is_proven: bool = False
    forgiven: float | None = None

    def at(self, now: float) -> _Record:
        """Return what is still true of it."""
        return self if now < self.until else _Record(is_proven=self.is_proven)

    def error_at(self, now: float) -> ProviderLookupError | None:
        """Return an equal error, with the time to wait if another try may then help; None if it may be tried now."""
        if self.error is None or now >= self.paused_until:
            return None
        if isinstance(self.error, ProviderUnavailableError):
            return ProviderUnavailableError(*self.error.problems, retry_after=self.paused_until - now)
        return self.error.again()

    @property
    def pause(self) -> float:
        """The seconds without a try after so many lost answers."""
        pauses = _SECONDS_AFTER_LOST_ONES_IF_PROVEN if self.is_proven else _SECONDS_AFTER_LOST_ONES
        return pauses[min(self.lost, len(pauses)) - 1]


class LoginAttempts:
    """
    The logins of all sessions that Vault refused or did not answer. Thread-safe; contains no secret.

    A forked child knows what its parent knew: Vault counts the failures of a user, not those of a process.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._records: dict[bytes, _Record] = {}
        self.forget_threads()

    def forget_threads(self) -> None:
        """In a forked child: replace the locks, which threads can hold that do not exist here."""
        self._lock = threading.Lock()
        self._turns = tuple(threading.Lock() for _ in range(_TURNS))

    def key(self, settings: VaultSettings, login: Login) -> bytes:
        """
        Return a digest of place, identity and credentials of a login; each process has its own.

        :param login: as ``Login.read`` returns it
        """
        parts = settings.url, settings.login_namespace, type(login).__name__, astuple(cast("Any", login))
        return blake2b(repr(parts).encode("utf-8"), key=self._secret).digest()  # OpenSSL can hang in a forked child

    @contextmanager
    def turn(self, key: bytes, *, seconds: float) -> Iterator[None]:
        """
        Wait while another session signs in with the same credentials, so that a refusal is known.

        :raises ProviderUnavailableError: it still does after so many seconds
        """
        turn = self._turns[key[0] % _TURNS]
        if not turn.acquire(timeout=seconds):
            raise ProviderUnavailableError(
                "Another provider is signing in with the same credentials and has no answer yet. Try again later."
            )
        try:
            yield
        finally:
            turn.release()

    def check(self, key: bytes, *, now: float) -> None:
        """
        Require a login that was not recently refused, and whose answer was not recently lost.

        :raises AccessDeniedError: an equal error to that of the refusal
        :raises ProviderUnavailableError: Vault might have refused it; says when it may be sent again
        """
        record = self._records.get(key)
        error = None if record is None else record.at(now).error_at(now)
        if error is not None:
            raise error

    def refused(self, key: bytes, error: AccessDeniedError, *, now: float) -> None:
        """Remember that Vault refused a login."""
        until = now + SECONDS_AFTER_A_REFUSAL
        self._change(key, now, lambda record: replace(record, error=error.again(), paused_until=until, is_proven=False))

    def lost(self, key: bytes, error: Callable[[float], ProviderUnavailableError], *, now: float) -> None:
        """
        Remember that the answer to a login was lost, which Vault might have refused.

        :param error: returns the error for a pause of so many seconds
        """

        def change(record: _Record) -> _Record:
            new = replace(record, lost=record.lost + 1)
            return replace(new, error=error(new.pause), paused_until=now + new.pause)

        self._change(key, now, change)

    def accepted(self, key: bytes, *, now: float) -> None:
        """Forget failures of a login that works."""
        self._change(key, now, lambda _: _Record(is_proven=True))

    def forgive(self, key: bytes, *, now: float) -> None:
        """Allow one more try of a login, for a user who asks for its state; at most once a minute."""
        record = self._records.get(key)
        if record is None or (record.forgiven is not None and now - record.forgiven < _SECONDS_BETWEEN_CHECKS):
            return
        self._change(key, now, lambda record: replace(record, error=None, forgiven=now))

    def _change(self, key: bytes, now: float, change: Callable[[_Record], _Record]) -> None:
        with self._lock:
            new = change(self._records.pop(key, _Record()).at(now))
            kept = _SECONDS_AFTER_LOST_ONES_IF_PROVEN[-1] if new.is_proven else SECONDS_AFTER_A_REFUSAL
            self._records[key] = replace(new, until=now + kept)
            for oldest in list(self._records)[:-_MOST_KEPT]:
                del self._records[oldest]
