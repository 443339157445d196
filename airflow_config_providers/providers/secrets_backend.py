"""A provider that reads from any Airflow secrets backend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from airflow_config_providers.core.concurrency.per_process import PerProcess
from airflow_config_providers.core.concurrency.workers import side_by_side
from airflow_config_providers.core.document import parse_object
from airflow_config_providers.core.provider import BatchConfigProvider, ConfigData, require_configured
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderDefinitionError
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_provider import (
    AirflowConfigProvider,
    field_problem,
    read_fields,
    read_json,
)
from airflow_config_providers.providers.airflow_secrets import asked
from airflow_config_providers.providers.allowed_names import ALLOWLIST_PATTERN, AllowedNames
from airflow_config_providers.providers.aws_batch import AwsBatch

BACKEND: Final = "backend"
BACKEND_KWARGS: Final = "backend_kwargs"
LOCAL_FILES: Final = "airflow.secrets.local_filesystem.LocalFilesystemBackend"

VARIABLE: Final = "variable"
CONNECTION: Final = "connection"
CONFIG: Final = "configuration option"

_LOOKUPS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    VARIABLE: airflow_secrets.read_variable,
    CONNECTION: airflow_secrets.read_connection,
    CONFIG: airflow_secrets.read_config,
}
_LISTS: Final = {"": VARIABLE, "variables": VARIABLE, "config": CONFIG}
_ITEMS: Final = {"variables": VARIABLE, "connections": CONNECTION}


def installed_backends() -> Iterator[str]:
    """
    Return the dotted names of the secrets backends that may be loaded.

    These are the ones that installed packages register with Airflow, which ``airflow providers secrets`` lists, and
    Airflow's own for local files.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and searches every distribution

    yield LOCAL_FILES
    for entry in entry_points(group="apache_airflow_provider"):
        yield from entry.load()().get("secrets-backends", ())


class SecretsBackendConfigProvider(BatchConfigProvider, AirflowConfigProvider):
    """
    Asks one Airflow secrets backend, and no other.

    - ``${sm:db_password}``, or ``${sm:variables:db_password}``: the string of a variable
    - ``${sm:variables/db:credentials.password}``: a field of a variable that holds a JSON object
    - ``${sm:connections/warehouse:password}``: a field of a connection, as in the provider of connections
    - ``${sm:config:fernet_key}``: an option of Airflow's configuration

    It has these parameters.

    - ``allowlist.pattern``: regular expression of Python that the whole name must match; without it, all names of
      variables and connections are allowed. An option must be one of its alternatives, letter by letter.
    - ``backend``: dotted name of the class, one of ``installed_backends``; without it the backend that the deployment
      has configured for processes such as this one
    - ``backend_kwargs``: JSON object with its arguments; ``backend_kwargs.<name>`` is one of them, a string

    The backend is created when it is first needed, and again in a forked child. It is asked for one secret and then, if
    it answers, for the others at once. If it fails, it is not asked again, and its error applies to all of them.

    :param make_configured: returns the backend of the deployment, or None
    :param has_teams: returns whether the deployment has several teams
    :param max_workers: returns how many secrets are asked for at once
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWLIST_PATTERN: "spark_.*"}
    params: ClassVar[Collection[str]] = (*AirflowConfigProvider.params, BACKEND, BACKEND_KWARGS, f"{BACKEND_KWARGS}.")

    def __init__(
        self,
        make_configured: Callable[[], Any | None] = airflow_secrets.configured_backend,
        *,
        has_teams: Callable[[], bool] = airflow_secrets.has_teams,
        max_workers: Callable[[], int] = airflow_secrets.max_workers,
    ) -> None:
        super().__init__(has_teams)
        self._max_workers = max_workers
        self._make_configured = make_configured
        self._backend: PerProcess[Any] = PerProcess(self._configured)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take the parameters; creates no backend yet.

        :raises ProviderDefinitionError: the pattern is not a regular expression, the class is not installed, or its
            arguments are not a JSON object
        """
        super().configure(configs)
        allowed, self._allowed = self._allowed, None  # or another backend would answer if the rest cannot be used
        kwargs = _kwargs(configs)
        if path := str(configs.get(BACKEND, "")).strip():
            _require_installed(path)
            self._backend = PerProcess(partial(airflow_secrets.make_backend, path, kwargs))
        elif kwargs:
            raise ProviderDefinitionError(
                f"{BACKEND_KWARGS} is given without {BACKEND}. Add {BACKEND}, or remove {BACKEND_KWARGS}."
            )
        self._allowed = allowed

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return what the backend has.

        :raises AccessDeniedError: a name is not allowed, whether it exists or not; or the backend refuses
        :raises ProviderUnavailableError: the backend cannot answer now
        :raises ProviderDefinitionError: it cannot be created, or the deployment has configured none
        :raises ConfigException: there is no such path, keys are wanted where there are none, or all where they cannot
            be listed
        """
        place = BackendPlace(path, keys)
        return _data(place, self._read(self._allowed_secrets(place)))

    def get_batch(self, wanted: Mapping[str, Collection[str]]) -> Mapping[str, ConfigData | Exception]:
        """
        Return what the backend has at several paths; a backend of AWS needs fewer requests than one for each.

        :raises ProviderDefinitionError: the backend cannot be created, or the deployment has configured none
        """
        plans: dict[BackendPlace, list[BackendSecret]] = {}
        outcomes: dict[str, ConfigData | Exception] = {}
        for path, keys in wanted.items():
            place = BackendPlace(path, frozenset(keys))
            try:
                plans[place] = self._allowed_secrets(place)
            except ConfigProvidersError as error:
                outcomes[path] = error
        found = self._read([secret for secrets in plans.values() for secret in secrets])
        return outcomes | {place.path: _outcome(place, found) for place in plans}

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse an unknown path, and a name that the pattern does not allow.

        :raises AccessDeniedError: it is not allowed
        :raises ConfigException: there is no such path
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        _require(BackendPlace(path, frozenset(keys)).secrets(), self._allowed_by(configs))

    def form_problem(self, path: str, key: str) -> str:
        """Return why no connection has a field called ``key``, if the path is that of a connection."""
        return BackendPlace(path, {key}).field_problem()

    def check(self) -> str:
        """
        Create the backend without asking it anything, and return its name.

        :raises ProviderDefinitionError: it cannot be created, or the deployment has configured none
        """
        require_configured(self._allowed)
        return f"asks {type(self._backend()).__name__}"

    def _configured(self) -> Any:
        backend = self._make_configured()
        if backend is None:
            raise ProviderDefinitionError(
                f"No secrets backend is configured for this process. Set [secrets] backend in airflow.cfg, or name one "
                f"by the provider's parameter {BACKEND}."
            )
        return backend

    def _allowed_secrets(self, place: BackendPlace) -> list[BackendSecret]:
        allowed, secrets = self.allowed, place.secrets()
        _require(secrets, allowed)
        return secrets

    def _read(self, secrets: Iterable[BackendSecret]) -> Mapping[BackendSecret, Any]:
        """Return the string, the connection, None, or the error for each secret."""
        backend = self._backend()
        if batch := AwsBatch.of(backend):
            return batch.read({secret: partial(_look_up, secret) for secret in secrets})
        wanted = list(dict.fromkeys(secrets))
        found: dict[BackendSecret, Any] = {}
        try:
            side_by_side(partial(_note_answer, found, backend), wanted, at_once=self._max_workers())
        except ConfigProvidersError as error:
            return dict.fromkeys(wanted, error) | found  # also for those that were not asked for
        return found


def _require_installed(path: str) -> None:
    names = set(installed_backends())
    if path not in names:
        raise ProviderDefinitionError(
            f"{BACKEND}: '{printable(path)}' is not installed{nearest(path, names) or '.'} Install its package, or "
            f"name one that 'airflow providers secrets' lists, or {LOCAL_FILES}. Set any other as [secrets] backend, "
            f"and leave {BACKEND} out."
        )


def _require(secrets: Iterable[BackendSecret], allowed: AllowedNames) -> None:
    for secret in secrets:
        allowed.require(secret.kind, secret.name, is_sensitive=secret.kind == CONFIG)


def _look_up(secret: BackendSecret, backend: Any) -> Any:
    return _LOOKUPS[secret.kind](backend, secret.name)


def _note_answer(found: dict[BackendSecret, Any], backend: Any, secret: BackendSecret) -> None:
    found[secret] = asked(
        partial(_look_up, secret, backend), who=f"Secrets backend {type(backend).__name__}", what=str(secret)
    )


def _outcome(place: BackendPlace, found: Mapping[BackendSecret, Any]) -> ConfigData | Exception:
    try:
        return _data(place, found)
    except ConfigProvidersError as error:
        return error


def _data(place: BackendPlace, found: Mapping[BackendSecret, Any]) -> ConfigData:
    for secret in place.secrets():
        if isinstance(found[secret], Exception):
            raise found[secret]
    return place.data(found)


def _kwargs(configs: Mapping[str, Any]) -> dict[str, Any]:
    given = configs.get(BACKEND_KWARGS, {})
    arguments = parse_object(given) if isinstance(given, str) else given
    if not isinstance(arguments, Mapping):
        raise ProviderDefinitionError(
            f'{BACKEND_KWARGS} is not a JSON object. Write one, as in {BACKEND_KWARGS}={{"variables_prefix": "app"}}.'
        )
    prefix = f"{BACKEND_KWARGS}."
    single = {name.removeprefix(prefix): text for name, text in configs.items() if name.startswith(prefix)}
    return {**arguments, **single}


@dataclass(frozen=True, slots=True)
class BackendSecret:
    """
    One thing that a secrets backend can have.

    :param kind: ``VARIABLE``, ``CONNECTION`` or ``CONFIG``
    """

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} '{printable(self.name)}'"


@dataclass(frozen=True, slots=True)
class BackendPlace:
    """
    A path below a secrets backend, and the keys wanted there.

    ``""`` and ``variables`` have variables as keys, ``config`` has configuration options; ``variables/<name>`` and
    ``connections/<id>`` are one thing, which has the keys.
    """

    path: str
    keys: Collection[str] | None

    def secrets(self) -> list[BackendSecret]:
        """
        Return what must be read.

        :raises ConfigException: there is no such path, or all keys are wanted where they cannot be listed
        """
        if (item := self._item()) is not None:
            return [item]
        if self.path not in _LISTS:
            raise ConfigException(
                f"'{printable(self.path)}' is not a path of a secrets backend. Write only the name, or as the path "
                f"variables, variables/<name>, connections/<id> or config."
            )
        if self.keys is None:
            raise ConfigException("The secrets of a secrets backend cannot be listed. Name the ones you want.")
        return [BackendSecret(_LISTS[self.path], key) for key in sorted(self.keys)]

    def data(self, found: Mapping[BackendSecret, Any]) -> ConfigData:
        """
        Return the values of the keys.

        :param found: the string of each variable and option, and each connection; None for a missing one
        :raises ConfigException: a key is wanted in a string that is not a JSON object
        """
        item = self._item()
        if item is None:
            texts = {secret.name: found[secret] for secret in self.secrets()}
            return ConfigData({name: text for name, text in texts.items() if text is not None})
        if item.kind == VARIABLE:
            return ConfigData(read_json(found[item], self.keys, what=str(item)))
        connection = found[item]
        return ConfigData({} if connection is None else read_fields(connection, self.keys, conn_id=item.name))

    def field_problem(self) -> str:
        """Return why no connection has a key as its field; empty if one can, or if this is no connection."""
        item = self._item()
        is_connection = item is not None and item.kind == CONNECTION
        return next(filter(None, map(field_problem, self.keys or ())), "") if is_connection else ""

    def _item(self) -> BackendSecret | None:
        first, slash, name = self.path.partition("/")
        return BackendSecret(_ITEMS[first], name) if slash and first in _ITEMS else None
