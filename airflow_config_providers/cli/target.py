"""What a command works on: the database of this deployment, or a server with the token of the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from getpass import getpass
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.cli.arguments import text_of
from airflow_config_providers.cli.failing import Notes, WrongArgumentsError
from airflow_config_providers.cli.server import ServerClient, ServerConfigurations
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    ProviderUnavailableError,
    problems_of,
    refuse,
)

if TYPE_CHECKING:
    from airflow_config_providers.deployment.configurations import DeployedConfigurations
    from airflow_config_providers.deployment.rows import Row

    Configurations = DeployedConfigurations | ServerConfigurations

SERVER: Final = "AIRFLOW_CONFIG_PROVIDERS_SERVER"
"""The environment variable that replaces ``--server``."""

NOW: Final = "now"
"""What would settle now, as a side of a comparison."""

_OF_SERVER: Final = ("--token-file", "--username", "--password-file", "--allow-plain-http")
"""The options that require ``--server``."""

TOKEN: Final = "AIRFLOW_CLI_TOKEN"  # noqa: S105 - the name of a variable, which airflowctl reads too
"""The environment variable that holds the token."""


def configurations(args: Any, notes: Callable[[str], None]) -> Configurations:
    """
    Return the configurations that ``args`` select: those of a server, or of this deployment.

    :param notes: is called with each note for the reader
    :raises WrongArgumentsError: the address of the server is wrong, or the credentials are
    """
    if server := _server(args):
        return ServerConfigurations(_signed_in(server, args), notes)
    from airflow_config_providers.deployment.configurations import DeployedConfigurations  # noqa: PLC0415 - heavy

    return DeployedConfigurations(notes)


def configurations_at(address: str, args: Any, notes: Callable[[str], None]) -> ServerConfigurations:
    """
    Return the configurations of another deployment, whose notes begin with its address.

    :param address: the address of its server
    :raises WrongArgumentsError: the credentials are wrong
    """
    client = _signed_in(address, args)
    return ServerConfigurations(client, lambda note: notes(f"{client.address}: {note}"))


def is_address(text: str) -> bool:
    """Return whether a side of ``--diff`` is the address of a server."""
    return text.startswith(("http://", "https://"))


def address_in(args: Any) -> str:
    """Return the address of the server that a side of ``--diff`` names; empty if none does."""
    return next(filter(is_address, getattr(args, "diff", None) or ()), "")


def known_history(found: Configurations, notes: Notes, resource: ConfigResource) -> list[Row]:
    """Return the changes of ``resource``; with a note, none if they cannot be read."""
    try:
        return found.history(resource)
    except ConfigProvidersError as error:
        problem = " ".join(error.problems)
    notes(f"Who changed {resource} is not shown. {problem}")
    return []


def check(args: Any) -> None:
    """
    Check the options that say where to work, without a request to the server.

    :raises WrongArgumentsError: lists all problems of these options
    """
    server = _server(args) or address_in(args)
    if server:
        problems = [*_conflicting_servers(args), *conflicts(args), *problems_of(lambda: _client(server, args))]
    else:
        problems = list(_needing_server(args))
    refuse(WrongArgumentsError, problems)


def require_here(what: str) -> None:
    """
    Refuse to run a command with a server if it works only on the deployment's own machines.

    :param what: the command
    :raises WrongArgumentsError: the environment names a server
    """
    if os.environ.get(SERVER):
        raise WrongArgumentsError(
            f"'{what}' works only on a machine of the deployment, with its settings and its database. Run it there, "
            f"without {SERVER}."
        )


def token(args: Any, client: ServerClient, environ: Mapping[str, str] = os.environ) -> str:
    """
    Return the user's token: obtained by name and password, read from the file that ``args`` name, or from ``environ``.

    :param client: the client that asks the server for a token; it has none itself
    :raises WrongArgumentsError: there are no credentials, or options conflict
    :raises ForbiddenError: the server does not accept the user's name and password
    """
    refuse(WrongArgumentsError, conflicts(args))
    if args.username:
        return _of_password(client, args.username, _password(args))
    text = text_of(args.token_file, kind="token file") if args.token_file else environ.get(TOKEN, "")
    if not text.strip():
        raise WrongArgumentsError(
            f"No credentials for the server. Set {TOKEN}, or add --token-file FILE or --username NAME."
        )
    return _clean(text, args.token_file or TOKEN)


def conflicts(args: Any) -> Iterator[str]:
    """Yield a sentence for each conflict between the credential options."""
    if args.token_file and args.username:
        yield "--token-file and --username exclude each other. Keep one of them."
    if args.password_file and not args.username:
        yield "--password-file requires --username. Add it."


def _needing_server(args: Any) -> Iterator[str]:
    for option in _OF_SERVER:
        if getattr(args, option.removeprefix("--").replace("-", "_")):
            yield f"{option} requires a server. Add --server URL, or remove {option}."


def _conflicting_servers(args: Any) -> Iterator[str]:
    """Yield why the credentials could go to a server that they are not for."""
    if address_in(args) and _server(args):
        yield f"--diff compares this deployment with an address. Remove --server, or unset {SERVER}."
    if len(list(filter(is_address, getattr(args, "diff", None) or ()))) > 1:
        yield "--diff: only one side can be an address, because your token is for one server."


def _client(server: str, args: Any) -> ServerClient:
    return ServerClient.of(server, plain_http=args.allow_plain_http)


def _signed_in(server: str, args: Any) -> ServerClient:
    client = _client(server, args)
    return replace(client, token=token(args, client))


def _server(args: Any) -> str:
    return str(args.server or os.environ.get(SERVER, ""))


def _clean(text: str, name: str) -> str:
    found = text.strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        way_out = "Remove 'Authorization: Bearer' before the token" if "Bearer " in found else "Correct it"
        raise ConfigException(f"{printable(name)} does not contain a valid token. {way_out}.")
    return found


def _password(args: Any) -> str:
    if args.password_file:
        return text_of(args.password_file, kind="password file").removesuffix("\n").removesuffix("\r")
    if sys.stdin is None or not sys.stdin.isatty():
        raise WrongArgumentsError(
            "The password cannot be prompted for without a terminal. Add --password-file FILE, or - for standard input."
        )
    return getpass(f"Password of {printable(args.username)}: ")


def _of_password(client: ServerClient, username: str, password: str) -> str:
    where = printable(client.address)
    status, content = client.ask("POST", "/auth/token", body={"username": username, "password": password})
    if status in {200, 201} and isinstance(content, Mapping) and isinstance(content.get("access_token"), str):
        return _clean(content["access_token"], where)
    if status in {401, 403, 422}:
        raise ForbiddenError(f"{where} does not accept this user name and password. Correct them.")
    if status >= 500:
        raise ProviderUnavailableError(f"{where} failed ({status}). Try again later.")
    raise ConfigException(f"{where} does not issue tokens for passwords ({status}). Get a token as its other users do.")
