from __future__ import annotations

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ConfigException, ProviderUnavailableError
from airflow_config_providers.providers.backend_faults import AWS_SIGNED_OUT, error_of, error_of_aws_code


class ClientError(Exception):
    """As botocore raises it."""

    def __init__(self, code: str) -> None:
        super().__init__("c4nary")
        self.response = {"Error": {"Code": code, "Message": "c4nary"}}


ClientError.__module__ = "botocore.exceptions"


class OfOneServiceError(ClientError):
    """Made for one service, as botocore makes them."""


def hvac_error(name: str) -> Exception:
    hvac = pytest.importorskip("hvac", reason="install the extra vault")
    return getattr(hvac.exceptions, name)("c4nary", errors=["c4nary"], text="c4nary", url="http://vault/c4nary")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ClientError("AccessDeniedException"), AccessDeniedError, id="AWS denies"),
        pytest.param(ClientError("ExpiredTokenException"), AccessDeniedError, id="AWS does not know us"),
        pytest.param(OfOneServiceError("ResourceNotFoundException"), None, id="AWS has none"),
        pytest.param(ClientError("c4nary"), ProviderUnavailableError, id="AWS says anything else"),
        pytest.param(NotImplementedError(), None, id="a backend without variables"),
        pytest.param(KeyError("c4nary"), ProviderUnavailableError, id="anything else"),
    ],
)
def test_an_exception_has_a_meaning(error: Exception, expected: type[Exception] | None) -> None:
    found = error_of(error, who="Secrets backend X", what="variable 'x'")
    assert (found and type(found)) is expected
    assert "c4nary" not in str(found)


def test_what_airflow_encrypted_with_another_key_cannot_be_decrypted() -> None:
    error = type("InvalidToken", (Exception,), {"__module__": "cryptography.fernet"})()
    found = error_of(error, who="Secrets backend MetastoreBackend", what="connection 'x'")

    assert str(found) == (
        "Secrets backend MetastoreBackend could not return connection 'x' (it cannot be decrypted). "
        "Set fernet_key in [core] to the key with which it was written."
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Forbidden", AccessDeniedError),
        ("Unauthorized", AccessDeniedError),
        ("InvalidPath", None),
        ("VaultDown", ProviderUnavailableError),
        ("RateLimitExceeded", ProviderUnavailableError),
        ("VaultError", ProviderUnavailableError),
    ],
)
def test_an_exception_of_hvac_has_a_meaning(name: str, expected: type[Exception] | None) -> None:
    found = error_of(hvac_error(name), who="Secrets backend VaultBackend", what="variable 'x'")
    assert (found and type(found)) is expected
    assert "c4nary" not in str(found)


def test_what_an_error_was_raised_from_can_say_that_it_was_denied() -> None:
    error = RuntimeError("c4nary")
    error.__cause__ = hvac_error("Forbidden")
    assert isinstance(error_of(error, who="X", what="y"), AccessDeniedError)


def test_what_an_error_was_raised_from_cannot_say_that_there_is_none() -> None:
    error = RuntimeError("c4nary")
    error.__cause__ = hvac_error("InvalidPath")
    assert isinstance(error_of(error, who="X", what="y"), ProviderUnavailableError)


def test_errors_that_cause_each_other_are_no_loop() -> None:
    error, other = RuntimeError(), ValueError()
    error.__cause__, other.__cause__ = other, error
    assert isinstance(error_of(error, who="X", what="y"), ProviderUnavailableError)


def test_an_error_of_ours_is_kept() -> None:
    error = ConfigException("as it is")
    assert error_of(error, who="X", what="y") is error


def test_the_message_says_who_what_why_and_the_way_out() -> None:
    found = error_of(ClientError("ThrottlingException"), who="Secrets backend X", what="variable 'x'")
    assert str(found) == (
        "Secrets backend X could not return variable 'x' (ThrottlingException). Try again later, or check its log."
    )


SIGNED_OUT = (
    "Secrets backend X could not return variable 'x' ({}). The credentials with which this process asks AWS are wrong "
    "or expired. Renew them, correct the connection or the arguments of the backend, or set the clock of this machine."
)


@pytest.mark.parametrize("code", sorted(AWS_SIGNED_OUT))
def test_wrong_credentials_of_aws_are_not_blamed_on_the_owner_of_a_secret(code: str) -> None:
    found = error_of(ClientError(code), who="Secrets backend X", what="variable 'x'")
    of_one = error_of_aws_code(code, who="Secrets backend X", what="variable 'x'")

    assert type(found) is type(of_one) is AccessDeniedError
    assert str(found) == str(of_one) == SIGNED_OUT.format(code)


def test_wrong_credentials_are_found_in_what_an_error_was_raised_from() -> None:
    error = RuntimeError("c4nary")
    error.__cause__ = ClientError("ExpiredToken")

    assert str(error_of(error, who="Secrets backend X", what="variable 'x'")) == SIGNED_OUT.format("ExpiredToken")


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException"])
def test_what_aws_denies_to_valid_credentials_is_for_the_owner_of_the_secret(code: str) -> None:
    found = error_of(ClientError(code), who="Secrets backend X", what="variable 'x'")
    of_one = error_of_aws_code(code, who="Secrets backend X", what="variable 'x'")

    assert str(found) == str(of_one)
    assert "Ask its owner to allow it" in str(found)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("NoCredentialsError", {}),
        ("PartialCredentialsError", {"provider": "c4nary", "cred_var": "c4nary"}),
        ("CredentialRetrievalError", {"provider": "c4nary", "error_msg": "c4nary"}),
        ("NoAuthTokenError", {}),
        ("TokenRetrievalError", {"provider": "c4nary", "error_msg": "c4nary"}),
        ("ProfileNotFound", {"profile": "c4nary"}),
        ("RefreshWithMFAUnsupportedError", {}),
        ("UnauthorizedSSOTokenError", {}),
    ],
)
def test_a_process_without_credentials_of_aws_is_told_to_get_some(name: str, given: dict[str, str]) -> None:
    exceptions = pytest.importorskip("botocore.exceptions", reason="install the extra aws")

    found = error_of(getattr(exceptions, name)(**given), who="Secrets backend X", what="variable 'x'")

    assert isinstance(found, ProviderUnavailableError)
    assert str(found) == (
        f"Secrets backend X could not return variable 'x' ({name}). This process has no credentials with which it can "
        f"ask AWS. Give its machine or pod a role, or correct the connection or the arguments of the backend."
    )


def test_an_error_of_a_database_says_how_to_create_its_tables() -> None:
    error = pytest.importorskip("sqlalchemy").exc.OperationalError("c4nary", {}, Exception())

    found = error_of(error, who="Secrets backend MetastoreBackend", what="variable 'x'")

    assert isinstance(found, ProviderUnavailableError)
    assert "airflow db migrate" in str(found)
    assert "c4nary" not in str(found)


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        pytest.param("\u0436", "Use a name in ASCII.", id="the name"),
        pytest.param("x", "Try again later, or check its log.", id="something else"),
    ],
)
def test_an_error_of_a_name_that_cannot_be_sent_says_what_to_do(name: str, way_out: str) -> None:
    error = UnicodeEncodeError("latin-1", "c4nary-\u0436", 7, 8, "ordinal not in range(256)")

    found = error_of(error, who="Secrets backend X", what=f"variable '{name}'")

    assert f"(UnicodeEncodeError). {way_out}" in str(found)
    assert "c4nary" not in str(found)
