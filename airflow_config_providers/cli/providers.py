"""The command that lists the providers of the deployment."""

from __future__ import annotations

from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.failing import told
from airflow_config_providers.cli.output import show
from airflow_config_providers.cli.where import require_here
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ConfiguredProviders, ProviderRegistry
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ProviderDefinitionError, ProviderUnavailableError
from airflow_config_providers.hooks.config_providers import definitions_of
from airflow_config_providers.hooks.provider_checks import ask_each
from airflow_config_providers.providers import airflow_secrets


@told
def list_(args: Any) -> None:
    """List the providers that a connection defines, with all that is wrong; if asked for, ask each if it can answer."""
    require_here(args, "providers list")
    # Not by way of the hook: on the command line the Task SDK does not see the connections of the database.
    definitions = definitions_of(args.conn_id, airflow_secrets.connection(args.conn_id))
    registry = ProviderRegistry(allowed_classes=settings.allowed_provider_classes(), deployment=True)
    providers, problems = registry.open_each(definitions)
    with providers:
        outcomes = ask_each(providers) if args.check else {}
        rows = [_row(name, providers, outcomes.get(name)) for name in providers]
    show(rows, args.output, nothing="No providers.")
    silent = [f"{printable(name)}: {text}" for name, (is_good, text) in outcomes.items() if not is_good]
    if problems:
        raise ProviderDefinitionError(*problems, *silent)
    if silent:
        raise ProviderUnavailableError(*silent)


def _row(name: str, providers: ConfiguredProviders, outcome: tuple[bool, str] | None) -> Row:
    row = {"name": name, "class": _path(providers[name]), "distribution": providers.origins.get(name) or None}
    return row if outcome is None else {**row, "answers": outcome[0], "says": outcome[1]}


def _path(provider: ConfigProvider) -> str:
    return f"{type(provider).__module__}.{type(provider).__qualname__}"
