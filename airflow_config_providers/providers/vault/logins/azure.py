"""Sign in to Vault as an identity of Azure (auth_type ``azure``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_config_providers.exceptions import AccessDeniedError, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.providers.vault.logins.login import Login, VaultToken, library, mounted, token_of

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options


@dataclass(frozen=True, slots=True)
class AzureLogin(Login):
    """
    A login by a token of Entra ID.

    It is the service principal's if there is a client secret, the named managed identity's if there is only a client
    ID, and otherwise that of the identity that azure-identity finds.

    :param role: Vault's role
    :param resource: what the token is for, the ``resource`` of Vault's configuration
    :param subscription_id: like the next three, the place of a managed identity, if Vault's role is bound to it
    """

    role: str
    resource: str
    tenant_id: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    subscription_id: str = ""
    resource_group_name: str = ""
    vm_name: str = ""
    vmss_name: str = ""
    mount_point: str = ""
    method: ClassVar[str] = "azure"

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Get a token of Entra ID and sign in with it."""
        answer = client.auth.azure.login(
            role=self.role,
            jwt=self._jwt(),
            subscription_id=self.subscription_id or None,
            resource_group_name=self.resource_group_name or None,
            vm_name=self.vm_name or None,
            vmss_name=self.vmss_name or None,
            use_token=False,
            **mounted(self.mount_point),
        )
        return token_of(answer)

    def identity(self) -> Any:
        """Return azure-identity's credential."""
        azure = library("azure.identity", package="azure-identity", auth_type=self.method)
        if self.client_secret:
            return azure.ClientSecretCredential(self.tenant_id, self.client_id, self.client_secret)
        if self.client_id:
            return azure.ManagedIdentityCredential(client_id=self.client_id)
        return azure.DefaultAzureCredential()

    def _jwt(self) -> str:
        identity = self.identity()
        from azure.core.exceptions import AzureError, ClientAuthenticationError  # noqa: PLC0415 - optional, as above

        try:
            with identity:
                return str(identity.get_token(f"{self.resource}/.default").token)
        except ClientAuthenticationError as error:
            failure: ConfigProvidersError = AccessDeniedError(
                f"Azure gave this process no token ({type(error).__name__}). Give the machine or pod an identity."
            )
        except AzureError as error:
            failure = ProviderUnavailableError(
                f"Azure could not be reached for a token ({type(error).__name__}). Try again later."
            )
        raise failure


def read(options: Options) -> Login:
    """Return the login that the options describe."""
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
        subscription_id=options.text("subscription_id"),
        resource_group_name=options.text("resource_group_name"),
        vm_name=options.text("vm_name"),
        vmss_name=options.text("vmss_name"),
        mount_point=options.segments("auth_mount_point"),
    )
