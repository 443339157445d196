"""hvac's client, set up for one Vault."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderDefinitionError

if TYPE_CHECKING:
    import hvac
    import requests

    from airflow_config_providers.providers.vault.settings import VaultSettings

THREADS: Final = 64

MakeClient = Callable[["VaultSettings"], "hvac.Client"]

_UNVERIFIED: Final = "its certificate is not verified. Name a CA with ca_cert in place of verify=false"
_PLAIN: Final = "the connection is not encrypted. Use https (in a connection: use_tls, or the type vaults)"
_THIS_MACHINE: Final = re.compile(r"http://(?:localhost|127(?:\.[0-9]+){3}|\[::1\])(?:[:/]|$)")

_log = logging.getLogger(__name__)


def make_client(settings: VaultSettings) -> hvac.Client:
    """
    Make a client without a token, which follows no redirect and whose pool serves 64 threads; connects to nothing.

    It takes nothing from the environment by itself, but for proxies and .netrc where ``trust_env`` says so, and asks
    nothing twice. An address that others could answer for, or listen to, is warned of once in a process.
    """
    import hvac  # noqa: PLC0415 - optional, and slow to import

    _warn(settings)
    return hvac.Client(
        url=settings.url,
        token="",  # for None hvac would look in VAULT_TOKEN and in ~/.vault-token
        cert=settings.cert or (),  # for None hvac would look in VAULT_CLIENT_CERT
        verify=settings.verify,
        timeout=settings.timeout,
        proxies=dict(settings.proxies),
        allow_redirects=False,
        session=_session(settings),
        namespace=settings.namespace,
    )


class Clients:
    """
    Makes clients for one Vault. Thread-safe.

    :param no_fork: held while what a request needs is imported: a child that is forked halfway through an import could
        never finish it
    """

    def __init__(self, settings: VaultSettings, no_fork: threading.Lock, make: MakeClient = make_client) -> None:
        self._settings = settings
        self._no_fork = no_fork
        self._make = make

    def new_for_login(self) -> hvac.Client:
        """Make one that asks in the namespace of the login; else as ``new``."""
        client = self.new()
        client.adapter.namespace = self._settings.login_namespace
        return client

    def new(self) -> hvac.Client:
        """
        Make one; it is for the caller to close.

        :raises ProviderDefinitionError: hvac is not installed
        """
        try:
            with self._no_fork:
                _import_what_a_request_needs()
            return self._make(self._settings)
        except ImportError:
            pass
        raise ProviderDefinitionError("hvac is missing. Install airflow-config-providers[vault].")


def _import_what_a_request_needs() -> None:
    import encodings.idna  # noqa: F401, PLC0415 - a host name needs it

    import hvac.exceptions  # noqa: F401, PLC0415 - optional, and slow to import
    import requests.exceptions  # noqa: F401, PLC0415 - a slow import that only Vault needs

    from airflow_config_providers.providers.vault import bounded  # noqa: F401, PLC0415 - as above


def _session(settings: VaultSettings) -> requests.Session:
    import requests  # noqa: PLC0415 - a slow import that only Vault needs

    from airflow_config_providers.providers.vault.bounded import BoundedAdapter  # noqa: PLC0415 - as above

    session = requests.Session()
    session.trust_env = settings.trust_env
    session.verify = settings.verify
    session.cert = settings.cert
    session.proxies = dict(settings.proxies)
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter(pool_connections=1, pool_maxsize=THREADS, max_retries=0))
    return session


def _warn(settings: VaultSettings) -> None:
    if settings.url.startswith("https:"):
        if settings.verify is False:
            _warn_once(settings.url, _UNVERIFIED, process=os.getpid())
    elif not _THIS_MACHINE.match(settings.url):
        _warn_once(settings.url, _PLAIN, process=os.getpid())


@cache
def _warn_once(url: str, why: str, *, process: int) -> None:
    """Warn; ``process`` is there for the cache, which a fork copies."""
    _log.warning("Vault at %s gets the login of process %d, but %s.", printable(url), process, why)
