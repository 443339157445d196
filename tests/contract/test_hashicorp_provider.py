"""
The hook of Airflow's HashiCorp provider and our login, with the same connection, at the same server.

And the names of hvac that we lean on. A version that changes one must break here, and loudly.
"""

from __future__ import annotations

import base64
import inspect
import json
import os
import re
import subprocess
import sys

import hvac
import pytest
from airflow.providers.hashicorp._internal_client import vault_client
from airflow.providers.hashicorp.hooks.vault import VaultHook
from hvac.adapters import JSONAdapter, RawAdapter

from airflow_config_providers.providers.vault import parameters as ours
from airflow_config_providers.providers.vault.logins import credentials
from airflow_config_providers.providers.vault.parameters import AUTH_TYPES, read_settings
from tests.servers.recorder import Recorder, signed_in
from tests.servers.web import WebServer

AWS_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
    "AWS_SECRET_ACCESS_KEY": "of-the-environment",
    "AWS_SESSION_TOKEN": "session-of-the-environment",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def define(recorder, monkeypatch):
    """Define a connection to the recorder, with fields and an extra."""
    for name in [name for name in os.environ if name.startswith(("VAULT_", "AWS_"))]:
        monkeypatch.delenv(name)
    with WebServer(recorder) as server:
        port = int(server.address.rpartition(":")[2])

        def connect(fields, extra):
            made = {"conn_type": "vault", "host": "127.0.0.1", "port": port, **fields, "extra": extra}
            monkeypatch.setenv("AIRFLOW_CONN_CONTRACT", json.dumps(made))

        yield connect


def upstream_logins(recorder):
    """Return the token and the login requests of Airflow's hook."""
    recorder.forget()
    token = VaultHook("contract").vault_client.client.token
    return token, logins(recorder)


def our_logins(recorder):
    """Return the token and the login requests of our provider."""
    recorder.forget()
    settings = read_settings({"conn_id": "contract"}, connections=VaultHook.get_connection, environ=os.environ)
    token = signed_in(settings).token
    return token, logins(recorder)


def logins(recorder):
    seen = [request for request in recorder.requests() if "/login" in request.path]
    return [(request.method, request.path, signed(request.body), namespace(request)) for request in seen]


def namespace(request):
    return request.headers.get("x-vault-namespace")


def signed(body):
    """Open what is in base64, and take out what the time changes."""
    opened = {
        key: base64.b64decode(value).decode() if key.startswith("iam_request_") else value
        for key, value in body.items()
    }
    if "iam_request_headers" in opened:
        headers = json.loads(opened["iam_request_headers"])
        headers.pop("X-Amz-Date")
        headers["Authorization"] = [re.sub("Signature=[0-9a-f]{64}", "", headers["Authorization"][0])]
        opened["iam_request_headers"] = headers
    return opened


@pytest.mark.parametrize("auth_mount_point", [None, "elsewhere"])
@pytest.mark.parametrize(
    ("fields", "extra"),
    [
        pytest.param({"login": "r", "password": "s"}, {"auth_type": "approle"}, id="approle"),
        pytest.param({"login": "r"}, {"auth_type": "approle"}, id="approle without a secret ID"),
        pytest.param({"login": "AKIA", "password": "k"}, {"auth_type": "aws_iam"}, id="aws_iam with a key"),
        pytest.param(
            {"login": "AKIA", "password": "k"},
            {"auth_type": "aws_iam", "role_id": "jobs", "region": "eu-west-1"},
            id="aws_iam with a key, a role and a region",
        ),
        pytest.param({"password": "gh"}, {"auth_type": "github"}, id="github"),
        pytest.param({}, {"auth_type": "jwt", "jwt_role": "jobs", "jwt_token": "a.b.c"}, id="jwt"),
        pytest.param({}, {"auth_type": "jwt", "jwt_role": "jobs", "jwt_token_path": "FILE"}, id="jwt of a file"),
        pytest.param(
            {},
            {"auth_type": "kubernetes", "kubernetes_role": "jobs", "kubernetes_jwt_path": "FILE"},
            id="kubernetes",
        ),
        pytest.param({"login": "ann", "password": "p"}, {"auth_type": "ldap"}, id="ldap"),
        pytest.param({"login": "ann@example.com", "password": "p"}, {"auth_type": "userpass"}, id="userpass"),
        pytest.param({"password": "root"}, {}, id="token"),
        pytest.param(
            {"login": "r", "password": "s"},
            {"auth_type": "approle", "client_kwargs": {"namespace": "team/a", "timeout": 5}},
            id="a namespace",
        ),
        pytest.param({"login": "0123", "password": "1e5"}, {"auth_type": "approle"}, id="what looks like numbers"),
        pytest.param(
            {}, {"auth_type": "jwt", "jwt_role": 7, "jwt_token": "a.b.c", "kv_engine_version": "1"}, id="numbers"
        ),
    ],
)
def test_the_same_connection_signs_in_the_same_way(recorder, define, tmp_path, *, fields, extra, auth_mount_point):
    file = tmp_path / "token"
    file.write_text("token.of.file\n")
    define(fields, json.loads(json.dumps({**extra, "auth_mount_point": auth_mount_point}).replace("FILE", str(file))))

    token, requests = upstream_logins(recorder)

    assert our_logins(recorder) == (token, as_text(requests))
    assert len(requests) == (extra != {})


def as_text(requests):
    """A role that is written as a number is a text to us; Vault takes either."""
    return [
        (method, path, {key: str(value) if isinstance(value, int) else value for key, value in body.items()}, namespace)
        for method, path, body, namespace in requests
    ]


@pytest.mark.parametrize("role", [None, "jobs"])
def test_aws_credentials_that_boto3_finds_sign_in_the_same_way(recorder, define, monkeypatch, role):
    pytest.importorskip("boto3")
    define({}, {"auth_type": "aws_iam", "role_id": role})
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    token, requests = upstream_logins(recorder)

    assert our_logins(recorder) == (token, requests)
    assert "eu-central-1" in requests[0][2]["iam_request_headers"]["Authorization"][0]


def test_a_role_to_assume_signs_in_the_same_way(recorder, define, monkeypatch):
    moto = pytest.importorskip("moto.server", reason="install the extra moto")
    arguments = {"RoleArn": "arn:aws:iam::123456789012:role/jobs", "RoleSessionName": "airflow", "DurationSeconds": 900}
    define({}, {"auth_type": "aws_iam", "client_kwargs": {"assume_role_kwargs": arguments}})
    sts = moto.ThreadedMotoServer("127.0.0.1", port=0)
    sts.start()
    host, port = sts.get_host_and_port()
    for name, value in {**AWS_ENVIRONMENT, "AWS_ENDPOINT_URL_STS": f"http://{host}:{port}"}.items():
        monkeypatch.setenv(name, value)
    try:
        token, (theirs,) = upstream_logins(recorder)
        our_token, (our,) = our_logins(recorder)
    finally:
        sts.stop()

    assert our_token == token
    assert our[:2] == theirs[:2]
    assert our[2].keys() == theirs[2].keys()
    assert our[2]["iam_request_headers"].keys() == theirs[2]["iam_request_headers"].keys()
    assert "AKIAENVIRONMENT" not in our[2]["iam_request_headers"]["Authorization"][0]


@pytest.mark.parametrize("extra", [{}, {"auth_type": "token"}])
def test_the_token_of_the_environment_is_taken_in_the_same_way(recorder, define, monkeypatch, extra):
    define({}, extra)
    monkeypatch.setenv("VAULT_TOKEN", "of-the-environment")

    assert our_logins(recorder) == upstream_logins(recorder) == ("of-the-environment", [])


@pytest.mark.parametrize("environ", [{}, {"VAULT_TOKEN": "of-the-environment"}])
def test_the_token_of_the_connection_counts_more_than_that_of_the_environment(recorder, define, monkeypatch, environ):
    define({"password": "root"}, {})
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert our_logins(recorder) == upstream_logins(recorder) == ("root", [])


@pytest.mark.parametrize(
    ("fields", "extra"),
    [
        ({"conn_type": "vault"}, {}),
        ({"conn_type": "vaults"}, {}),
        ({"conn_type": "http"}, {}),
        ({"conn_type": "https"}, {}),
        ({"conn_type": "vaults"}, {"use_tls": False}),
        ({"conn_type": "vault"}, {"use_tls": "yes"}),
        ({"conn_type": "vault"}, {"use_tls": "0"}),
    ],
)
def test_the_address_is_the_same(define, fields, extra):
    define({**fields, "password": "t"}, extra)
    settings = read_settings({"conn_id": "contract"}, connections=VaultHook.get_connection, environ={})

    assert settings.url == VaultHook("contract").vault_client.url


@pytest.mark.parametrize(
    ("auth_type", "fields", "extra"),
    [
        (
            "radius",
            {"login": "ann", "password": "p"},
            {"radius_host": "radius", "radius_port": "1812"},
        ),
        (
            "azure",
            {"login": "id", "password": "p"},
            {"azure_tenant_id": "t", "azure_resource": "r"},
        ),
    ],
)
def test_the_hook_does_not_sign_in_but_configures_these(recorder, define, monkeypatch, auth_type, fields, extra):
    define(fields, {"auth_type": auth_type, **extra})
    monkeypatch.setenv("VAULT_TOKEN", "of-the-environment")

    _, requests = upstream_logins(recorder)

    assert requests == []
    assert [request.path for request in recorder.requests()] == [f"/v1/auth/{auth_type}/config"]


def test_we_know_every_way_to_sign_in_that_the_hook_knows():
    assert set(vault_client.VALID_AUTH_TYPES) == AUTH_TYPES
    assert credentials.JWT_PATH == vault_client.DEFAULT_KUBERNETES_JWT_PATH


def test_we_read_from_the_extra_what_the_hook_reads():
    source = inspect.getsource(VaultHook)
    read = set(re.findall(r'extra_dejson\.get\("(\w+)"', source))
    elsewhere = {"auth_type", "client_kwargs", "use_tls"}  # read by name
    for_configuration = {"radius_host", "radius_port"}

    assert read - elsewhere - for_configuration <= set(ours._EXTRA)


@pytest.mark.parametrize(
    ("method", "function", "arguments"),
    [
        ("approle", "login", {"role_id", "secret_id", "mount_point"}),
        (
            "aws",
            "iam_login",
            {"access_key", "secret_key", "session_token", "header_value", "role", "region", "mount_point"},
        ),
        (
            "azure",
            "login",
            {"role", "jwt", "subscription_id", "resource_group_name", "vm_name", "vmss_name", "mount_point"},
        ),
        ("gcp", "login", {"role", "jwt", "mount_point"}),
        ("github", "login", {"token", "mount_point"}),
        ("jwt", "jwt_login", {"role", "jwt", "path"}),
        ("kubernetes", "login", {"role", "jwt", "mount_point"}),
        ("ldap", "login", {"username", "password", "mount_point"}),
        ("radius", "login", {"username", "password", "mount_point"}),
        ("userpass", "login", {"username", "password", "mount_point"}),
    ],
)
def test_hvac_has_the_logins_that_we_call(method, function, arguments):
    called = getattr(getattr(hvac.Client(token="").auth, method), function)

    assert {*arguments, "use_token"} <= set(inspect.signature(called).parameters)


def test_hvac_puts_the_name_of_a_user_into_the_path_unquoted():
    assert "format_url" not in inspect.getsource(hvac.api.auth_methods.Userpass.login)
    assert "format_url" in inspect.getsource(hvac.api.auth_methods.Ldap.login)


def test_hvac_looks_for_a_token_only_where_none_is_given(tmp_path):
    script = "import hvac; print(repr(hvac.Client().token), repr(hvac.Client(token='').token))"
    (tmp_path / ".vault-token").write_text("of-the-home-directory")
    environ = {**os.environ, "HOME": str(tmp_path)}
    environ.pop("VAULT_TOKEN", None)

    shown = subprocess.run([sys.executable, "-c", script], env=environ, check=True, capture_output=True, text=True)

    assert shown.stdout.split() == ["'of-the-home-directory'", "''"]


def test_hvac_looks_for_a_client_certificate_only_where_none_is_given(tmp_path):
    script = (
        "import hvac\n"
        "print(hvac.Client(token='')._adapter._kwargs['cert'], hvac.Client(token='', cert=())._adapter._kwargs['cert'])"
    )
    environ = {**os.environ, "VAULT_CLIENT_CERT": "cert", "VAULT_CLIENT_KEY": "key"}

    shown = subprocess.run([sys.executable, "-c", script], env=environ, check=True, capture_output=True, text=True)

    assert shown.stdout.strip() == "('cert', 'key') ()"


def test_hvac_hands_a_redirect_on_as_a_response():
    source = inspect.getsource(JSONAdapter.request)

    assert "response.status_code == 200" in source
    assert "allow_redirects=self.allow_redirects" in inspect.getsource(RawAdapter.request)
