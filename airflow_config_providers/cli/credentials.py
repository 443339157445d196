"""The token that a command sends to a server. It is given, or obtained with a user's name and password."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from getpass import getpass
from typing import Any, Final

from airflow_config_providers.cli.arguments import text_of
from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.cli.server_client import ServerClient
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ForbiddenError, ProviderUnavailableError

TOKEN: Final = "AIRFLOW_CLI_TOKEN"  # noqa: S105 - the name of a variable, which airflowctl reads too
"""The environment variable that holds the token."""


def token(args: Any, client: ServerClient, environ: Mapping[str, str] = os.environ) -> str:
    """
    Return the user's token: obtained by name and password, read from the file that ``args`` name, or from ``environ``.

    :param client: the client that asks the server for a token; it has none itself
    :raises WrongArgumentsError: there are no credentials, or options conflict
    :raises ForbiddenError: the server does not accept the user's name and password
    """
    if problems := list(conflicts(args)):
        raise WrongArgumentsError(*problems)
    if args.username:
        return _of_password(client, args.username, _password(args))
    text = text_of(args.token_file) if args.token_file else environ.get(TOKEN, "")
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


def _clean(text: str, name: str) -> str:
    found = text.strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise ConfigException(f"{printable(name)} does not contain a valid token. Correct it.")
    return found


def _password(args: Any) -> str:
    if args.password_file:
        return text_of(args.password_file).removesuffix("\n").removesuffix("\r")
    if not sys.stdin.isatty():
        raise WrongArgumentsError(
            "The password cannot be prompted for without a terminal. Add --password-file FILE, or - for standard input."
        )
    return getpass(f"Password of {printable(args.username)}: ")


def _of_password(client: ServerClient, username: str, password: str) -> str:
    answer = client.ask("POST", "/auth/token", body={"username": username, "password": password})
    where, content = printable(client.address), answer.content
    if answer.status in {200, 201} and isinstance(content, Mapping) and isinstance(content.get("access_token"), str):
        return _clean(content["access_token"], where)
    if answer.status in {401, 403, 422}:
        raise ForbiddenError(f"{where} does not accept this user name and password. Correct them.")
    if answer.status >= 500:
        raise ProviderUnavailableError(f"{where} failed ({answer.status}). Try again later.")
    raise ConfigException(
        f"{where} does not issue tokens for passwords ({answer.status}). Get a token as its other users do."
    )
