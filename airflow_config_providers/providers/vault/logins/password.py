"""Sign in to Vault with a user and a password (auth_type ``userpass``, ``ldap`` and ``radius``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from airflow_config_providers.providers.vault.logins.login import CredentialLogin, Login, mounted

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
        """Always."""
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


def read(options: Options, *, of: type[PasswordLogin]) -> Login:
    """Return the login ``of`` a method that the options describe."""
    by = f"auth_type {of.method}"
    options.needed("username", by=by)
    proof = options.needed_credential("password", by=by)
    return of(options.segments("username"), proof, options.segments("auth_mount_point"))
