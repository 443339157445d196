"""Sign in to Vault with a personal access token of GitHub (auth_type ``github``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from airflow_config_providers.providers.vault.logins.base import Login, mounted
from airflow_config_providers.providers.vault.logins.credential import CredentialLogin, needed_credential

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options


@dataclass(frozen=True, slots=True)
class GithubLogin(CredentialLogin):
    """A login by a token, which says whose it is."""

    method: ClassVar[str] = "github"

    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the token."""
        return client.auth.github.login(token=proof, use_token=False, **mounted(self.mount_point))


def read(options: Options) -> Login:
    """Return the login that the options describe."""
    proof = needed_credential(options, "token", by="auth_type github")
    return GithubLogin("", proof, options.segments("auth_mount_point"))
