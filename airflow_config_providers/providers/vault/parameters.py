"""Reads the settings of a Vault from the parameters of a provider and the connection that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from airflow_config_providers.core.polled_provider import DEFAULT_POLL_INTERVAL, LONGEST_POLL_INTERVAL, POLL_INTERVAL
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.providers.vault.logins import approle, clouds, credentials
from airflow_config_providers.providers.vault.logins.login import Login
from airflow_config_providers.providers.vault.settings import FALSE, TRUE, Options, VaultSettings, json_object

_SCHEMES: Final[Mapping[str, str]] = {"vault": "http", "vaults": "https", "http": "http", "https": "https"}

_EXTRA: Final = (
    "auth_mount_point",
    "azure_resource",
    "azure_role",
    "azure_tenant_id",
    "gcp_key_path",
    "gcp_keyfile_dict",
    "gcp_scopes",
    "header_value",
    "jwt_role",
    "jwt_token",
    "jwt_token_path",
    "kubernetes_jwt_path",
    "kubernetes_role",
    "kv_engine_version",
    "region",
    "resource_group_name",
    "role_id",
    "secret_id_path",
    "subscription_id",
    "token_path",
    "vm_name",
    "vmss_name",
)
"""Options taken from the extra under the same name; everything else there is ignored."""

_KWARGS: Final = ("assume_role_kwargs", "namespace", "proxies", "timeout", "verify")
"""Options taken from ``client_kwargs`` under the same name."""

_HARMLESS: Final = frozenset({"strict_http", "request_header"})
"""Options that do not change our requests, or not for the worse."""


class _Names(NamedTuple):
    login: str = ""
    password: str = ""


_CREDENTIALS: Final[Mapping[str, _Names]] = {
    "approle": _Names("role_id", "secret_id"),
    "aws_iam": _Names("key_id", "secret_id"),
    "azure": _Names("key_id", "secret_id"),
    "gcp": _Names("role_id"),
    "github": _Names(password="token"),  # noqa: S106 - the name of an option
    "ldap": _Names("username", "password"),
    "radius": _Names("username", "password"),
    "token": _Names(password="token"),  # noqa: S106 - the name of an option
    "userpass": _Names("username", "password"),
}
"""The meaning of login and password in each way to sign in."""


def read_connection(connection: Any, *, auth_type: str = "") -> tuple[dict[str, Any], list[str]]:
    """
    Return the options that ``connection`` holds, and its problems.

    :param connection: has conn_type, host, port, schema, login, password and extra, a JSON string
    :param auth_type: how to sign in, instead of what the connection says; empty to use the connection
    """
    extra = json_object(connection.extra or "{}")
    if extra is None:
        return {}, ["its extra is not a JSON object. Correct it."]
    url, problems = _url_of_connection(connection, extra.get("use_tls"))
    kwargs, further_problems = _client_kwargs(extra.get("client_kwargs"))
    kind = auth_type or extra.get("auth_type") or "token"
    named = {"auth_type": kind, "mount_point": connection.schema, "url": url}
    return {**kwargs, **_credentials(kind, connection, extra), **named}, problems + further_problems


def _credentials(kind: Any, connection: Any, extra: Mapping[str, Any]) -> dict[str, Any]:
    names = _CREDENTIALS.get(kind, _Names()) if isinstance(kind, str) else _Names()
    given = {names.login: connection.login, names.password: connection.password}
    own = {name: value for name, value in given.items() if name and value}
    further = {name: extra[name] for name in _EXTRA if extra.get(name) not in (None, "")}
    return {**own, **further} if kind == "gcp" else {**further, **own}


def _url_of_connection(connection: Any, use_tls: Any) -> tuple[str, list[str]]:
    scheme, problems = _scheme(connection.conn_type, use_tls)
    host = connection.host or ""
    if not host:
        problems.append("it has no host. Add the host of Vault.")
    elif "://" in host:
        problems.append("its host begins with a scheme. Write only the host, and set use_tls in the extra for https.")
    if problems:
        return "", problems
    bracketed = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
    return f"{scheme}://{bracketed}" + (f":{connection.port}" if connection.port else ""), []


def _scheme(conn_type: Any, use_tls: Any) -> tuple[str, list[str]]:
    word = "" if use_tls is None else str(use_tls).strip().lower()
    if word:
        wrong = ["use_tls in its extra is neither true nor false. Write one of them."]
        return "https" if word in TRUE else "http", [] if word in TRUE | FALSE else wrong
    if conn_type in _SCHEMES:
        return _SCHEMES[conn_type], []
    return "", [f"its type is {printable(str(conn_type))}. Make it vault or vaults, or set use_tls in its extra."]


def _client_kwargs(given: Any) -> tuple[dict[str, Any], list[str]]:
    kwargs = json_object(given) if isinstance(given, str) and given else given or {}
    if not isinstance(kwargs, dict):
        return {}, ["client_kwargs in its extra is not a JSON object. Correct it."]
    options = {name: kwargs[name] for name in _KWARGS if kwargs.get(name) is not None}
    cert = kwargs.get("cert")
    pair = cert if isinstance(cert, list) else [cert]
    options |= {name: path for name, path in zip(("client_cert", "client_key"), pair, strict=False) if path}
    return options, [problem for name, value in kwargs.items() if (problem := _unusable(name, value))]


def _unusable(name: str, value: Any) -> str:
    if name in {*_KWARGS, "cert", *_HARMLESS} or value is None:
        return ""
    if name == "allow_redirects":
        return "" if value is False else "client_kwargs: allow_redirects: redirects are never followed. Leave it out."
    if name in {"session", "adapter", "ignore_exceptions"}:
        return f"client_kwargs: {name} cannot be given: the provider has its own. Leave it out."
    hint = nearest(name, (*_KWARGS, "cert")) or "."
    return f"client_kwargs: there is no '{printable(name)}'{hint} Leave it out."


_IN_CONNECTION: Final = (*_EXTRA, *_KWARGS, *(name for names in _CREDENTIALS.values() for name in names if name))
"""Parameters that a connection can hold under the same name, or in login and password."""

PARAMS: Final = tuple(
    sorted(
        {
            *_IN_CONNECTION,
            *("address", "auth_namespace", "auth_type", "ca_cert", "cache.ttl", "client_cert", "client_key", "conn_id"),
            *("give_back_after_kill", "mount_point", "password_path", "trust_env", "url", "wrapped_secret_id"),
            POLL_INTERVAL,
        }
    )
)
"""All parameters."""

_EITHER_OR: Final = (
    ("address", "url"),
    ("token", "token_path"),
    ("secret_id", "secret_id_path"),
    ("secret_id", "wrapped_secret_id"),
    ("secret_id_path", "wrapped_secret_id"),
    ("password", "password_path"),
    ("jwt_token", "jwt_token_path"),
)
"""Parameters with the same meaning; only one of them may be given."""

_TOGETHER: Final = (
    *_EITHER_OR,
    ("gcp_key_path", "gcp_keyfile_dict"),
    ("ca_cert", "verify"),
    ("client_cert", "client_key"),
)
"""Parameters that belong together: if one is given, all of them are ignored in the connection."""

_LOGINS: Final[Mapping[str, Callable[[Options], Login]]] = {
    "approle": approle.read,
    "aws_iam": clouds.read_aws_iam,
    "azure": clouds.read_azure,
    "gcp": clouds.read_gcp,
    "github": credentials.read_github,
    "jwt": credentials.read_jwt,
    "kubernetes": credentials.read_service_account,
    "ldap": partial(credentials.read_password, of=credentials.LDAP),
    "radius": partial(credentials.read_password, of=credentials.RADIUS),
    "userpass": partial(credentials.read_password, of=credentials.USERPASS),
}

AUTH_TYPES: Final = frozenset({*_LOGINS, "token"})
"""All values of ``auth_type``."""

_URL: Final = re.compile(
    r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?((?:/[a-z0-9._~-]+)*)/?", re.IGNORECASE | re.ASCII
)
_CA_VARIABLES: Final = ("VAULT_CACERT", "VAULT_CAPATH", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Environment variables that name a CA bundle; the first one that is set wins."""

_DAY_MS: Final = 24 * 60 * 60 * 1000


def read_settings(
    params: Mapping[str, Any], *, connections: Callable[[str], Any | None], environ: Mapping[str, str]
) -> VaultSettings:
    """
    Return the settings in a provider's parameters, and in the connection that ``conn_id`` names.

    A parameter beside ``conn_id`` overrides the connection; an empty one removes what the connection says.

    :param connections: returns the connection of an ID; None if there is none
    :param environ: for ``VAULT_TOKEN``, a CA bundle and a client certificate, if the parameters name none
    :raises ProviderDefinitionError: names all problems; contains no secret
    """
    options = _options(params, connections)
    settings = VaultSettings(
        url=_url(options),
        login=_login(options, environ),
        namespace=options.segments("namespace") or None,
        mount_point=options.segments("mount_point") or None,
        kv_version=options.whole("kv_engine_version", default=None, least=1, most=2),
        timeout=options.number("timeout", default=10.0, most=3600.0, unit="seconds"),
        verify=_verify(options, environ),
        cert=_cert(options, environ),
        proxies=_proxies(options),
        trust_env=options.flag("trust_env", default=False),
        cache_ttl=options.whole("cache.ttl", default=1000, least=0, most=_DAY_MS) or 0,
        gives_back_after_kill=options.flag("give_back_after_kill", default=True),
        auth_namespace=options.segments("auth_namespace") or None,
        poll_interval=options.whole(POLL_INTERVAL, default=None, least=1000, most=LONGEST_POLL_INTERVAL)
        or DEFAULT_POLL_INTERVAL,
    )
    if options.problems:
        raise ProviderDefinitionError(*dict.fromkeys(options.problems))
    return settings


def _options(params: Mapping[str, Any], connections: Callable[[str], Any | None]) -> Options:
    own = Options(params)
    own.problems.extend(_misnamed(own))
    found: dict[str, Any] = {}
    problems: list[str] = []
    if conn_id := own.text("conn_id"):
        found, problems = _connection(conn_id, connections, auth_type=own.text("auth_type"))
        own.problems.extend(problems)
        if own.has("url") or own.has("address"):
            own.problems.append("conn_id and url are both given. The connection has the address: leave url out.")
    hidden = {name for group in _TOGETHER for name in group if not params.keys().isdisjoint(group)}
    kept = {name: value for name, value in found.items() if name not in hidden}
    options = Options({**kept, **params}, own.problems, is_part=bool(problems))
    if own.has("secret_id_path") and options.values.get("auth_type") in {"aws_iam", "azure"}:
        own.problems.append("secret_id_path is for auth_type approle. Give secret_id, or an identity without a secret.")
    return options


def _misnamed(own: Options) -> list[str]:
    unknown = [
        f"'{printable(name)}' is not a parameter of the Vault provider{nearest(name, PARAMS) or '.'} "
        f"Correct or remove it."
        for name in own.values
        if name not in PARAMS
    ]
    double = [
        f"{' and '.join(group)} are both given. Leave one of them out."
        for group in _EITHER_OR
        if all(own.has(name) for name in group)
    ]
    return unknown + double


def _connection(
    conn_id: str, connections: Callable[[str], Any | None], *, auth_type: str
) -> tuple[dict[str, Any], list[str]]:
    connection = connections(conn_id)
    if connection is None:
        return {}, [f"There is no connection '{printable(conn_id)}'. Add one of type vault, or correct conn_id."]
    options, problems = read_connection(connection, auth_type=auth_type)
    return options, [f"Connection '{printable(conn_id)}': {problem}" for problem in problems]


def _login(options: Options, environ: Mapping[str, str]) -> Login:
    auth_type = options.choice("auth_type", AUTH_TYPES, default="token")
    if auth_type == "token":
        return credentials.read_token(options, environ=environ)
    return _LOGINS[auth_type](options) if auth_type else credentials.NOTHING


def _url(options: Options) -> str:
    text = options.text("url") or options.text("address")
    if text:
        return _checked_url(text, options.problems)
    options.miss("The address is missing. Set conn_id, or url, as in url=https://vault.example.com:8200")
    return ""


def _checked_url(text: str, problems: list[str]) -> str:
    match = _URL.fullmatch(text)
    if match and int((match[3] or ":1")[1:]) in range(1, 65536) and not {".", ".."} & set(match[4].split("/")):
        return f"{match[1]}://{match[2]}{match[3] or ''}".lower() + match[4]
    problems.append(
        "The address cannot be used. Write http:// or https://, a host and, if needed, a port and a path. It must not "
        "contain a user, a password, a query or a fragment."
    )
    return ""


def _verify(options: Options, environ: Mapping[str, str]) -> bool | str:
    """
    Return the CA to verify with: ``ca_cert``, a path in ``verify``, one that the environment names, or True.

    False only if ``verify`` says so.
    """
    said = options.values.get("verify")
    word = str(said).lower() if isinstance(said, bool) else options.text("verify")
    ca_cert = options.existing("ca_cert")
    if word.lower() in FALSE:
        if ca_cert:
            options.problems.append("verify is false, but ca_cert names a CA to verify with. Leave one of them out.")
        return False
    if ca_cert:
        return ca_cert
    if word and word.lower() not in TRUE:
        return options.existing("verify")
    named = next((name for name in _CA_VARIABLES if environ.get(name)), None)
    return True if named is None else options.existing(named, path=environ[named])


def _cert(options: Options, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the client certificate and its key, which can be in one file; None for none."""
    cert, key = options.existing("client_cert"), options.existing("client_key")
    if key and not cert:
        options.problems.append("client_key is given without a certificate. Add client_cert.")
    if not cert and environ.get("VAULT_CLIENT_CERT"):
        cert = options.existing("VAULT_CLIENT_CERT", path=environ["VAULT_CLIENT_CERT"])
        key = options.existing("VAULT_CLIENT_KEY", path=environ.get("VAULT_CLIENT_KEY", ""))
    return (cert, key or cert) if cert else None


def _proxies(options: Options) -> tuple[tuple[str, str], ...]:
    """Return the proxy of each scheme."""
    proxies = options.mapping("proxies")
    if all(isinstance(url, str) for url in proxies.values()):
        return tuple(sorted(proxies.items()))
    options.problems.append("proxies has a value that is not a string. Write an address for each scheme.")
    return ()
