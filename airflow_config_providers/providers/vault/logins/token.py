"""Sign in with a token that was made elsewhere: Vault's own (auth_type ``token``), or one of GitHub (``github``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

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


NOTHING: Final = TokenLogin(Credential())
"""A login in place of one that cannot be read."""


def read(options: Options, *, environ: Mapping[str, str]) -> Login:
    """Return the login by the token in the options, or else by that in ``VAULT_TOKEN``."""
    if not options.has("token") and not options.has("token_path"):
        if environ.get("VAULT_TOKEN"):
            return TokenLogin(Credential(environ["VAULT_TOKEN"]))
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
