"""How a session signs in, without repeating a login that was refused, and our errors for a login that failed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Self, cast

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.transport import is_limit, retry_after

if TYPE_CHECKING:
    import hvac
    import requests

    from airflow_config_providers.core.concurrency.timetable import Clock
    from airflow_config_providers.providers.vault.logins.login import Login, VaultToken
    from airflow_config_providers.providers.vault.settings import VaultSettings
    from airflow_config_providers.providers.vault.transport import Breakers, Clients

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

_GATEWAY_TIMEOUT: Final = 504
"""The status of a proxy that forwarded a request and got no answer."""
_TURNS_TO_WAIT: Final = 2
"""How many logins without an answer a session waits for before its own."""

LOGIN_REFUSALS: Final = frozenset({400, 401, 403})
"""Statuses with which Vault refuses a login, whatever else its answer holds."""
_NO_LOGIN: Final = "missing client token"
"""What older versions of Vault say, with status 400, about a path where no one signs in; newer ones say 403."""
_USUAL_PLACES: Final[Mapping[str, str]] = {"aws_iam": "aws"}
"""Method -> where it is usually mounted, if that has another name."""


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


@dataclass(slots=True, repr=False, eq=False)
class SigningIn:
    """Signs in for one session, one thread at a time; ``attempts`` is what all sessions know of failed logins."""

    settings: VaultSettings
    clock: Clock
    clients: Clients
    breakers: Breakers
    attempts: LoginAttempts
    _refusal: LoginRefusal | None = field(default=None, init=False)

    def token(self) -> VaultToken:
        """
        Sign in, but not with credentials that were recently refused: a few refusals lock a Vault user everywhere.

        :raises ProviderLookupError: the login was refused, now or before, or Vault cannot be asked
        """
        login = self.settings.login.read()
        key = self.attempts.key(self.settings, login)
        patience = _TURNS_TO_WAIT * self.settings.timeout
        with self.attempts.turn(key, seconds=patience) if login.can_lock_out else nullcontext():
            self.attempts.check(key, now=self.clock())
            if self._refusal is not None:
                self._refusal.raise_at(self.clock(), of=key)
            return self._sign_in_once(login, key)

    def forgive(self) -> None:
        """Allow another try after a refusal, for a user who asks for the current state."""
        self._refusal = None
        with suppress(ProviderLookupError):  # a file that is missing for a moment does not matter while we hold a token
            key = self.attempts.key(self.settings, self.settings.login.read())
            self.attempts.forgive(key, now=self.clock())

    def _sign_in_once(self, login: Login, key: bytes) -> VaultToken:
        attempt = LoginTry(login, self.clients.new_for_login(), where=self.settings.where)
        try:
            with self.breakers.watching("login", ProviderUnavailableError, is_limit=attempt.is_limit):
                problem = partial(_problem, self.settings.login, attempt)
                token = faults.translated(attempt.run, where=self.settings.where, of=problem)
        except ProviderLookupError as error:
            self._remember(error, key, attempt)
            raise
        finally:
            attempt.close()
        self.attempts.accepted(key, now=self.clock())
        return token

    def _remember(self, error: ProviderLookupError, key: bytes, attempt: LoginTry) -> None:
        now = self.clock()
        if attempt.is_lost:
            unanswered = partial(unanswered_login, self.settings.login, self.settings.where)
            self.attempts.lost(key, unanswered, now=now)
        elif attempt.is_refused and isinstance(error, AccessDeniedError):
            self.attempts.refused(key, error, now=now)
        else:
            self._refusal = LoginRefusal.of_login(error, of=key, now=now)


class LoginTry:
    """
    Signs in once, and sees Vault's answer, which hvac does not show.

    :param login: as ``Login.read`` returns it
    :param client: made for this login; sends requests only to Vault
    :param where: the name of the Vault in errors
    :ivar is_lost: whether Vault might have counted a failure of this login, and its answer did not reach us
    """

    def __init__(self, login: Login, client: hvac.Client, *, where: str) -> None:
        self._login = login
        self._where = where
        self._client = client
        self._last: requests.Response | None = None
        self.is_lost = False
        client.adapter.session.hooks["response"].append(self._see)

    def run(self) -> VaultToken:
        """Sign in; raises the errors of the login, or says that a proxy wants one."""
        try:
            return self._login(self._client)
        except Exception as error:
            self.is_lost = self._login.can_lock_out and self._is_answer_lost(error)
            faults.check_proxy(self.status, where=self._where)
            raise

    @property
    def status(self) -> int:
        """The status of Vault's last answer, which hvac does not always show; 0 without one."""
        return 0 if self._last is None else self._last.status_code

    @property
    def is_refused(self) -> bool:
        """Whether Vault refused the failed login, and would refuse it again."""
        return self._login.has_proof and self.status in LOGIN_REFUSALS

    def is_limit(self) -> bool:
        """Return whether Vault had too many logins."""
        return self._last is not None and is_limit(self._last)

    def retry_after(self) -> float | None:
        """Return the seconds before which Vault wanted no further request when it answered."""
        return None if self._last is None else retry_after(self._last)

    def close(self) -> None:
        """Close the connections."""
        self._client.adapter.close()

    def _is_answer_lost(self, error: Exception) -> bool:
        """Return whether it is unknown if Vault refused the login; an answer with an error status decides."""
        if self._last is None or self._last.ok:
            return faults.is_answer_lost(error)
        return self._last.status_code == _GATEWAY_TIMEOUT

    def _see(self, response: requests.Response, **_: Any) -> None:
        self._last = response


def _problem(login: Login, attempt: LoginTry, error: Exception, where: str) -> ConfigProvidersError:
    """Return our error for what a login raised; if Vault refused it, hvac need not have read the rest of the answer."""
    status = attempt.status
    if status in LOGIN_REFUSALS:
        return _refused(error, status, login, where)
    if status == 404:
        return ProviderLookupError(f"{where} knows no login {_named(login)} (status 404). {_unmounted(login)}")
    if status >= 400:
        return faults.unavailable(status, where, attempt.retry_after())
    return faults.of_library(error, where)


def unanswered_login(login: Login, where: str, pause: float) -> ProviderUnavailableError:
    """Return the error for a login that is not sent for ``pause`` seconds: the last answer to it was lost."""
    shown = f"{pause:g} seconds" if pause <= 60 else f"{pause / 60:g} minutes"
    return ProviderUnavailableError(
        f"{where} did not answer the login {_named(login)}. If it refuses this login, a few more attempts lock the "
        f"user out, so this process waits for up to {shown} before it sends it again. Check that Vault answers in "
        f"time, or raise {faults.TIMEOUT}."
    )


def _refused(error: Exception, status: int, login: Login, where: str) -> AccessDeniedError:
    """Return the error for a refusal; if Vault refused the path and not the credentials, it names the mount."""
    is_of_login = status == 400 and _NO_LOGIN not in (getattr(error, "errors", None) or ())
    check = "Check the role and its credentials." + ("" if is_of_login else f" {_unmounted(login)}")
    return AccessDeniedError(
        f"{where} refused the login {_named(login)} (status {status}). {check} To avoid locking the user "
        f"out, this process does not try it again for {SECONDS_AFTER_A_REFUSAL / 60:g} minutes."
    )


def _named(login: Login) -> str:
    method, mount = _method_and_mount(login)
    return f"by {method} at '{printable(mount)}'" if mount else f"by {method}"


def _unmounted(login: Login) -> str:
    method, mount = _method_and_mount(login)
    return (
        f"Perhaps nothing is mounted at 'auth/{printable(mount or _USUAL_PLACES.get(method, method))}': set "
        f"auth_mount_point to a path that 'vault auth list' shows, without 'auth/', and auth_namespace to its "
        f"namespace."
    )


def _method_and_mount(login: Login) -> tuple[str, str]:
    method = getattr(login, "method", "") or type(login).__name__.removesuffix("Login").lower()
    return method, getattr(login, "mount_point", "")
