"""Sign in to Vault as an identity of AWS (auth_type ``aws_iam``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def read(options: Options) -> Login:
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
