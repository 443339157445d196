"""Airflow's ``vault`` connections, as apache-airflow-providers-hashicorp understands them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.providers.vault.settings import FALSE, TRUE, json_object

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
    url, problems = _url(connection, extra.get("use_tls"))
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


def _url(connection: Any, use_tls: Any) -> tuple[str, list[str]]:
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
    hint = nearest(name, (*_KWARGS, "cert"))
    return f"client_kwargs: there is no '{printable(name)}'{hint}. Leave it out."
