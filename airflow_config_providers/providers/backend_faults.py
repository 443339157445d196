"""What is known of secrets backends and clients of clouds: what their exceptions mean, and which logs print secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

from airflow_config_providers.exceptions import AccessDeniedError, ConfigProvidersError, ProviderUnavailableError

DENIED: Final = frozenset(
    {
        "airflow.sdk.exceptions.AirflowSecretsBackendAccessDenied",
        "hvac.exceptions.Forbidden",
        "hvac.exceptions.Unauthorized",
    }
)
"""Dotted names of exceptions, so that none of these packages is imported."""

MISSING: Final = frozenset({"builtins.NotImplementedError", "hvac.exceptions.InvalidPath"})
"""A backend that has no variables at all says so with NotImplementedError."""

AWS_ERROR: Final = "botocore.exceptions.ClientError"

WITHOUT_AWS_CREDENTIALS: Final = frozenset(
    {
        "botocore.exceptions.CredentialRetrievalError",
        "botocore.exceptions.LoginError",
        "botocore.exceptions.NoAuthTokenError",
        "botocore.exceptions.NoCredentialsError",
        "botocore.exceptions.PartialCredentialsError",
        "botocore.exceptions.ProfileNotFound",
        "botocore.exceptions.RefreshWithMFAUnsupportedError",
        "botocore.exceptions.SSOError",
        "botocore.exceptions.TokenRetrievalError",
    }
)
"""
What botocore raises before it asks AWS. A machine or a pod can lack its credentials for a while, so these are outages.
"""

_RENEW: Final = (
    "The credentials with which this process asks AWS are wrong or expired. Renew them, correct the connection or the "
    "arguments of the backend, or set the clock of this machine."
)
_SIGN_IN: Final = (
    "This process has no credentials with which it can ask AWS. Give its machine or pod a role, or correct the "
    "connection or the arguments of the backend."
)

_FERNET_ERROR: Final = "cryptography.fernet.InvalidToken"
_OF_FERNET: Final = "Set fernet_key in [core] to the key with which it was written."

_DATABASE_ERROR: Final = "sqlalchemy.exc.SQLAlchemyError"
_OF_DATABASE: Final = (
    "Try again later. If it is Airflow's database, run airflow db check, and create its tables if it is new: airflow "
    "db migrate."
)

_OF_NAME: Final = (
    "Use a name in ASCII. If it is that of a DAG under airflow dags test, which cannot ask Airflow for other names, a "
    "scheduler can run it."
)

_LONGEST_CHAIN: Final = 10
"""How many causes of an error are looked at: enough for a client of a client, and an end for a circle."""

AWS_SIGNED_OUT: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
"""Codes for credentials that are wrong or expired, whatever they ask for."""

AWS_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException"})
AWS_MISSING: Final = frozenset({"ParameterNotFound", "ParameterVersionNotFound", "ResourceNotFoundException"})
AWS_BUSY: Final = frozenset({"RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})
AWS_UNAVAILABLE: Final = AWS_BUSY | {
    "DecryptionFailure",
    "InternalServerError",
    "InternalServiceError",
    "InvalidKeyId",
    "InvalidParameterException",
    "InvalidRequestException",
    "ServiceUnavailable",
    "ValidationException",
}
"""Codes that are shown; any other could be anything that a server wrote."""


def error_of(error: Exception, *, who: str, what: str) -> ConfigProvidersError | None:
    """
    Return our error for an exception of a backend; None if it means that there is no such secret.

    Of a foreign exception, only the type is shown: its text can contain a value or an answer of a server.

    :param who: who raised it, as in ``Secrets backend VaultBackend``
    :param what: what was asked for, as in ``variable 'x'``
    """
    if isinstance(error, ConfigProvidersError):
        return error
    if _names(error) & MISSING or _aws_code(error) in AWS_MISSING:
        return None
    causes = list(_with_causes(error))
    if refusal := next(filter(None, (_refusal(cause, who, what) for cause in causes)), None):
        return refusal
    if any(_names(cause) & WITHOUT_AWS_CREDENTIALS for cause in causes):
        return unavailable(who, what, reason=type(error).__name__, way_out=_SIGN_IN)
    if _FERNET_ERROR in _names(error):
        return undecipherable(who, what)
    if _DATABASE_ERROR in _names(error):
        return unavailable(who, what, reason=type(error).__name__, way_out=_OF_DATABASE)
    if isinstance(error, UnicodeEncodeError) and not what.isascii():
        return unavailable(who, what, reason=type(error).__name__, way_out=_OF_NAME)
    code = _aws_code(error)
    return unavailable(who, what, reason=code if code in AWS_UNAVAILABLE else type(error).__name__)


def error_of_aws_code(code: str, *, who: str, what: str) -> ConfigProvidersError | None:
    """Return our error for an error code of AWS; None if it means that there is no such secret."""
    if code in AWS_MISSING:
        return None
    reason = code if code in AWS_UNAVAILABLE else "ClientError"
    return _aws_refusal(code, who, what) or unavailable(who, what, reason=reason)


def denied(who: str, what: str) -> AccessDeniedError:
    """Return the error for what ``who`` refuses."""
    return AccessDeniedError(f"{who} refused to return {what}. Ask its owner to allow it, or correct the reference.")


def unavailable(
    who: str, what: str, *, reason: str, way_out: str = "Try again later, or check its log."
) -> ProviderUnavailableError:
    """Return the error for what ``who`` cannot return now."""
    return ProviderUnavailableError(f"{who} could not return {what} ({reason}). {way_out}")


def undecipherable(who: str, what: str) -> ProviderUnavailableError:
    """Return the error for what Airflow's database has, encrypted with a Fernet key that ``who`` does not have."""
    return unavailable(who, what, reason="it cannot be decrypted", way_out=_OF_FERNET)


def _refusal(error: BaseException, who: str, what: str) -> AccessDeniedError | None:
    return denied(who, what) if _names(error) & DENIED else _aws_refusal(_aws_code(error), who, what)


def _aws_refusal(code: str, who: str, what: str) -> AccessDeniedError | None:
    if code in AWS_SIGNED_OUT:
        return AccessDeniedError(f"{who} could not return {what} ({code}). {_RENEW}")
    return denied(who, what) if code in AWS_DENIED else None


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield ``error`` and its causes: Airflow's client of Vault raises its own error from a 403."""
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__


def _names(error: BaseException) -> set[str]:
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}


def _aws_code(error: Any) -> str:
    if AWS_ERROR not in _names(error):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


_PRINTING: Final = (
    "azure.core.pipeline.policies._universal",
    "botocore.auth",
    "botocore.endpoint",
    "botocore.parsers",
    "google.auth",
    "google.cloud.secretmanager_v1",
    "kubernetes.client.rest",
    "msal.managed_identity",
)
"""Loggers that print whole requests or answers at DEBUG. hvac, urllib3 and grpc print none."""


def keep_values_out_of_debug_logs() -> None:
    """Silence the loggers that print secrets, unless the deployment has set their levels. Thread-safe."""
    for logger in map(logging.getLogger, _PRINTING):
        if logger.level == logging.NOTSET and logger.isEnabledFor(logging.DEBUG):
            logger.setLevel(logging.INFO)
