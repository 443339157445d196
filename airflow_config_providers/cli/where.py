"""Where a command works: in this deployment's database, or on a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.deployment.configurations import Configurations

if TYPE_CHECKING:
    from airflow_config_providers.cli.server_client import ServerClient

SERVER: Final = "AIRFLOW_CONFIG_PROVIDERS_SERVER"
"""The environment variable that replaces ``--server``."""

_OF_SERVER: Final = ("--token-file", "--username", "--password-file", "--allow-plain-http")
"""The options that require ``--server``."""


def configurations(args: Any, notes: Callable[[str], None]) -> Configurations:
    """
    Return the configurations that ``args`` select: those of a server, or of this deployment.

    :param notes: is called with each note for the reader
    :raises WrongArgumentsError: the address of the server is wrong, or the credentials are
    """
    if server := _server(args, os.environ):
        from airflow_config_providers.cli.credentials import token  # noqa: PLC0415 - needed only for a server
        from airflow_config_providers.cli.server import ServerConfigurations  # noqa: PLC0415 - as above

        client = _client(server, args)
        return ServerConfigurations(client.signed_in(token(args, client)), notes)
    from airflow_config_providers.deployment.deployed import DeployedConfigurations  # noqa: PLC0415 - heavy

    return DeployedConfigurations(notes)


def check(args: Any) -> None:
    """
    Check the options that say where to work, without a request to the server.

    :raises WrongArgumentsError: lists all problems of these options
    """
    from airflow_config_providers.cli.credentials import conflicts  # noqa: PLC0415 - needed only for a server

    server = _server(args, os.environ)
    problems = [] if server else list(_needing_server(args))
    try:
        if server:
            problems += conflicts(args)
            _client(server, args)
    except WrongArgumentsError as error:
        problems += error.problems
    if problems:
        raise WrongArgumentsError(*problems)


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


def _needing_server(args: Any) -> Iterator[str]:
    for option in _OF_SERVER:
        if getattr(args, option.removeprefix("--").replace("-", "_")):
            yield f"{option} requires a server. Add --server URL, or remove {option}."


def _client(server: str, args: Any) -> ServerClient:
    from airflow_config_providers.cli.server_client import ServerClient  # noqa: PLC0415 - needed only for a server

    return ServerClient.of(server, plain_http=args.allow_plain_http)


def _server(args: Any, environ: Mapping[str, str]) -> str:
    return str(args.server or environ.get(SERVER, ""))
