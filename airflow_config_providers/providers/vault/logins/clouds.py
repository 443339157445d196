"""Sign in to Vault as an identity of a cloud: AWS (auth_type ``aws_iam``), Azure (``azure``), Google (``gcp``)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.backend_faults import AWS_BUSY, AWS_SIGNED_OUT
from airflow_config_providers.providers.vault.logins.login import Login, VaultToken, library, mounted, token_of

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options


_AWS_REGION: Final = "us-east-1"
_PASSING: Final = AWS_BUSY | {"IDPCommunicationError"}
"""Codes that STS sends with status 400, and that another try might not get."""

_CLOUD_PLATFORM: Final = "https://www.googleapis.com/auth/cloud-platform"
_LIFE_SECONDS: Final = 900
"""Vault accepts no longer life."""


@dataclass(frozen=True, slots=True)
class AwsIamLogin(Login):
    """
    A login by a signed request to AWS STS, which Vault sends to learn who signed it.

    Signs with the key if there is one, else as the role to assume, else with what boto3 finds: environment, files,
    and the identity of the machine or pod. The latter two are obtained again at every login.

    :param role: Vault's role; empty for the one named like the identity
    :param region: for the signature; empty for boto3's
    :param key_id: of an access key
    :param secret_key: the key itself
    :param assume_role: arguments of STS's AssumeRole, as JSON; empty for none
    :param server_id: the string that Vault's ``iam_server_id_header_value`` asks for
    """

    role: str = ""
    region: str = ""
    key_id: str = ""
    secret_key: str = field(default="", repr=False)
    assume_role: str = field(default="", repr=False)
    server_id: str = field(default="", repr=False)
    mount_point: str = ""
    method: ClassVar[str] = "aws_iam"

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Sign the request for STS, and sign in with it."""
        answer = client.auth.aws.iam_login(
            **self._signer(),
            header_value=self.server_id or None,
            role=self.role or None,
            use_token=False,
            **mounted(self.mount_point),
        )
        return token_of(answer)

    def _signer(self) -> dict[str, Any]:
        if self.key_id and self.secret_key:
            return {"access_key": self.key_id, "secret_key": self.secret_key, "region": self.region or _AWS_REGION}
        boto3 = library("boto3", package="boto3", auth_type=self.method)
        from botocore import exceptions as of_aws  # noqa: PLC0415 - installed with boto3, which is optional

        away = of_aws.HTTPClientError, of_aws.ConnectionError, of_aws.CredentialRetrievalError
        try:
            return self._assumed(boto3) if self.assume_role else self._found(boto3)
        except of_aws.ClientError as error:
            failure = _sts_refusal(error.response)
        except away as error:
            failure = ProviderUnavailableError(
                f"AWS could not be reached for credentials ({type(error).__name__}). Try again later."
            )
        except of_aws.BotoCoreError as error:
            failure = _unusable_answer(type(error).__name__)
        raise failure

    def _found(self, boto3: Any) -> dict[str, Any]:
        session = boto3.Session()
        credentials = session.get_credentials()
        if credentials is None:
            raise _unusable_answer("there are none")
        frozen = credentials.get_frozen_credentials()
        return {
            "access_key": frozen.access_key,
            "secret_key": frozen.secret_key,
            "session_token": frozen.token,
            "region": self.region or session.region_name or _AWS_REGION,
        }

    def _assumed(self, boto3: Any) -> dict[str, Any]:
        sts = boto3.Session().client("sts", **({"region_name": self.region} if self.region else {}))
        credentials = sts.assume_role(**json.loads(self.assume_role))["Credentials"]
        return {
            "access_key": credentials["AccessKeyId"],
            "secret_key": credentials["SecretAccessKey"],
            "session_token": credentials["SessionToken"],
            "region": self.region or sts.meta.region_name or _AWS_REGION,
        }


def read_aws_iam(options: Options) -> Login:
    """Return the login that the options describe."""
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


def _sts_refusal(response: Mapping[str, Any]) -> ConfigProvidersError:
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = printable(str(response.get("Error", {}).get("Code", status)))
    if code in AWS_SIGNED_OUT:
        return AccessDeniedError(
            f"AWS did not accept the credentials with which this process asks for a role ({code}). They are wrong or "
            f"expired: renew them, or set the clock of this machine."
        )
    if status in {400, 401, 403} and code not in _PASSING:
        return AccessDeniedError(f"AWS did not let this process assume the role ({code}). Correct its trust policy.")
    return ProviderUnavailableError(f"AWS STS could not answer for the role to assume ({code}). Try again later.")


def _unusable_answer(reason: str) -> ProviderDefinitionError:
    return ProviderDefinitionError(
        f"boto3 finds no AWS credentials that can be used here ({reason}). Give the machine or pod a role, set "
        f"key_id and secret_id, or correct assume_role_kwargs."
    )


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


def read_azure(options: Options) -> Login:
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


@dataclass(frozen=True, slots=True)
class GcpLogin(Login):
    """
    A login by a JWT that a service account signs.

    With a key, this process signs it. Without one, Google's signJwt signs it for the service account of the machine or
    pod, as google-auth finds it, which must be allowed to do that.

    :param role: Vault's role
    :param key_path: the file of a key; read again at every login
    :param key: a key, as JSON
    :param scopes: of the credentials
    :param iam: address of Google's IAM Credentials
    :param clock: seconds since 1970
    """

    role: str
    key_path: str = ""
    key: str = field(default="", repr=False)
    scopes: tuple[str, ...] = (_CLOUD_PLATFORM,)
    mount_point: str = ""
    iam: str = "https://iamcredentials.googleapis.com"
    clock: Callable[[], float] = time.time
    method: ClassVar[str] = "gcp"

    @property
    def files(self) -> tuple[str, ...]:
        """The file of the key, if there is one."""
        return (self.key_path,) if self.key_path else ()

    def __call__(self, client: hvac.Client) -> VaultToken:
        """Get a signed JWT, and sign in with it."""
        answer = client.auth.gcp.login(role=self.role, jwt=self._jwt(), use_token=False, **mounted(self.mount_point))
        return token_of(answer)

    def _jwt(self) -> str:
        auth = _google("auth")
        from requests import RequestException  # noqa: PLC0415 - a slow import that only a login needs

        try:
            credentials = self._credentials(auth)
            return self._signed_here(credentials) if _has_key(credentials) else self._signed_by_google(credentials)
        except (auth.exceptions.TransportError, RequestException) as error:
            is_away, reason = True, type(error).__name__
        except (auth.exceptions.GoogleAuthError, ValueError, OSError) as error:
            is_away, reason = bool(getattr(error, "retryable", False)), type(error).__name__
        if is_away:
            raise ProviderUnavailableError(f"Google could not be reached for a signature ({reason}). Try again later.")
        raise ProviderDefinitionError(
            f"Google's credentials cannot be used ({reason}). Correct gcp_key_path or gcp_keyfile_dict, or give the "
            f"machine or pod a service account."
        )

    def _credentials(self, auth: Any) -> Any:
        of_a_key = _google("oauth2.service_account").Credentials
        if self.key:
            return of_a_key.from_service_account_info(json.loads(self.key), scopes=self.scopes)
        if self.key_path:
            return of_a_key.from_service_account_file(self.key_path, scopes=self.scopes)
        return auth.default(scopes=self.scopes)[0]

    def _payload(self, email: str) -> dict[str, object]:
        now = int(self.clock())
        return {"iat": now, "exp": now + _LIFE_SECONDS, "sub": email, "aud": f"vault/{self.role}"}

    def _signed_here(self, credentials: Any) -> str:
        payload = self._payload(credentials.service_account_email)
        return str(_google("auth.jwt").encode(credentials.signer, payload).decode("ascii"))

    def _signed_by_google(self, credentials: Any) -> str:
        requests = _google("auth.transport.requests")
        credentials.refresh(requests.Request())  # only then does the metadata server name its service account
        email = getattr(credentials, "service_account_email", "")
        if not email:
            raise ProviderDefinitionError(
                "Google's credentials are not those of a service account, and Vault accepts no others."
            )
        with requests.AuthorizedSession(credentials) as session:
            url = f"{self.iam}/v1/projects/-/serviceAccounts/{email}:signJwt"
            response = session.post(url, json={"payload": json.dumps(self._payload(email))}, allow_redirects=False)
        if response.status_code in {401, 403}:
            raise AccessDeniedError(
                "Google refused to sign for the service account. Grant it iam.serviceAccounts.signJwt on itself."
            )
        if response.status_code != 200:
            raise ProviderUnavailableError(
                f"Google could not sign for the service account (status {response.status_code})."
            )
        return str(response.json()["signedJwt"])


def read_gcp(options: Options) -> Login:
    """Return the login that the options describe."""
    key = options.mapping("gcp_keyfile_dict")
    if key and options.has("gcp_key_path"):
        options.problems.append("gcp_key_path and gcp_keyfile_dict are both given. Leave one of them out.")
    scopes = tuple(scope for item in options.text("gcp_scopes").split(",") if (scope := item.strip()))
    return GcpLogin(
        role=options.needed("role_id", by="auth_type gcp"),
        key_path=options.text("gcp_key_path"),
        key=json.dumps(key, sort_keys=True) if key else "",
        scopes=scopes or (_CLOUD_PLATFORM,),
        mount_point=options.segments("auth_mount_point"),
    )


def _has_key(credentials: Any) -> bool:
    return isinstance(credentials, _google("oauth2.service_account").Credentials)


def _google(module: str) -> Any:
    return library(f"google.{module}", package="google-auth", auth_type=GcpLogin.method)
