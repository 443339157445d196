"""What the providers of Airflow's own variables and connections have in common."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Final

from airflow_config_providers.core.document import as_text, parse_object, read_all, read_keys
from airflow_config_providers.core.polled_provider import POLL_INTERVAL, PolledConfigProvider
from airflow_config_providers.core.provider import require_configured
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_secrets import asked
from airflow_config_providers.providers.allowed_names import ALLOWLIST_PATTERN, AllowedNames


class AirflowConfigProvider(PolledConfigProvider, ABC):
    """A provider that asks Airflow for the names that the pattern ``allowlist.pattern`` allows, by default for all."""

    params: ClassVar[Collection[str]] = (ALLOWLIST_PATTERN, POLL_INTERVAL)

    def __init__(self, has_teams: Callable[[], bool]) -> None:
        self._has_teams = has_teams
        self._allowed: AllowedNames | None = None

    @property
    def allowed(self) -> AllowedNames:
        """The names that may be asked for."""
        return require_configured(self._allowed)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take ``allowlist.pattern`` and ``poll.interval``.

        :raises ProviderDefinitionError: the pattern is not a regular expression, or the interval not a number
        """
        super().configure(configs)
        self._allowed = self._allowed_by(configs)

    def _allowed_by(self, configs: Mapping[str, Any]) -> AllowedNames:
        return AllowedNames.of(configs, has_teams=self._has_teams())

    def check(self) -> str:
        """
        Create the secrets backends of the deployment without asking them anything, and return their names.

        :raises ProviderUnavailableError: one cannot be created
        """
        return airflow_secrets.check()


URI: Final = "uri"
PLAIN: Final = ("conn_type", "host", "port", "schema", "login", "password", "extra")
EXTRA: Final = "extra."


def read_fields(connection: Any, keys: Collection[str] | None, *, conn_id: str) -> dict[str, str]:
    """
    Return fields of ``connection`` without those that are not set or do not exist.

    :param keys: ``conn_type``, ``host``, ``port``, ``schema``, ``login``, ``password``, ``extra``, ``uri``, and
        ``extra.<name>`` for the fields of the extra, at any depth; None for all that are set
    :raises ConfigException: something in the extra is asked for, and it is not a JSON object
    :raises ProviderUnavailableError: Airflow cannot read the connection, perhaps for lack of the right Fernet key
    """
    what = f"connection '{printable(conn_id)}'"
    texts = asked(lambda: _texts(connection, _names(connection, keys), what=what), who="Airflow", what=what)
    return texts or {}


def field_problem(name: str) -> str:
    """Return why no connection has a field called ``name``; empty if one can have it."""
    fields = (*PLAIN, URI)
    if name in fields or name.startswith(EXTRA):
        return ""
    return (
        f"a connection does not have the field that it names{nearest(name, fields) or '.'} The fields are "
        f"{', '.join(fields)}, and {EXTRA}NAME for a field of the extra."
    )


def _texts(connection: Any, names: Collection[str], *, what: str) -> dict[str, str]:
    fields = {name: text for name in names if (text := _text(connection, name)) is not None}
    below = [name.removeprefix(EXTRA) for name in names if name.startswith(EXTRA)]
    found = read_json(connection.extra or None, below, what=f"extra of {what}") if below else {}
    return fields | {f"{EXTRA}{name}": text for name, text in found.items()}


def _names(connection: Any, keys: Collection[str] | None) -> Collection[str]:
    if keys is not None:
        return keys
    extra = parse_object(connection.extra or "{}") or {}
    return [*PLAIN, URI, *(f"{EXTRA}{name}" for name in read_all(extra))]


def _text(connection: Any, name: str) -> str | None:
    if name == URI:
        return str(connection.get_uri())
    value = getattr(connection, name) if name in PLAIN else None
    return None if value is None else as_text(value)


def read_json(text: str | None, keys: Collection[str] | None, *, what: str) -> dict[str, str]:
    """
    Return the values of ``keys`` in the JSON object ``text``; ``keys=None`` means all at its top.

    :param text: None if there is none, and so no key
    :param what: what holds the string, for the message
    :raises ConfigException: ``text`` is not a JSON object
    """
    if text is None:
        return {}
    document = parse_object(text)
    if document is None:
        raise ConfigException(
            f"The {printable(what)} is not a JSON object, so it has no keys. Refer to it as a whole, or correct it."
        )
    return read_keys(document, keys)
