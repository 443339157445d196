"""Where a command does its work: in this deployment's database, or on a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.deployment.configurations import Configurations

SERVER: Final = "AIRFLOW_CONFIG_PROVIDERS_SERVER"
"""The environment variable that stands for ``--server``."""


def configurations(args: Any, notes: Callable[[str], None]) -> Configurations:
    """
    Give what ``args`` are about.

    :param notes: is told what a reader should know
    :raises WrongArgumentsError: the server, or who asks it, is not named as it should be
    """
    if server := _server(args, os.environ):
        from airflow_config_providers.cli.credentials import token  # noqa: PLC0415 - needed for a server alone
        from airflow_config_providers.cli.server import ServerConfigurations  # noqa: PLC0415 - as above
        from airflow_config_providers.cli.server_client import ServerClient  # noqa: PLC0415 - as above

        client = ServerClient.of(server, plain_http=args.allow_plain_http)
        return ServerConfigurations(client.signed_in(token(args, client)), notes)
    from airflow_config_providers.deployment.deployed import DeployedConfigurations  # noqa: PLC0415 - heavy

    return DeployedConfigurations(notes)


def require_here(args: Any, what: str) -> None:
    """
    Refuse a server for what only the deployment's own machine can do.

    :param what: the command
    :raises WrongArgumentsError: a server is named
    """
    if _server(args, os.environ):
        raise WrongArgumentsError(
            f"'{what}' works on a machine of the deployment alone, with its settings and its database. Run it there, "
            f"without --server and {SERVER}."
        )


def _server(args: Any, environ: Mapping[str, str]) -> str:
    return str(args.server or environ.get(SERVER, ""))
