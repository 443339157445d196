"""The command that lists the providers of the deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.failing import Notes, reporting_errors
from airflow_config_providers.cli.output import is_for_people, show
from airflow_config_providers.cli.target import require_here
from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.registry import ConfiguredProviders
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.deployment.records import reading
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ProviderDefinitionError, ProviderUnavailableError, refuse
from airflow_config_providers.job.providers import (
    CONN_TYPE,
    Definitions,
    deployment_registry,
    misspelt_fields,
    no_provider,
)
from airflow_config_providers.lazy import sa
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_secrets import empty_variable, has_teams, ids_of_variables
from airflow_config_providers.providers.checks import Answer, ask_each


@reporting_errors
def list_(args: Any) -> None:
    """List the providers that a connection defines, and all problems; with ``--check``, test if each can answer."""
    require_here("providers list")
    providers, problems = deployment_registry().open_each(definitions_at(args.conn_id or settings.config_conn_id()))
    with providers:
        answers = ask_each(providers) if args.check else {}
        unasked = "not checked" if is_for_people(args.output) else None
        rows = [_row(name, providers, answers.get(name), unasked) for name in providers]
    for name in sorted(providers.unlisted):
        Notes()(f"Provider '{printable(name)}' is defined but not listed in {CONFIG_PROVIDERS}. Add it to that list.")
    show(rows, args.output, nothing="No provider is usable.")
    silent = [f"{printable(name)}: {text}" for name, (is_good, text) in answers.items() if is_good is False]
    if problems:
        raise ProviderDefinitionError(*problems, *silent)
    refuse(ProviderUnavailableError, silent)


def definitions_at(conn_id: str) -> Mapping[str, Any]:
    """
    Return ``config.providers`` and the keys below it from a connection.

    :raises ProviderDefinitionError: there is no such connection, or it defines no provider
    """
    # Not with the hook: on the command line, the Task SDK does not see the connections in the database.
    connection = airflow_secrets.connection(conn_id)
    if connection is None:
        raise ProviderDefinitionError(_missing(conn_id))
    definitions = Definitions(conn_id, connection).of_tasks()
    if not definitions.get(CONFIG_PROVIDERS, "").strip():
        raise ProviderDefinitionError(_undefined(conn_id, connection, definitions))
    return definitions


def _missing(conn_id: str) -> str:
    missing = f"There is no connection '{printable(conn_id)}'"
    if name := empty_variable(conn_id):
        return (
            f"{missing}: Airflow ignores {printable(name)}, which is empty. Write a connection into it, or remove it."
        )
    teams = _teams()
    if team := teams.get(conn_id):
        return (
            f"Connection '{printable(conn_id)}' belongs to team '{printable(team)}', for whose tasks alone it defines "
            f"providers, and this command asks for no team. Use --conn-id to name a connection without a team."
        )
    shared = [one for one, team in teams.items() if team is None]
    hint = nearest(conn_id, {*shared, *ids_of_variables()} - {conn_id}) or "."
    return f"{missing}{hint} Correct --conn-id, or add a connection of type {CONN_TYPE}."


def _teams() -> Mapping[str, str | None]:
    """Return connection id -> team, as in Airflow's database. Those in a secrets backend cannot be listed."""
    from airflow.models.connection import Connection  # noqa: PLC0415 - heavy

    are_apart = has_teams()
    with suppress(ProviderUnavailableError):
        rows = reading(lambda session: session.execute(sa.select(Connection.conn_id, Connection.team_name)).all())
        return {conn_id: team if are_apart else None for conn_id, team in rows}
    return {}


def _undefined(conn_id: str, connection: Any, definitions: Iterable[str]) -> str:
    hints = misspelt_fields(connection, definitions)
    return no_provider(conn_id, " ".join(hints) or _way_out(connection))


def _way_out(connection: Any) -> str:
    if (kind := connection.conn_type) == CONN_TYPE:
        return "Add it, with the names of the providers."
    return f"Its type is '{printable(kind or '')}': use --conn-id to name a connection of type {CONN_TYPE}."


def _row(name: str, providers: ConfiguredProviders, answer: Answer | None, unasked: str | None) -> Row:
    """
    Return a row for a provider.

    :param answer: what it answered; None if none was asked
    :param unasked: what the row has if its class cannot tell whether it can answer
    """
    kind = type(providers[name])
    path = f"{kind.__module__}.{kind.__qualname__}"
    row = {"name": name, "class": path, "distribution": providers.origins.get(name) or None}
    if answer is None:
        return row
    is_good, text = answer
    return {**row, "answers": unasked if is_good is None else is_good, "says": text}
