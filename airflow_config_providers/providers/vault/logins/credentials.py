"""
Sign in to Vault with a credential that was made elsewhere.

It is a password (auth_type ``userpass``, ``ldap`` and ``radius``), a JWT (``jwt``), such as that of a pod's service
account (``kubernetes``), or a token: Vault's own (``token``), or one of GitHub (``github``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.vault.logins.login import (
    AuthMethod,
    Credential,
    CredentialLogin,
    Login,
    VaultToken,
)

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options


USERPASS: Final = AuthMethod("userpass", "username", "password", can_lock_out=True, is_quoted=True)
"""Users that Vault keeps itself."""
LDAP: Final = AuthMethod("ldap", "username", "password", can_lock_out=True)
"""Users of a directory."""
RADIUS: Final = AuthMethod("radius", "username", "password", can_lock_out=True)
"""Users of a RADIUS server."""
JWT: Final = AuthMethod("jwt", "role", "jwt", mount="path", function="jwt_login", is_line=True)
"""A role, and a JWT."""
KUBERNETES: Final = AuthMethod("kubernetes", "role", "jwt", is_line=True)
"""A role, and the JWT of the service account, which Kubernetes renews in its file."""
GITHUB: Final = AuthMethod("github", "", "token")
"""A token, which says whose it is."""


def read_password(options: Options, *, of: AuthMethod) -> Login:
    """Return the login ``of`` a method that the options describe."""
    by = f"auth_type {of.name}"
    options.needed("username", by=by)
    proof = options.needed_credential("password", by=by)
    return CredentialLogin(of, options.segments("username"), proof, options.segments("auth_mount_point"))


JWT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def read_jwt(options: Options) -> Login:
    """Return the login that the options describe; ``jwt_token`` wins over ``jwt_token_path``."""
    role = options.needed("jwt_role", by="auth_type jwt")
    if options.has("jwt_token"):
        proof = Credential(options.secret("jwt_token"))
    else:
        proof = options.needed_credential("jwt_token", by="auth_type jwt")
    return CredentialLogin(JWT, role, proof, options.segments("auth_mount_point"))


def read_service_account(options: Options) -> Login:
    """Return the login as a service account that the options describe."""
    role = options.needed("kubernetes_role", by="auth_type kubernetes")
    proof = Credential(path=options.text("kubernetes_jwt_path") or JWT_PATH)
    return CredentialLogin(KUBERNETES, role, proof, options.segments("auth_mount_point"))


@dataclass(frozen=True, slots=True)
class TokenLogin(Login):
    """A token that someone else made; nothing is asked of Vault, and nothing is given back."""

    credential: Credential

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Return the token."""
        return VaultToken(self._token(), is_ours=False)

    def read(self) -> Login:
        """Return a login by the token that the file holds now."""
        return TokenLogin(Credential(self._token()))

    @property
    def files(self) -> tuple[str, ...]:
        """The token file, if there is one."""
        return (self.credential.path,) if self.credential.path else ()

    def version(self) -> object | None:
        """Return the mark of the token file."""
        return self.credential.version()

    def _token(self) -> str:
        token = self.credential.read().strip()
        if not token or not (token.isascii() and token.isprintable()) or " " in token:
            path = self.credential.path
            where = f"The content of the file {printable(path)}" if path else "The given token"
            raise ProviderLookupError(
                f"{where} is not a Vault token: it is empty, or contains spaces or characters that no token has. "
                f"Correct it."
            )
        return token


TOKEN_VARIABLE: Final = "VAULT_TOKEN"  # noqa: S105 - the name of a variable, no token
"""The environment variable with a token, as for Vault's own command line."""

NOTHING: Final = TokenLogin(Credential())
"""A login in place of one that cannot be read."""


def read_token(options: Options, *, environ: Mapping[str, str]) -> Login:
    """Return the login by the token in the options, or else by that in ``VAULT_TOKEN``."""
    if not options.has("token") and not options.has("token_path"):
        if environ.get(TOKEN_VARIABLE):
            return TokenLogin(Credential(environ[TOKEN_VARIABLE]))
        options.miss(
            "auth_type token needs token_path or token, or the environment variable VAULT_TOKEN. Add one, or name "
            "another auth_type."
        )
    return TokenLogin(options.credential("token"))


def read_github(options: Options) -> Login:
    """Return the login by a token of GitHub that the options describe."""
    proof = options.needed_credential("token", by="auth_type github")
    return CredentialLogin(GITHUB, "", proof, options.segments("auth_mount_point"))
