"""AWS, Azure and Google: their own services stand on 127.0.0.1, or are not needed."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.backend_faults import _PRINTING
from airflow_config_providers.providers.vault.logins.clouds import AwsIamLogin, AzureLogin, GcpLogin
from airflow_config_providers.providers.vault.logins.login import Login
from airflow_config_providers.providers.vault.parameters import read_settings
from airflow_config_providers.providers.vault.settings import VaultSettings
from tests.servers.recorder import GIVEN_TOKEN, Recorded, Recorder, signed_in
from tests.servers.web import Request, Response, WebServer

pytest.importorskip("hvac")

NOWHERE = "http://127.0.0.1:1"
ROLE = '{"RoleArn": "arn:aws:iam::123456789012:role/jobs", "RoleSessionName": "airflow", "ExternalId": "c4nary"}'
REFUSED = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>c4nary</Message></Error></ErrorResponse>"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of any cloud, and no service of one within reach."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "GCE_", "IDENTITY_", "MSI_")) or name.lower().endswith(
            "_proxy"
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("NO_GCE_CHECK", "true")


def sign_in(login: Login, address: str) -> str:
    return signed_in(VaultSettings(url=address, login=login)).token


def body_of(recorder: Recorder) -> Any:
    (request,) = recorder.requests()
    return request.body


def is_logged(name: str) -> bool:
    return logging.getLogger(name).isEnabledFor(logging.DEBUG)


def from_params(address: str, **params: str) -> Login:
    return read_settings({"url": address, **params}, connections=lambda conn_id: None, environ={}).login


def failure_of(login: Login, address: str) -> ConfigProvidersError:
    with pytest.raises(ConfigProvidersError) as caught:
        sign_in(login, address)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert "c4nary" not in str(caught.value)
    return caught.value


def iam_headers(recorder: Recorder) -> Mapping[str, list[str]]:
    found: Mapping[str, list[str]] = json.loads(base64.b64decode(body_of(recorder)["iam_request_headers"]))
    return found


@pytest.mark.parametrize(
    ("params", "region"),
    [
        pytest.param({}, "us-east-1", id="the usual region"),
        pytest.param({"region": "eu-west-1"}, "eu-west-1", id="another region"),
    ],
)
def test_aws_signs_with_a_key(recorder: Recorder, address: str, params: dict[str, str], region: str) -> None:
    login = from_params(address, auth_type="aws_iam", key_id="AKIA", secret_id="c4nary", role_id="jobs", **params)

    assert sign_in(login, address) == GIVEN_TOKEN
    assert body_of(recorder)["role"] == "jobs"
    assert f"/{region}/sts/" in iam_headers(recorder)["Authorization"][0]
    assert "X-Vault-AWS-IAM-Server-ID" not in iam_headers(recorder)


def test_aws_sends_the_text_that_vault_asks_for(recorder: Recorder, address: str) -> None:
    sign_in(
        from_params(address, auth_type="aws_iam", key_id="AKIA", secret_id="s", header_value="vault.example.com"),
        address,
    )

    assert iam_headers(recorder)["X-Vault-AWS-IAM-Server-ID"] == ["vault.example.com"]


def test_aws_credentials_are_looked_for_at_every_login(
    recorder: Recorder, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3")
    for name in ("AKIAONE", "AKIATWO"):
        recorder.forget()
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
        sign_in(AwsIamLogin(), address)
        assert f"Credential={name}/" in iam_headers(recorder)["Authorization"][0]


def test_a_role_is_assumed_without_the_credentials_that_boto3_keeps(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    boto3 = pytest.importorskip("boto3")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session("AKIAKEPT", "s"))

    failure = failure_of(AwsIamLogin(region="eu-west-1", assume_role=ROLE), address)

    assert "(NoCredentialsError)" in str(failure)


@pytest.mark.parametrize(
    ("login", "environ", "message"),
    [
        pytest.param(AwsIamLogin(), {}, "there are none", id="no credentials"),
        pytest.param(AwsIamLogin(), {"AWS_PROFILE": "no"}, "ProfileNotFound", id="no profile"),
        pytest.param(
            AwsIamLogin(region="eu-west-1", assume_role=ROLE), {}, "NoCredentialsError", id="nobody to assume"
        ),
        pytest.param(
            AwsIamLogin(region="eu-west-1", assume_role='{"RoleArn": "c4nary"}'),
            {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"},
            "ParamValidationError",
            id="wrong arguments",
        ),
    ],
)
def test_aws_without_credentials_says_why(
    address: str, monkeypatch: pytest.MonkeyPatch, login: Login, environ: dict[str, str], message: str
) -> None:
    pytest.importorskip("boto3")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    failure = failure_of(login, address)

    assert type(failure) is ProviderDefinitionError
    assert f"({message})" in str(failure)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(403, AccessDeniedError, id="refused"),
        pytest.param(500, ProviderUnavailableError, id="out of order"),
        pytest.param(None, ProviderUnavailableError, id="not reached"),
    ],
)
def test_a_role_that_cannot_be_assumed(
    address: str, monkeypatch: pytest.MonkeyPatch, status: int | None, expected: type[Exception]
) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "c4nary")
    with WebServer(lambda request: Response(status or 0, REFUSED, {"Content-Type": "text/xml"})) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address if status else NOWHERE)

        failure = failure_of(AwsIamLogin(region="eu-west-1", assume_role=ROLE), address)

    assert type(failure) is expected


@pytest.mark.parametrize(
    ("code", "status", "expected", "message"),
    [
        pytest.param("AccessDenied", 403, AccessDeniedError, "Correct its trust policy", id="no trust"),
        pytest.param("ExpiredToken", 403, AccessDeniedError, "renew them", id="expired"),
        pytest.param("ExpiredTokenException", 400, AccessDeniedError, "renew them", id="expired token of a pod"),
        pytest.param("InvalidClientTokenId", 403, AccessDeniedError, "renew them", id="wrong"),
        pytest.param("Throttling", 400, ProviderUnavailableError, "Try again later", id="too many requests"),
        pytest.param("IDPCommunicationError", 400, ProviderUnavailableError, "Try again later", id="away"),
    ],
)
def test_what_sts_refuses_is_told_apart(
    address: str, monkeypatch: pytest.MonkeyPatch, code: str, status: int, expected: type[Exception], message: str
) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "c4nary")
    answer = Response(status, REFUSED.replace(b"AccessDenied", code.encode()), {"Content-Type": "text/xml"})
    with WebServer(lambda request: answer) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)

        failure = failure_of(AwsIamLogin(region="eu-west-1", assume_role=ROLE), address)

    assert type(failure) is expected
    assert f"({code})" in str(failure)
    assert message in str(failure)


ASSUMED = b"""<Answer><AssumeRole{0}Result><Credentials>
<AccessKeyId>AKIAROLE</AccessKeyId><SecretAccessKey>c4nary-key</SecretAccessKey><SessionToken>c4nary-session</SessionToken>
<Expiration>2999-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRole{0}Result></Answer>"""


@pytest.fixture
def debug_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Everything that is logged; the levels that a login sets end with the test."""
    loggers = [logging.getLogger(name) for name in _PRINTING]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.NOTSET)
    with caplog.at_level(logging.DEBUG):
        yield caplog
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def answer_of_sts(request: Request) -> Response:
    by = b"WithWebIdentity" if b"WithWebIdentity" in request.body else b""
    return Response(200, ASSUMED.replace(b"{0}", by), {"Content-Type": "text/xml"})


def test_no_debug_log_holds_the_credentials_of_a_role_that_was_assumed(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, debug_log: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("boto3")
    (tmp_path / "token").write_text("c4nary-jwt")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod")
    with WebServer(answer_of_sts) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)

        sign_in(AwsIamLogin(region="eu-west-1", assume_role=ROLE), address)

    assert "botocore" in debug_log.text
    assert re.findall("c4nary[a-z-]*", debug_log.text) == []


@pytest.fixture(scope="module")
def gcp_key() -> dict[str, str]:
    """A service account's key, such as Google gives out."""
    pytest.importorskip("google.auth")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "client_email": "jobs@project.iam.gserviceaccount.com",
        "private_key": pem.decode(),
        "private_key_id": "key-1",
        "token_uri": NOWHERE,
    }


def claims(jwt: str) -> tuple[Any, Any]:
    header, payload = (json.loads(base64.urlsafe_b64decode(part + "===")) for part in jwt.split(".")[:2])
    return header, payload


@pytest.mark.parametrize("way", ["gcp_keyfile_dict", "gcp_key_path"])
def test_google_s_key_signs_here(
    recorder: Recorder, address: str, gcp_key: dict[str, str], tmp_path: Path, way: str
) -> None:
    (tmp_path / "key.json").write_text(json.dumps(gcp_key))
    given = {"gcp_keyfile_dict": json.dumps(gcp_key), "gcp_key_path": str(tmp_path / "key.json")}[way]

    sign_in(from_params(address, auth_type="gcp", role_id="jobs", **{way: given}), address)

    header, payload = claims(body_of(recorder)["jwt"])
    assert body_of(recorder)["role"] == "jobs"
    assert header["kid"] == "key-1"
    assert payload == {
        "aud": "vault/jobs",
        "sub": gcp_key["client_email"],
        "iat": payload["iat"],
        "exp": payload["iat"] + 900,
    }


def test_google_logs_no_answers(address: str, gcp_key: dict[str, str], debug_log: pytest.LogCaptureFixture) -> None:
    assert is_logged("google.auth")

    sign_in(GcpLogin(role="jobs", key=json.dumps(gcp_key)), address)

    assert not is_logged("google.auth")


def test_google_s_key_makes_a_signature_that_holds(recorder: Recorder, address: str, gcp_key: dict[str, str]) -> None:
    jwt = pytest.importorskip("jwt")
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    sign_in(GcpLogin(role="jobs", key=json.dumps(gcp_key)), address)

    public = load_pem_private_key(gcp_key["private_key"].encode(), None).public_key()
    assert jwt.decode(body_of(recorder)["jwt"], public, algorithms=["RS256"], audience="vault/jobs")


EMAIL = "jobs@project.iam.gserviceaccount.com"
SIGN_IN_ON_A_MACHINE = """
import sys
from airflow_config_providers.providers.vault.logins.clouds import GcpLogin
from airflow_config_providers.providers.vault.settings import VaultSettings
from airflow_config_providers.providers.vault.transport import make_client
login = GcpLogin(role="jobs", iam=sys.argv[1], clock=lambda: 1000.5)
login(make_client(VaultSettings(url=sys.argv[2], login=login)))
"""


class Google:
    """IAM Credentials, the token service, and the metadata server of a machine."""

    def __init__(self) -> None:
        self.status = 200
        self.signed: list[tuple[str, Any]] = []

    def __call__(self, request: Request) -> Response:
        is_for_signing = request.path.endswith(":signJwt")
        if is_for_signing:
            self.signed.append((unquote(request.path), json.loads(json.loads(request.body)["payload"])))
        answer = {
            "signedJwt": "signed.by.google",
            "access_token": "c4nary",
            "accessToken": "c4nary",
            "expires_in": 3600,
            "expireTime": "2999-01-01T00:00:00Z",
            "token_type": "Bearer",
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "email": EMAIL,
        }
        headers = {"Content-Type": "application/json", "Metadata-Flavor": "Google"}
        return Response(self.status if is_for_signing else 200, json.dumps(answer).encode(), headers)


@pytest.fixture
def google() -> Iterator[tuple[Google, str]]:
    pytest.importorskip("google.auth")
    service = Google()
    with WebServer(service) as server:
        yield service, server.address


@pytest.fixture
def federated(google: tuple[Google, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Google, str]:
    """A pod whose token Google exchanges for that of a service account."""
    service, its_address = google
    (tmp_path / "pod-token").write_text("c4nary")
    credentials = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": f"{its_address}/v1/token",
        "service_account_impersonation_url": f"{its_address}/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken",
        "credential_source": {"file": str(tmp_path / "pod-token")},
    }
    (tmp_path / "credentials.json").write_text(json.dumps(credentials))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "project")  # or google-auth asks Google for it
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "credentials.json"))
    return service, its_address


def test_google_signs_for_a_pod(recorder: Recorder, address: str, federated: tuple[Google, str]) -> None:
    service, its_address = federated

    sign_in(GcpLogin(role="jobs", iam=its_address, clock=lambda: 1000.5), address)

    assert body_of(recorder) == {"role": "jobs", "jwt": "signed.by.google"}
    payload = {"iat": 1000, "exp": 1900, "sub": EMAIL, "aud": "vault/jobs"}
    assert service.signed == [(f"/v1/projects/-/serviceAccounts/{EMAIL}:signJwt", payload)]


def test_google_signs_for_a_machine(recorder: Recorder, address: str, google: tuple[Google, str]) -> None:
    service, its_address = google
    place = its_address.removeprefix("http://")
    environ = {"GCE_METADATA_HOST": place, "GCE_METADATA_IP": place, "PATH": os.environ["PATH"]}
    kept = {name: value for name, value in os.environ.items() if name in {"PYTHONPATH", "HOME"}}

    subprocess.run(
        [sys.executable, "-c", SIGN_IN_ON_A_MACHINE, its_address, address], env={**environ, **kept}, check=True
    )

    assert body_of(recorder) == {"role": "jobs", "jwt": "signed.by.google"}
    assert service.signed[0][0] == f"/v1/projects/-/serviceAccounts/{EMAIL}:signJwt"


@pytest.mark.parametrize(
    ("status", "expected"), [(403, AccessDeniedError), (503, ProviderUnavailableError)], ids=["refused", "out of order"]
)
def test_google_does_not_sign(
    recorder: Recorder, address: str, federated: tuple[Google, str], status: int, expected: type[Exception]
) -> None:
    service, its_address = federated
    service.status = status

    assert type(failure_of(GcpLogin(role="jobs", iam=its_address), address)) is expected
    assert recorder.requests() == []


@pytest.mark.usefixtures("federated")
def test_google_is_not_reached(address: str) -> None:
    assert type(failure_of(GcpLogin(role="jobs", iam=NOWHERE), address)) is ProviderUnavailableError


@pytest.mark.parametrize(
    "login",
    [
        pytest.param(GcpLogin(role="r"), id="no credentials"),
        pytest.param(GcpLogin(role="r", key='{"private_key": "c4nary"}'), id="half a key"),
        pytest.param(GcpLogin(role="r", key_path="/no/key"), id="no file"),
    ],
)
def test_google_s_credentials_that_cannot_be_used(address: str, login: Login) -> None:
    pytest.importorskip("google.auth")

    failure = failure_of(login, address)

    assert type(failure) is ProviderDefinitionError
    assert "Google's credentials cannot be used" in str(failure)


class Identities:
    """The endpoint that gives tokens to the managed identities of an app."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.asked: list[str] = []

    def __call__(self, request: Request) -> Response:
        self.asked.append(unquote(request.query))
        answer: dict[str, Any] = {"access_token": "e.n.tra", "expires_on": "4102444800", "token_type": "Bearer"}
        if self.status != 200:
            answer = {"statusCode": self.status, "message": "c4nary"}
        return Response(self.status, json.dumps(answer).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def on_azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Identities]:
    pytest.importorskip("azure.identity")
    identities = Identities()
    with WebServer(identities) as server:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{server.address}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "c4nary")
        yield identities


def test_azure_s_managed_identity_signs_in(recorder: Recorder, address: str, on_azure: Identities) -> None:
    login = from_params(
        address,
        auth_type="azure",
        azure_role="jobs",
        azure_resource="https://management.azure.com/",
        key_id="client-id",
        subscription_id="sub",
        resource_group_name="group",
        vm_name="vm",
    )

    sign_in(login, address)

    assert recorder.requests() == [
        Recorded(
            "POST",
            "/v1/auth/azure/login",
            {
                "role": "jobs",
                "jwt": "e.n.tra",
                "subscription_id": "sub",
                "resource_group_name": "group",
                "vm_name": "vm",
            },
            {},
        )
    ]
    assert "resource=https://management.azure.com/" in on_azure.asked[0]
    assert "client-id" in on_azure.asked[0]


def test_azure_logs_no_answers(
    recorder: Recorder, address: str, on_azure: Identities, debug_log: pytest.LogCaptureFixture
) -> None:
    assert is_logged("msal.managed_identity")

    sign_in(AzureLogin("jobs", "https://vault.example.com"), address)

    assert not is_logged("azure.core.pipeline.policies._universal")
    assert not is_logged("msal.managed_identity")


def test_azure_finds_the_identity_by_itself(recorder: Recorder, address: str, on_azure: Identities) -> None:
    sign_in(AzureLogin(role="jobs", resource="https://management.azure.com/", mount_point="az"), address)

    assert recorder.requests() == [Recorded("POST", "/v1/auth/az/login", {"role": "jobs", "jwt": "e.n.tra"}, {})]
    assert on_azure.asked


def test_azure_refuses(address: str, on_azure: Identities) -> None:
    on_azure.status = 400

    failure = failure_of(AzureLogin(role="jobs", resource="r", client_id="c"), address)

    assert type(failure) is AccessDeniedError


def test_azure_s_identity_is_what_the_settings_say(address: str) -> None:
    identity = pytest.importorskip("azure.identity")
    common = {"auth_type": "azure", "azure_role": "r", "azure_resource": "x"}
    principal = from_params(address, **common, azure_tenant_id="tenant", key_id="id", secret_id="c4nary")

    assert isinstance(principal, AzureLogin)
    assert isinstance(principal.identity(), identity.ClientSecretCredential)
    machine = (principal.subscription_id, principal.resource_group_name, principal.vm_name, principal.vmss_name)
    assert machine == ("", "", "", "")
    assert "c4nary" not in repr(principal)


@pytest.mark.parametrize(
    ("module", "login", "package"),
    [
        ("boto3", AwsIamLogin(), "boto3"),
        ("google.auth", GcpLogin(role="r"), "google-auth"),
        ("azure.identity", AzureLogin(role="r", resource="x"), "azure-identity"),
    ],
)
def test_a_library_that_is_not_installed_is_named(
    address: str, monkeypatch: pytest.MonkeyPatch, module: str, login: Login, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    failure = failure_of(login, address)

    assert type(failure) is ProviderDefinitionError
    assert str(failure).endswith(f"Install it: pip install {package}")


@pytest.mark.parametrize("login", [AwsIamLogin(), GcpLogin(role="r"), AzureLogin(role="r", resource="x")])
def test_a_login_of_a_cloud_has_no_version(login: Login) -> None:
    assert login.version() is None
    assert hash(login) == hash(login)
