"""How a session signs in, without repeating a login that was refused."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.faults import is_answer_lost
from airflow_config_providers.providers.vault.logins.attempts import Refusal
from airflow_config_providers.providers.vault.logins.faults import LOGIN_REFUSALS, translated_login, unanswered_login
from airflow_config_providers.providers.vault.transport import is_limit, retry_after

if TYPE_CHECKING:
    import hvac
    import requests

    from airflow_config_providers.providers.vault.breaker import Breakers
    from airflow_config_providers.providers.vault.logins.attempts import LoginAttempts
    from airflow_config_providers.providers.vault.logins.base import Login, VaultToken
    from airflow_config_providers.providers.vault.renewal import Clock
    from airflow_config_providers.providers.vault.settings import VaultSettings
    from airflow_config_providers.providers.vault.transport import Clients

_GATEWAY_TIMEOUT: Final = 504
"""The status of a proxy that forwarded a request and got no answer."""
_TURNS_TO_WAIT: Final = 2
"""How many logins without an answer a session waits for before its own."""


class SigningIn:
    """
    Signs in for one session, one thread at a time.

    :param attempts: what all sessions of the process know about failed logins
    """

    def __init__(
        self,
        settings: VaultSettings,
        *,
        clock: Clock,
        clients: Clients,
        breakers: Breakers,
        attempts: LoginAttempts,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._clients = clients
        self._breakers = breakers
        self._attempts = attempts
        self._refusal: Refusal | None = None

    def token(self) -> VaultToken:
        """
        Sign in, but not with credentials that were recently refused: a few refusals lock a Vault user everywhere.

        :raises ProviderLookupError: the login was refused, now or before, or Vault cannot be asked
        """
        login = self._settings.login.read()
        key = self._attempts.key(self._settings, login)
        patience = _TURNS_TO_WAIT * self._settings.timeout
        with self._attempts.turn(key, seconds=patience) if login.can_lock_out else nullcontext():
            self._attempts.check(key, now=self._clock())
            if self._refusal is not None:
                self._refusal.raise_at(self._clock(), of=key)
            return self._asked(login, key)

    def forgive(self) -> None:
        """Allow another try after a refusal, for a user who asks for the current state."""
        self._refusal = None
        with suppress(ProviderLookupError):  # a file that is missing for a moment does not matter while we hold a token
            key = self._attempts.key(self._settings, self._settings.login.read())
            self._attempts.forgive(key, now=self._clock())

    def _asked(self, login: Login, key: bytes) -> VaultToken:
        attempt = LoginTry(login, self._clients.new_for_login())
        try:
            with self._breakers.watching("login", ProviderUnavailableError, is_limit=attempt.is_limit):
                token = translated_login(
                    attempt.run,
                    login=self._settings.login,
                    where=self._settings.where,
                    refusal=attempt.refusal,
                    retry_after=attempt.retry_after,
                )
        except ProviderLookupError as error:
            self._remember(error, key, attempt)
            raise
        finally:
            attempt.close()
        self._attempts.accepted(key, now=self._clock())
        return token

    def _remember(self, error: ProviderLookupError, key: bytes, attempt: LoginTry) -> None:
        now = self._clock()
        if attempt.is_lost:
            unanswered = partial(unanswered_login, self._settings.login, self._settings.where)
            self._attempts.lost(key, unanswered, now=now)
        elif attempt.is_refused and isinstance(error, AccessDeniedError):
            self._attempts.refused(key, error, now=now)
        else:
            self._refusal = Refusal.of_login(error, of=key, now=now)


class LoginTry:
    """
    Signs in once, and sees Vault's answer, which hvac does not show.

    :param login: as ``Login.read`` returns it
    :param client: made for this login; sends requests only to Vault
    :ivar is_lost: whether Vault may have counted a failure of this login, and its answer did not reach us
    """

    def __init__(self, login: Login, client: hvac.Client) -> None:
        self._login = login
        self._client = client
        self._last: requests.Response | None = None
        self.is_lost = False
        client.adapter.session.hooks["response"].append(self._see)

    def run(self) -> VaultToken:
        """Sign in; raises the errors of the login."""
        try:
            return self._login(self._client)
        except Exception as error:
            self.is_lost = self._login.can_lock_out and self._is_answer_lost(error)
            raise

    def refusal(self) -> int | None:
        """Return the status with which Vault refused the login; None if it did not."""
        status = None if self._last is None else self._last.status_code
        return status if status in LOGIN_REFUSALS else None

    @property
    def is_refused(self) -> bool:
        """Whether Vault refused the failed login, and would refuse it again."""
        return self._login.has_proof and self.refusal() is not None

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
        """Return whether it is unknown if Vault refused the login; a status of failure tells."""
        if self._last is None or self._last.ok:
            return is_answer_lost(error)
        return self._last.status_code == _GATEWAY_TIMEOUT

    def _see(self, response: requests.Response, **_: Any) -> None:
        self._last = response
