"""Sign in to Vault with a JWT of an identity provider (auth_type ``jwt``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from airflow_config_providers.providers.vault.logins.base import Login, mounted
from airflow_config_providers.providers.vault.logins.credential import Credential, CredentialLogin, needed_credential

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options


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


def read(options: Options) -> Login:
    """Return the login that the options describe; ``jwt_token`` wins over ``jwt_token_path``."""
    role = options.needed("jwt_role", by="auth_type jwt")
    if options.has("jwt_token"):
        proof = Credential(options.secret("jwt_token"))
    else:
        proof = needed_credential(options, "jwt_token", by="auth_type jwt")
    return JwtLogin(role, proof, options.segments("auth_mount_point"))
