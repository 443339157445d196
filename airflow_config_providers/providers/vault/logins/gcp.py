"""Sign in to Vault as a service account of Google (auth_type ``gcp``)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow_config_providers.exceptions import AccessDeniedError, ProviderDefinitionError, ProviderUnavailableError
from airflow_config_providers.providers.vault.logins.login import Login, VaultToken, library, mounted, token_of

if TYPE_CHECKING:
    import hvac

    from airflow_config_providers.providers.vault.settings import Options

_CLOUD_PLATFORM: Final = "https://www.googleapis.com/auth/cloud-platform"
_LIFE_SECONDS: Final = 900
"""Vault accepts no longer life."""


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


def read(options: Options) -> Login:
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
