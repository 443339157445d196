"""A provider that reads HashiCorp Vault, and servers that speak its API."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_config_providers.core.closing import WaitsToClose
from airflow_config_providers.core.document import read_keys
from airflow_config_providers.core.polled_provider import PolledConfigProvider
from airflow_config_providers.core.process_environment import all_variables
from airflow_config_providers.core.provider import ConfigData, SecretIdProvider, require_configured
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.vault.logins import approle
from airflow_config_providers.providers.vault.logins.credentials import TOKEN_VARIABLE
from airflow_config_providers.providers.vault.parameters import PARAMS, read_settings
from airflow_config_providers.providers.vault.paths import VaultPath, form_problem
from airflow_config_providers.providers.vault.secret_cache import CachedSecret, LeaseWatch, SecretCache
from airflow_config_providers.providers.vault.session import SESSIONS, Sessions
from airflow_config_providers.providers.vault.settings import Options

if TYPE_CHECKING:
    from airflow_config_providers.core.concurrency.timetable import Timetable
    from airflow_config_providers.core.diagnosis import Diagnosis
    from airflow_config_providers.core.subscriptions import Polled, Watch


_log = logging.getLogger(__name__)


class VaultConfigProvider(WaitsToClose, SecretIdProvider, PolledConfigProvider):
    """
    ``${vault:secret/apps/db:password}``: the path is that of Vault's own command line, the key is one of the secret's.

    A key can lead into a nested value, as ``credentials.password``; a value that is not a string is returned as JSON.
    ``secret/apps/db?version=3`` is version 3. Below ``mount_point``, or below ``secret`` without one, the mount may
    be left out. A secret with a lease has the rest of it as its ttl.

    A subscription is called when values have changed, and when a lease was replaced because it was revoked or would
    have ended.

    Its parameters are listed in docs/reference/providers.md. Providers with equal parameters share one login.

    :param connections: returns Airflow's connection of an ID
    :param environ: the process's environment
    :param sessions: the logins of this process
    """

    params: ClassVar[Collection[str] | None] = PARAMS

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a derived class with its own ``configure`` decide what it takes, unless it names its parameters."""
        super().__init_subclass__(**kwargs)
        if "configure" in vars(cls) and "params" not in vars(cls):
            cls.params = None

    def __init__(
        self,
        connections: Callable[[str], Any | None] = airflow_secrets.connection,
        environ: Mapping[str, str] = os.environ,
        *,
        sessions: Sessions = SESSIONS,
    ) -> None:
        self._connections = connections
        self._environ = environ
        self._sessions = sessions
        self._cache: SecretCache | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take the parameters; no request is made before the first ``get``.

        :raises ProviderDefinitionError: names all their problems
        """
        settings = read_settings(configs, connections=self._connections, environ=all_variables(self._environ))
        self._poll_interval = settings.poll_interval
        self._cache = SecretCache(settings, self._sessions)

    def environment_names(self, configs: Mapping[str, Any]) -> Collection[str]:
        """Return the name of the variable with the token, if the parameters leave it to that, or to a connection."""
        options = Options(configs)
        has_address = any(map(options.has, ("url", "address", "conn_id")))
        is_by_token = has_address and options.text("auth_type") in {"", "token"}
        return () if not is_by_token or options.has("token") or options.has("token_path") else (TOKEN_VARIABLE,)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return the secret at ``path``; if there is none, there are no keys.

        :raises AccessDeniedError: Vault refuses, or the path is one of Vault's own
        :raises ProviderUnavailableError: Vault cannot answer now
        :raises ProviderLookupError: it cannot be read in this way
        :raises ConfigException: ``path`` is not a path
        """
        cache = require_configured(self._cache)
        place = VaultPath.parse(path)
        if keys is not None and not keys:
            return ConfigData({})
        secret = cache.get(place)
        if secret.absence:
            _log.warning("%s", secret.absence)
        return _data(secret, keys, cache)

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse what is not a path, and Vault's own paths.

        :raises AccessDeniedError: it is one of Vault's own
        :raises ConfigException: ``path`` is not a path
        """
        VaultPath.parse(path)

    def form_problem(self, path: str, key: str) -> str:
        """Return what a reference without a path lacks."""
        problem = form_problem(path, key)
        return f"it {problem}" if problem else ""

    def check(self) -> None:
        """
        Find out whether Vault answers and whether we can sign in, without reading a secret.

        :raises AccessDeniedError: the login is refused
        :raises ProviderUnavailableError: Vault cannot answer now
        """
        require_configured(self._cache).session.check()

    def diagnose(self) -> Iterable[Diagnosis]:
        """
        Examine Vault, our login and what it may see, without reading a secret.

        :raises AccessDeniedError: the login is refused
        :raises ProviderUnavailableError: Vault cannot answer now
        """
        from airflow_config_providers.providers.vault.diagnosis import diagnose  # noqa: PLC0415 - few ask for it

        return diagnose(require_configured(self._cache).session)

    def wrapped_secret_id(self, role: str, *, mount_point: str = "", seconds: int = 300, login_seconds: int = 0) -> str:
        """
        Return a new, wrapped secret ID of an AppRole, which someone else can unwrap once.

        :param role: its name
        :param mount_point: where the method is mounted; empty for ``approle``
        :param seconds: for which it can be unwrapped
        :param login_seconds: for which it is valid; 0 for as long as the role says
        :raises AccessDeniedError: our login may not do this
        :raises ProviderLookupError: there is no such role, or Vault cannot be asked
        """
        return approle.wrapped_secret_id(
            require_configured(self._cache).session,
            role,
            mount_point=mount_point,
            seconds=seconds,
            login_seconds=login_seconds,
        )

    def keep_leases(self, *, is_left: bool) -> None:
        """Let leases, and the login that they end with, expire by themselves; or give them back after all."""
        if self._cache is not None:
            self._cache.keep_leases(is_left=is_left)

    def close(self) -> None:
        """Undo every ``subscribe``; give back leases and, if no other provider uses it, the login; raises nothing."""
        super().close()
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def _poll(self, path: str, keys: Collection[str] | None, mark: Hashable | None) -> Polled:
        from airflow_config_providers.core.subscriptions import Polled  # noqa: PLC0415 - few jobs watch their values

        cache = require_configured(self._cache)
        secret, new_mark = cache.poll(VaultPath.parse(path), mark)
        return Polled(None if secret is None else _data(secret, keys, cache), new_mark)

    def _make_watch(self) -> Watch:
        return LeaseWatch(require_configured(self._cache))

    def _make_timetable(self) -> Timetable:
        from airflow_config_providers.core.subscriptions import TIMETABLE  # noqa: PLC0415 - see above

        return require_configured(self._cache).session.timetable(TIMETABLE)


def _data(secret: CachedSecret, keys: Collection[str] | None, cache: SecretCache) -> ConfigData:
    if secret.absence:
        return ConfigData({}, absence=secret.absence)
    return ConfigData(read_keys(secret.document, keys), secret.ttl_in(cache.session))
