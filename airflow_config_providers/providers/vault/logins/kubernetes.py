"""Sign in to Vault as the service account of a pod (auth_type ``kubernetes``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from airflow_config_providers.providers.vault.logins.base import Login, mounted
from airflow_config_providers.providers.vault.logins.credential import Credential
from airflow_config_providers.providers.vault.logins.jwt import JwtLogin

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options

JWT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"


@dataclass(frozen=True, slots=True)
class KubernetesLogin(JwtLogin):
    """A login by a role and the JWT of the service account, which Kubernetes renews in its file."""

    method: ClassVar[str] = "kubernetes"

    def answer(self, client: hvac.Client, proof: str | None) -> object:
        """Return what Vault answers to the token."""
        return client.auth.kubernetes.login(role=self.who, jwt=proof, use_token=False, **mounted(self.mount_point))


def read(options: Options) -> Login:
    """Return the login that the options describe."""
    role = options.needed("kubernetes_role", by="auth_type kubernetes")
    proof = Credential(path=options.text("kubernetes_jwt_path") or JWT_PATH)
    return KubernetesLogin(role, proof, options.segments("auth_mount_point"))
