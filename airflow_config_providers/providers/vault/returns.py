"""What is to be given back to Vault: at the end, or by a helper after a kill."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from airflow_config_providers.exceptions import ConfigProvidersError, ProviderLookupError
from airflow_config_providers.providers.vault.breaker import Breaker
from airflow_config_providers.providers.vault.helper import Helper, Server

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.settings import VaultSettings
    from airflow_config_providers.providers.vault.transport import Transport

_log = logging.getLogger(__name__)

_LONGEST: Final = 5.0
"""Seconds that one request may take when all else is done."""


@dataclass(frozen=True, slots=True)
class Return:
    """
    A request that ends something.

    :param what: names it in a log
    """

    what: str
    path: str
    token: str = field(repr=False)
    body: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of_login(cls, token: str) -> Self:
        """Give the request that ends ``token`` and what was leased with it."""
        return cls("login", "auth/token/revoke-self", token)

    @classmethod
    def of_lease(cls, lease_id: str, *, token: str) -> Self:
        """Give the request that ends a lease."""
        return cls("lease", "sys/leases/revoke", token, {"lease_id": lease_id})


class Returns:
    """
    Gives back, or has it given back by a process that outlives this one. Thread-safe.

    Once Vault could not be asked to end a lease, it is not asked for others for a while, and so for logins: an end
    waits once for each kind where Vault hangs.

    :param no_fork: held while the process is started: a fork would share the pipe to it
    :param clock: seconds, monotonic
    """

    def __init__(
        self,
        settings: VaultSettings,
        no_fork: threading.Lock | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._no_fork = no_fork
        self._clock = clock
        self._helper: Helper | None = None
        self._lock = threading.Lock()
        self._breakers: dict[str, Breaker] = {}
        self._is_left = False

    def hold(self, owed: Return) -> int | None:
        """Have ``owed`` sent should this process end before it is done; gives a key for it, or None for nobody's."""
        if not self._settings.gives_back_after_kill:
            return None
        with self._lock:
            self._helper = self._helper or Helper(_server(self._settings), self._no_fork)
        return self._helper.hold(owed.path, token=owed.token, body=owed.body)

    def leave(self, *, is_left: bool) -> None:
        """Give nothing back, also not after a kill, or do so again."""
        self._is_left = is_left
        if self._helper is not None:
            self._helper.leave(is_left=is_left)

    def drop(self, key: int | None) -> None:
        """Owe it no more."""
        if key is not None and self._helper is not None:
            self._helper.drop(key)

    def give_back(self, owed: Return, transport: Transport, *, key: int | None) -> bool:
        """
        Send ``owed``, once; raises nothing, and is False where Vault could not be asked.

        Then the helper keeps what it knows by ``key``, and tries once when this session or this process ends.
        What was left is not sent.
        """
        if self._is_left:
            _log.info("A %s of Vault is left to a job that may still run, and ends by itself", owed.what)
            return True
        timeout = min(self._settings.timeout, _LONGEST)
        breaker = self._breakers.setdefault(owed.path, Breaker(self._clock, failures=1))
        try:
            with breaker.watching(ProviderLookupError):
                answer = transport.post(owed.path, owed.body, token=owed.token, timeout=timeout)
        except ConfigProvidersError as error:
            hope = "ends by itself" if key is None else "is left to the helper"
            _log.warning("A %s of Vault was not given back and %s: %s", owed.what, hope, error)
            return False
        self.drop(key)
        if not answer.is_good:
            _log.warning("Vault did not take a %s back (%s); it ends by itself", owed.what, answer.shown)
        return True

    def forget(self) -> None:
        """In a forked child: leave it all to the parent."""
        self._lock = threading.Lock()
        self._breakers = {}
        if self._helper is not None:
            self._helper.forget()

    def close(self) -> None:
        """End the helper, which first tries once to give back what could not be given back."""
        if self._helper is not None:
            self._helper.close()


def _server(settings: VaultSettings) -> Server:
    """Give what the helper must know, with what requests would take from the environment."""
    import requests  # noqa: PLC0415 - slow to import, and there already

    session = requests.Session()
    session.trust_env = settings.trust_env
    found = session.merge_environment_settings(
        settings.url, dict(settings.proxies), None, settings.verify, settings.cert
    )
    verify = requests.utils.DEFAULT_CA_BUNDLE_PATH if found["verify"] is True else found["verify"]
    proxy = requests.utils.select_proxy(settings.url, found["proxies"]) or ""
    return Server(settings.url, settings.namespace, verify, settings.cert, proxy, settings.login_namespace)
