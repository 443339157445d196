"""How a session signs in, and does not again with what was refused."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.login_try import LoginTry
from airflow_config_providers.providers.vault.refusal import Refusal

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.breaker import Breakers
    from airflow_config_providers.providers.vault.login import Login, VaultToken
    from airflow_config_providers.providers.vault.login_attempts import LoginAttempts
    from airflow_config_providers.providers.vault.renewal import Clock
    from airflow_config_providers.providers.vault.settings import VaultSettings
    from airflow_config_providers.providers.vault.transport import Clients

_TURNS_TO_WAIT: Final = 2
"""For how many logins that get no answer a session waits before its own."""


class SigningIn:
    """
    Signs in for one session, one thread at a time.

    :param attempts: what all sessions of the process know
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
        Sign in, but not again soon with what was refused: a few refusals lock a user of Vault everywhere.

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
        """Let what was refused be tried again, because somebody wants to know how it is now."""
        self._refusal = None
        with suppress(ProviderLookupError):  # a file that is away for a moment, which does not matter to a held token
            key = self._attempts.key(self._settings, self._settings.login.read())
            self._attempts.forgive(key, now=self._clock())

    def _asked(self, login: Login, key: bytes) -> VaultToken:
        attempt = LoginTry(login, self._clients.new_for_login())
        try:
            with self._breakers.watching("login", ProviderUnavailableError, is_limit=attempt.is_limit):
                token = faults.translated_login(
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
            unanswered = partial(faults.unanswered_login, self._settings.login, self._settings.where)
            self._attempts.lost(key, unanswered, now=now)
        elif attempt.is_refused and isinstance(error, AccessDeniedError):
            self._attempts.refused(key, error, now=now)
        else:
            self._refusal = Refusal.of_login(error, of=key, now=now)
