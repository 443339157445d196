"""From options to a way to sign in, one function for each auth type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from airflow_config_providers.providers.vault.credential import Credential
from airflow_config_providers.providers.vault.login import CredentialLogin, Login, TokenLogin
from airflow_config_providers.providers.vault.login_aws import AwsIamLogin
from airflow_config_providers.providers.vault.login_azure import AzureLogin, AzureMachine
from airflow_config_providers.providers.vault.login_gcp import CLOUD_PLATFORM, GcpLogin
from airflow_config_providers.providers.vault.settings import Options
from airflow_config_providers.providers.vault.wrapping import WrappedSecretIdLogin

KUBERNETES_JWT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def read_login(options: Options, *, environ: Mapping[str, str]) -> Login:
    """Make the login that ``auth_type`` names; what it lacks becomes a problem of the options."""
    auth_type = options.choice("auth_type", AUTH_TYPES, default="token")
    if auth_type == "token":
        return _token(options, environ)
    return _LOGINS[auth_type](options) if auth_type else TokenLogin(Credential())


def _token(options: Options, environ: Mapping[str, str]) -> Login:
    if not options.has("token") and not options.has("token_path"):
        if environ.get("VAULT_TOKEN"):
            return TokenLogin(Credential(environ["VAULT_TOKEN"]))
        options.miss(
            "auth_type token needs token_path or token, or the environment variable VAULT_TOKEN. Add one, or name "
            "another auth_type."
        )
    return TokenLogin(_credential(options, "token"))


def _approle(options: Options) -> Login:
    role_id = options.needed("role_id", by="auth_type approle")
    if options.has("wrapped_secret_id"):
        wrapping = Credential(options.secret("wrapped_secret_id"))
        return WrappedSecretIdLogin(role_id, wrapping, options.segments("auth_mount_point"))
    has_secret = options.has("secret_id") or options.has("secret_id_path")
    proof = _credential(options, "secret_id") if has_secret else None
    return CredentialLogin("approle", role_id, proof, options.segments("auth_mount_point"))


def _aws_iam(options: Options) -> Login:
    assume_role = options.mapping("assume_role_kwargs")
    if options.has("key_id") != options.has("secret_id"):
        options.problems.append("auth_type aws_iam has one of key_id and secret_id. Give both, or neither.")
    return AwsIamLogin(
        role=options.text("role_id"),
        region=options.text("region"),
        key_id=options.text("key_id"),
        secret_key=options.text("secret_id"),
        assume_role=json.dumps(assume_role, sort_keys=True) if assume_role else "",
        server_id=options.text("header_value"),
        mount_point=options.segments("auth_mount_point"),
    )


def _azure(options: Options) -> Login:
    if options.has("secret_id"):
        options.needed("azure_tenant_id", by="auth_type azure with secret_id")
        options.needed("key_id", by="auth_type azure with secret_id")
    role = "azure_role" if options.has("azure_role") or not options.has("role_id") else "role_id"
    return AzureLogin(
        role=options.needed(role, by="auth_type azure"),
        resource=options.needed("azure_resource", by="auth_type azure"),
        tenant_id=options.text("azure_tenant_id"),
        client_id=options.text("key_id"),
        client_secret=options.secret("secret_id"),
        machine=AzureMachine(
            subscription_id=options.text("subscription_id"),
            resource_group_name=options.text("resource_group_name"),
            vm_name=options.text("vm_name"),
            vmss_name=options.text("vmss_name"),
        ),
        mount_point=options.segments("auth_mount_point"),
    )


def _gcp(options: Options) -> Login:
    key = options.mapping("gcp_keyfile_dict")
    if key and options.has("gcp_key_path"):
        options.problems.append("gcp_key_path and gcp_keyfile_dict are both given. Leave one of them out.")
    scopes = tuple(scope for item in options.text("gcp_scopes").split(",") if (scope := item.strip()))
    return GcpLogin(
        role=options.needed("role_id", by="auth_type gcp"),
        key_path=options.text("gcp_key_path"),
        key=json.dumps(key, sort_keys=True) if key else "",
        scopes=scopes or (CLOUD_PLATFORM,),
        mount_point=options.segments("auth_mount_point"),
    )


def _github(options: Options) -> Login:
    proof = _needed_credential(options, "token", by="auth_type github")
    return CredentialLogin("github", "", proof, options.segments("auth_mount_point"))


def _jwt(options: Options) -> Login:
    role = options.needed("jwt_role", by="auth_type jwt")
    if options.has("jwt_token"):  # of the two it is the one that counts
        proof = Credential(options.secret("jwt_token"))
    else:
        proof = _needed_credential(options, "jwt_token", by="auth_type jwt")
    return CredentialLogin("jwt", role, proof, options.segments("auth_mount_point"))


def _kubernetes(options: Options) -> Login:
    role = options.needed("kubernetes_role", by="auth_type kubernetes")
    proof = Credential(path=options.text("kubernetes_jwt_path") or KUBERNETES_JWT_PATH)
    return CredentialLogin("kubernetes", role, proof, options.segments("auth_mount_point"))


def _password(method: str, options: Options) -> Login:
    by = f"auth_type {method}"
    options.needed("username", by=by)
    proof = _needed_credential(options, "password", by=by)
    return CredentialLogin(method, options.segments("username"), proof, options.segments("auth_mount_point"))


def _needed_credential(options: Options, name: str, *, by: str) -> Credential:
    if not options.has(name) and not options.has(f"{name}_path"):
        options.miss(f"{by} needs {name}_path or {name}. Add one.")
    return _credential(options, name)


def _credential(options: Options, name: str) -> Credential:
    """Take the file where there is one, else the secret itself."""
    path = options.text(f"{name}_path")
    return Credential(path=path) if path else Credential(options.secret(name))


_LOGINS: Final[Mapping[str, Callable[[Options], Login]]] = {
    "approle": _approle,
    "aws_iam": _aws_iam,
    "azure": _azure,
    "gcp": _gcp,
    "github": _github,
    "jwt": _jwt,
    "kubernetes": _kubernetes,
    "ldap": partial(_password, "ldap"),
    "radius": partial(_password, "radius"),
    "userpass": partial(_password, "userpass"),
}

AUTH_TYPES: Final = frozenset({*_LOGINS, "token"})
