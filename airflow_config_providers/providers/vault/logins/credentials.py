"""
Sign in to Vault with a credential that was made elsewhere.

It is a password (auth_type ``userpass``, ``ldap`` and ``radius``), a JWT (``jwt``), such as that of a pod's service
account (``kubernetes``), or a token: Vault's own (``token``), or one of GitHub (``github``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import quote

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.vault.logins.login import (
    Credential,
    CredentialLogin,
    Login,
    VaultToken,
    mounted,
)

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options


@dataclass(frozen=True, slots=True)
class PasswordLogin(CredentialLogin):
    """A login by a user and a password."""

    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the password."""
        method = getattr(client.auth, self.method)
        return method.login(username=self.username, password=proof, use_token=False, **mounted(self.mount_point))

    @property
    def username(self) -> str:
        """The user as hvac takes it."""
        return self.who

    @property
    def can_lock_out(self) -> bool:
        """Whether Vault locks a user out after several failures; with a password it can."""
        return True


@dataclass(frozen=True, slots=True)
class UserpassLogin(PasswordLogin):
    """A user that Vault keeps itself."""

    method: ClassVar[str] = "userpass"

    @property
    def username(self) -> str:
        """The user, quoted: hvac does it for the other methods only."""
        return quote(self.who)


@dataclass(frozen=True, slots=True)
class LdapLogin(PasswordLogin):
    """A user of a directory."""

    method: ClassVar[str] = "ldap"


@dataclass(frozen=True, slots=True)
class RadiusLogin(PasswordLogin):
    """A user of a RADIUS server."""

    method: ClassVar[str] = "radius"


def read_password(options: Options, *, of: type[PasswordLogin]) -> Login:
    """Return the login ``of`` a method that the options describe."""
    by = f"auth_type {of.method}"
    options.needed("username", by=by)
    proof = options.needed_credential("password", by=by)
    return of(options.segments("username"), proof, options.segments("auth_mount_point"))


JWT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"


@dataclass(frozen=True, slots=True)
class JwtLogin(CredentialLogin):
    """A login by a role and a JWT."""

    method: ClassVar[str] = "jwt"

    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the JWT."""
        place = mounted(self.mount_point, name="path")
        return client.auth.jwt.jwt_login(role=self.who, jwt=proof, use_token=False, **place)

    def _proof(self) -> str | None:
        return None if self.proof is None else self.proof.read().strip()


def read_jwt(options: Options) -> Login:
    """Return the login that the options describe; ``jwt_token`` wins over ``jwt_token_path``."""
    role = options.needed("jwt_role", by="auth_type jwt")
    if options.has("jwt_token"):
        proof = Credential(options.secret("jwt_token"))
    else:
        proof = options.needed_credential("jwt_token", by="auth_type jwt")
    return JwtLogin(role, proof, options.segments("auth_mount_point"))


@dataclass(frozen=True, slots=True)
class KubernetesLogin(JwtLogin):
    """A login by a role and the JWT of the service account, which Kubernetes renews in its file."""

    method: ClassVar[str] = "kubernetes"

    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the token."""
        return client.auth.kubernetes.login(role=self.who, jwt=proof, use_token=False, **mounted(self.mount_point))


def read_service_account(options: Options) -> Login:
    """Return the login as a service account that the options describe."""
    role = options.needed("kubernetes_role", by="auth_type kubernetes")
    proof = Credential(path=options.text("kubernetes_jwt_path") or JWT_PATH)
    return KubernetesLogin(role, proof, options.segments("auth_mount_point"))


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


@dataclass(frozen=True, slots=True)
class GithubLogin(CredentialLogin):
    """A login by a token, which says whose it is."""

    method: ClassVar[str] = "github"

    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the token."""
        return client.auth.github.login(token=proof, use_token=False, **mounted(self.mount_point))


def read_github(options: Options) -> Login:
    """Return the login by a token of GitHub that the options describe."""
    proof = options.needed_credential("token", by="auth_type github")
    return GithubLogin("", proof, options.segments("auth_mount_point"))
