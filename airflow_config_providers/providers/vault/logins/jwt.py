"""Sign in to Vault with a JWT (auth_type ``jwt``), such as that of a pod's service account (``kubernetes``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from airflow_config_providers.providers.vault.logins.login import (
    Credential,
    CredentialLogin,
    Login,
    mounted,
)

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options

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


def read(options: Options) -> Login:
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
