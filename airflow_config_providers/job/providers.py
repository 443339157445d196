"""The providers of a deployment: the connection that defines them, its mistakes, and each one, opened on first use."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import AirflowNotFoundException, BaseHook, Connection
from airflow_config_providers.core import properties
from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.java_text import written
from airflow_config_providers.core.keys import CONFIG_PROVIDERS, holds_definitions, is_reserved
from airflow_config_providers.core.on_demand import ProvidersOnDemand
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS, ReloadAction
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.text import first_of, nearest, printable
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderDefinitionError, refuse
from airflow_config_providers.foreign import has_supervisor
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.masker import mask_parameters
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.spark.layer_files import read_text
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK

CONN_TYPE: Final = "config_providers"
"""The type of a connection that defines providers."""

OF_DRIVER: Final = "driver."
"""The prefix of keys that are for a driver, and not for this machine."""

_FILES: Final = ("properties_file", "properties")
"""The fields of a connection's extra that hold a file of definitions, or name one."""

_FIELDS: Final = (CONFIG_PROVIDERS, *_FILES)
"""The fields of a connection's extra that define providers."""


def deployment_registry() -> ProviderRegistry:
    """Return the registry that makes the providers of this deployment, with the classes that it allows."""
    return ProviderRegistry(allowed_classes=settings.allowed_provider_classes(), deployment=True)


def home_of(conn_id: str, kind: str | None = None) -> str:
    """
    Return what messages call the place where a connection defines providers.

    :param kind: the type of the connection, if it defines none
    """
    found = f"{CONFIG_PROVIDERS} of connection '{printable(conn_id)}'"
    if not kind or kind == CONN_TYPE:
        return found
    return f"{found}. Its type is '{printable(kind)}' and not '{CONN_TYPE}': check config_conn_id"


class Definitions:
    """
    What a connection defines. The file of definitions that it names is read once, so tasks and drivers see the same.

    :param conn_id: the id of the connection
    :param connection: the connection; None if there is none
    """

    def __init__(self, conn_id: str, connection: Connection | None) -> None:
        self._conn_id = conn_id
        self._connection = connection

    def of_tasks(self) -> dict[str, str]:
        """
        Return ``config.providers`` and the keys below it.

        :raises ConfigProvidersError: there is no connection, or its definitions cannot be read
        """
        if self._connection is None:
            raise _missing_connection(self._conn_id)
        found = {key: text for key, text in self._defined.items() if not key.startswith(OF_DRIVER)}
        mask_parameters(found)
        return found

    def of_driver(self) -> dict[str, str]:
        """
        Return ``config.providers`` and the keys below it for a driver, without ``driver.``; nothing without connection.

        :raises ProviderDefinitionError: the definitions cannot be read
        """
        below = {key: text for key, text in self._defined.items() if key.startswith(OF_DRIVER)}
        found = {key.removeprefix(OF_DRIVER): text for key, text in below.items()}
        return {key: text for key, text in found.items() if is_reserved(key)}

    @cached_property
    def extra(self) -> Mapping[str, Any]:
        """
        Return the extra of the connection; empty without connection.

        :raises ProviderDefinitionError: it cannot be read
        """
        return {} if self._connection is None else _extra_of(self._conn_id, self._connection)

    @cached_property
    def _defined(self) -> dict[str, str]:
        return _all_of(self._conn_id, self.extra)


class ProvidersConnection:
    """
    A ``config_providers`` connection, which is read once, like the file of definitions that it names.

    :param conn_id: the id of the connection
    """

    def __init__(self, conn_id: str) -> None:
        self.conn_id = conn_id

    def on_demand(self) -> ProvidersOnDemand:
        """
        Return the providers, each of which is made and configured when it is needed. The caller must close them.

        :raises ProviderDefinitionError: there is no such connection, or its definitions cannot be read
        """
        return deployment_registry().on_demand(self.definitions())

    def definitions(self) -> dict[str, str]:
        """Return ``config.providers`` and the keys below it from the connection."""
        return self._definitions.of_tasks()

    def driver_definitions(self) -> dict[str, str]:
        """
        Return ``config.providers`` and the keys below it for a driver that resolves itself, without ``driver.``.

        :raises ProviderDefinitionError: the connection, or the environment variable that defines it, cannot be read
        """
        return self._definitions.of_driver()

    def require_provider(self, definitions: Mapping[str, Any]) -> None:
        """
        Make sure that a misspelt field of the extra is not the reason why there are no ``definitions``.

        :raises ProviderDefinitionError: it is
        """
        if self._connection is None or str(definitions.get(CONFIG_PROVIDERS, "")).strip():
            return
        if hints := misspelt_fields(self._connection, definitions):
            raise ProviderDefinitionError(no_provider(self.conn_id, " ".join(hints)))

    def is_defined(self) -> bool:
        """Return whether the connection exists."""
        return self._connection is not None

    @cached_property
    def _definitions(self) -> Definitions:
        return Definitions(self.conn_id, self._connection)

    @cached_property
    def _connection(self) -> Connection | None:
        if airflow_secrets.broken_variable(self.conn_id) is not None:  # where Airflow would ask its database instead
            airflow_secrets.connection(self.conn_id)  # raises, unless the deployment's own backend has it
        with suppress(AirflowNotFoundException):
            return BaseHook.get_connection(self.conn_id)
        if not has_supervisor():  # a preview has no other way to a connection that only Airflow's database has
            with suppress(ConfigProvidersError):
                return airflow_secrets.connection(self.conn_id)
        return None


def _missing_connection(conn_id: str, need: str = "holds references") -> ProviderDefinitionError:
    """Return the error for a missing connection. ``need`` says why the configuration needs it."""
    return ProviderDefinitionError(
        f"The configuration {need}, but there is no connection '{printable(conn_id)}' that defines their providers. "
        f"Correct config_conn_id, or add a connection of type config_providers with config.providers in its extra. "
        f"If Airflow lists it, its API server perhaps cannot decrypt it: compare its fernet_key in [core]."
    )


def _extra_of(conn_id: str, connection: Connection) -> Mapping[str, Any]:
    return parse_extra(connection.extra, what=f"The extra of connection '{printable(conn_id)}'")


def _all_of(conn_id: str, extra: Mapping[str, Any]) -> dict[str, str]:
    keys = {key: value for key, value in extra.items() if is_reserved(key.removeprefix(OF_DRIVER))}
    unread = {key: value for key, value in extra.items() if _is_misspelt(key) and isinstance(value, str)}
    files = {key: extra[key] for key in _FILES if extra.get(key) is not None}
    odd = {key: value for key, value in files.items() if not isinstance(value, str)}
    _refuse_odd(conn_id, odd | {key: value for key, value in keys.items() if not isinstance(value, str | int)})
    found: dict[str, str] = {}
    if path := files.get("properties_file"):
        _refuse_definitions(conn_id, path)
        found |= _properties(read_text(path, name=path), name=path)
    if text := files.get("properties"):
        found |= _properties(text, name=f"connection {conn_id}")
    return found | unread | {key: written(value) for key, value in keys.items()}


def _refuse_definitions(conn_id: str, path: str) -> None:
    if holds_definitions(path):  # with a token, perhaps, so it is not shown
        raise ProviderDefinitionError(
            f"Connection '{printable(conn_id)}': 'properties_file' in the extra holds definitions, and not the path of "
            f"a file. Move them to 'properties', which is the field 'Provider definitions' in Airflow's UI."
        )


def parse_extra(text: str | None, *, what: str) -> Mapping[str, Any]:
    """
    Parse an extra. With ``extra_dejson``, Airflow would mask parameters of a provider called ``secrets``.

    :param what: what people call the extra
    :raises ProviderDefinitionError: it is not a JSON object
    """
    try:
        extra, problem = json.loads(text or "{}"), ""
    except json.JSONDecodeError as error:
        extra, problem = None, f": it is invalid at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        extra, problem = None, ""
    if not isinstance(extra, dict):
        raise ProviderDefinitionError(f"{what} is not a JSON object{problem}. Correct it.")
    return extra


def _refuse_odd(conn_id: str, odd: Mapping[str, object]) -> None:
    where = f"Connection '{printable(conn_id)}'"
    problem = "in the extra is not a string."
    refuse(
        ProviderDefinitionError,
        (f"{where}: '{printable(key)}' {problem} {_correction(key, odd[key])}" for key in sorted(odd)),
    )


def _correction(key: str, value: object) -> str:
    if key in _FILES or not isinstance(value, list):
        return "Correct it."
    return "Write the list as one string, with commas between its elements, such as paths."


def _properties(text: str, *, name: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in properties.parse(text, name=name)}


def misspelt_fields(connection: Connection, definitions: Iterable[str]) -> list[str]:
    """
    Return a sentence for each name that is not read, but resembles one that is, and for a URI without ``?``.

    :param definitions: the keys that were found in the extra of ``connection``, and in its properties
    """
    fields = _extra_of(connection.conn_id, connection)
    places = {**dict.fromkeys(definitions, "properties"), **dict.fromkeys(fields, "extra")}
    hints = [
        f"'{printable(name)}' in its {places[name]} is not read{hint}"
        for name in sorted(places.keys() - {*RELOAD_ACTION_KEYS})
        if not (name in _FIELDS or is_reserved(name.removeprefix(OF_DRIVER))) and (hint := meant_field(name))
    ]
    return [*hints, *filter(None, [uri_hint(connection)])]


def uri_hint(connection: Connection) -> str:
    """Return what is wrong with the URI of ``connection`` if it lacks the ``?`` before the extra; otherwise nothing."""
    if not any(CONFIG_PROVIDERS in (text or "") for text in (connection.host, connection.schema)):
        return ""
    return (
        f"{CONFIG_PROVIDERS} is in its host or schema: in a URI, the extra begins after a question mark, as in "
        f"{CONN_TYPE.replace('_', '-')}://?{CONFIG_PROVIDERS}=..."
    )


def meant_field(name: str) -> str:
    """Return a hint such as ``, did you mean 'properties'?`` if a field of the extra is close, otherwise nothing."""
    prefix = OF_DRIVER if name.startswith(OF_DRIVER) else ""
    beginning = _beginning(name.removeprefix(prefix))
    rest = name.removeprefix(prefix + beginning)
    below = [prefix + CONFIG_PROVIDERS + rest] if nearest(beginning, [CONFIG_PROVIDERS]) else []
    return nearest(name, below if prefix else [*_FIELDS, *RELOAD_ACTION_KEYS, *below])


def _is_misspelt(key: str) -> bool:
    return key.startswith("config.") and not is_reserved(key) and key not in RELOAD_ACTION_KEYS


def no_provider(conn_id: str, way_out: str) -> str:
    """Return the message for a connection that defines no provider."""
    return (
        f"Connection '{printable(conn_id)}' defines no provider: {CONFIG_PROVIDERS} is not in its extra, or is empty. "
        f"{way_out}"
    )


def _beginning(field: str) -> str:
    """Return the first two parts of a field's name. After ``config.providers`` come names that the owner chose."""
    return ".".join(field.split(".")[:2])


class JobProviders(ProvidersConnection, ClosedOnExit):
    """
    Opens each of the deployment's providers on first use, and keeps it open until the job has ended.

    A lease of a provider, such as a database user of Vault, is valid only while the provider is open.

    :param conn_id: the connection that defines the providers; it is not read if there are no references
    """

    def __init__(self, conn_id: str) -> None:
        super().__init__(conn_id)
        self._open: ProvidersOnDemand | None = None

    @property
    def home(self) -> str:
        """Where the providers are defined, for messages, with a doubt about the connection if it defines none."""
        if self._open is None or self._open or self._open.unlisted or self._connection is None:
            return home_of(self.conn_id)
        return home_of(self.conn_id, self._connection.conn_type)

    def needed_by(self, texts: Iterable[str]) -> Mapping[str, ConfigProvider]:
        """
        Return the providers if ``texts`` have references that could be theirs. Each is opened on first use.

        :raises ProviderDefinitionError: the connection is missing, or its definitions cannot be read
        """
        found = [variable for text in texts for variable in variables(text)]
        names = {variable.provider for variable in found}
        if self._open is None and (names - SUBSTITUTED_BY_SPARK or (names and self.is_defined())):
            if not self.is_defined():
                raise self._missing(found)
            definitions = self.definitions()
            self.require_provider(definitions)
            self._open = deployment_registry().on_demand(definitions)
        if self._open is None or not names:
            return {}
        return self._open

    def refusals(self, texts: Collection[str], unresolved: Unresolved) -> dict[ConfigVariable, str]:
        """
        Return why references in ``texts`` will never have a value, as far as that is known without opening a provider.

        :raises ProviderDefinitionError: as for ``needed_by``
        """
        known, fails = self.needed_by(texts), unresolved is Unresolved.FAIL
        found = dict.fromkeys(variable for text in texts for variable in variables(text))
        asked = [one for one in found if one.provider in known or (fails and one.provider not in SUBSTITUTED_BY_SPARK)]
        return deployment_registry().refusals(self.definitions(), asked, home=self.home) if asked else {}

    def _missing(self, found: Iterable[ConfigVariable]) -> ProviderDefinitionError:
        references = sorted({str(one) for one in found if one.provider not in SUBSTITUTED_BY_SPARK})
        return _missing_connection(self.conn_id, f"refers to {first_of(references, most=1)}")

    def names(self) -> frozenset[str]:
        """Return the names of the providers; none if no connection defines them, or its definitions cannot be read."""
        with suppress(ProviderDefinitionError):
            return frozenset(self.on_demand() if self._open is None else self._open)
        return frozenset()

    def named(self, name: str) -> ConfigProvider | None:
        """
        Return the provider of that name; None if there is none.

        :raises ProviderDefinitionError: as for ``needed_by``, or the definition of the provider is wrong
        """
        if self._open is None:
            self._open = self.on_demand()
        return self._open.get(name)

    def reload_action(self) -> ReloadAction | None:
        """
        Return what the connection says about running jobs whose secrets change; None if nothing, or it was not needed.

        :raises ProviderDefinitionError: it says something else than ``none`` or ``restart``
        """
        if self._open is None:
            return None
        extra = self._definitions.extra
        found = {key: str(extra[key]) for key in RELOAD_ACTION_KEYS if key in extra}
        try:
            return ReloadAction.of(found)
        except ConfigException as error:
            problems = error.problems
        raise ProviderDefinitionError(*(f"Connection '{printable(self.conn_id)}': {text}" for text in problems))

    def environment_names(self) -> frozenset[str]:
        """
        Return the names of the environment variables that the providers can read; none if none was needed.

        :raises ProviderUnavailableError: a provider did not answer within ``resolve_timeout``
        """
        return frozenset() if self._open is None else self._open.environment_names(timeout=settings.resolve_timeout())

    def keep_leases(self, *, is_left: bool) -> None:
        """Let leases outlive this process, or not; see ``ConfigProvider.keep_leases``."""
        if self._open is not None:
            self._open.keep_leases(is_left=is_left)

    def close(self) -> None:
        """Close the providers, which ends their leases."""
        if self._open is not None:
            self._open.close()
