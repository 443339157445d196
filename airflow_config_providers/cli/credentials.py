"""Who asks a server: a token, or a user's name and password that it is got with."""

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
"""The environment variable with the token."""


def token(args: Any, client: ServerClient, environ: Mapping[str, str] = os.environ) -> str:
    """
    Give the token of the user: of the file that ``args`` name, by name and password, or of the environment.

    :param client: asks the server, without a token
    :raises WrongArgumentsError: nothing tells who asks, or two things do
    :raises ForbiddenError: the server does not know the user
    """
    if problems := list(conflicts(args)):
        raise WrongArgumentsError(*problems)
    if args.username:
        return _of_password(client, args.username, _password(args))
    text = text_of(args.token_file) if args.token_file else environ.get(TOKEN, "")
    if not text.strip():
        raise WrongArgumentsError(f"Who asks the server? Set {TOKEN}, or add --token-file FILE or --username NAME.")
    return _clean(text, args.token_file or TOKEN)


def conflicts(args: Any) -> Iterator[str]:
    """Say which options do not go together."""
    if args.token_file and args.username:
        yield "--token-file and --username both tell who asks. Keep one of them."
    if args.password_file and not args.username:
        yield "Whose password is it? Add --username."


def _clean(text: str, name: str) -> str:
    found = text.strip()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise ConfigException(f"{printable(name)} holds something else than a token. Correct it.")
    return found


def _password(args: Any) -> str:
    if args.password_file:
        return text_of(args.password_file).removesuffix("\n").removesuffix("\r")
    if not sys.stdin.isatty():
        raise WrongArgumentsError("Nobody is there to ask for the password. Add --password-file FILE, or - for input.")
    return getpass(f"Password of {printable(args.username)}: ")


def _of_password(client: ServerClient, username: str, password: str) -> str:
    answer = client.ask("POST", "/auth/token", body={"username": username, "password": password})
    where, content = printable(client.address), answer.content
    if answer.status in {200, 201} and isinstance(content, Mapping) and isinstance(content.get("access_token"), str):
        return _clean(content["access_token"], where)
    if answer.status in {401, 403, 422}:
        raise ForbiddenError(f"{where} does not accept this user with this password.")
    if answer.status >= 500:
        raise ProviderUnavailableError(f"{where} failed ({answer.status}). Try again later.")
    raise ConfigException(f"{where} gives no tokens for passwords ({answer.status}). Get a token as its users do.")
