"""The providers that are known without Airflow's database or a secret store, and mistakes in their definitions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_config_providers.airflow_compat import Connection
from airflow_config_providers.core import properties
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.provider_definition import (
    KeyProblem,
    ProviderDefinition,
    read_definitions,
    unlisted_names,
)
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException, translating
from airflow_config_providers.job.providers import (
    OF_DRIVER,
    Definitions,
    deployment_registry,
    home_of,
    parse_extra,
)
from airflow_config_providers.lint.finding import UNREAD_DEFINITION, Finding, SourcePlace
from airflow_config_providers.spark.driver_providers import without_wrapping
from airflow_config_providers.spark.layer_files import read_text

_PREFIX: Final = "AIRFLOW_CONN_"


@dataclass(frozen=True, slots=True)
class KnownProviders:
    """
    The providers of a connection.

    :param names: those that its tasks or their drivers can use
    :param unlisted: those that have a class, but are not listed
    :param home: what people call the place where they are defined
    :param definitions: name -> the definition, of those that are of one class for tasks and for drivers
    :param findings: the mistakes in the definitions
    """

    names: frozenset[str]
    unlisted: frozenset[str] = frozenset()
    home: str = CONFIG_PROVIDERS
    definitions: Mapping[str, ProviderDefinition] = field(default_factory=dict, repr=False, compare=False)
    findings: tuple[Finding, ...] = ()


def form_problem(variable: ConfigVariable, known: KnownProviders | None) -> str:
    """
    Return why the provider of a reference never answers one of this form; empty if that is not known.

    If the providers are unknown, a name is taken for that of a class.
    """
    name = variable.provider
    definition = ProviderDefinition(name, name) if known is None else known.definitions.get(name)
    return "" if definition is None else deployment_registry().form_problem(definition, variable)


def of_file(path: str) -> KnownProviders:
    """
    Return the providers that a properties file defines.

    :raises ConfigException: the file cannot be read
    """
    entries = properties.parse(read_text(path, name=path), name=path)
    lines = {printable(entry.key): entry.line for entry in entries}
    return _known(
        {entry.key: entry.value for entry in entries},
        {},
        home=f"{CONFIG_PROVIDERS} of {printable(path)}",
        place_of=lambda key: SourcePlace(path, lines.get(key)),
    )


def of_extra(text: str) -> KnownProviders:
    """
    Return the providers that the extra of a connection defines.

    :raises ConfigProvidersError: it is not a JSON object, or its definitions cannot be read
    """
    parse_extra(text, what="The value of --conn-extra")
    connection = Connection(conn_id="--conn-extra", conn_type="config_providers", extra=text)
    return _of_connection(connection, home=f"{CONFIG_PROVIDERS} of --conn-extra", place="--conn-extra")


def in_environment(conn_id: str) -> KnownProviders | None:
    """
    Return the providers of the connection in ``AIRFLOW_CONN_...``; None if there is no such variable.

    :raises ConfigProvidersError: the connection or its definitions cannot be read
    """
    text = os.environ.get(f"{_PREFIX}{conn_id.upper()}")
    if text is None:
        return None
    with translating(Exception, lambda _: _unreadable(conn_id)):  # the error of any parser could quote a password
        connection = Connection.from_json(text, conn_id) if text.startswith("{") else Connection.from_uri(text, conn_id)
    found = _of_connection(connection, home=home_of(conn_id), place=_PREFIX + conn_id.upper())
    return found if found.names or found.unlisted else replace(found, home=home_of(conn_id, connection.conn_type))


def _unreadable(conn_id: str) -> ConfigException:
    return ConfigException(f"The connection in {printable(_PREFIX + conn_id.upper())} cannot be read. Correct it.")


def _of_connection(connection: Connection, *, home: str, place: str) -> KnownProviders:
    definitions = Definitions(connection.conn_id, connection)
    return _known(definitions.of_tasks(), definitions.of_driver(), home=home, place_of=lambda _: SourcePlace(place))


def _known(
    props: Mapping[str, str], of_driver: Mapping[str, str], *, home: str, place_of: Callable[[str], SourcePlace]
) -> KnownProviders:
    sent = without_wrapping(of_driver)
    own, others = ({one.name: one for one in read_definitions(found)[0]} for found in (props, sent))
    problems = [(one, place_of(key)) for key, one in _unread_keys(own)]
    problems += [(f"{OF_DRIVER}{one}", place_of(f"{OF_DRIVER}{key}")) for key, one in _unread_keys(others)]
    names = own.keys() | others.keys()
    in_one_form = {
        name: one for name, one in (others | own).items() if one.class_name == others.get(name, one).class_name
    }
    findings = tuple(Finding(UNREAD_DEFINITION, place, problem) for problem, place in problems)
    return KnownProviders(frozenset(names), unlisted_names(props, names), home, in_one_form, findings)


def _unread_keys(definitions: Mapping[str, ProviderDefinition]) -> list[KeyProblem]:
    registry = deployment_registry()
    return [problem for one in definitions.values() for problem in registry.unread_keys(one)]
