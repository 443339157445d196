"""Errors say which of the things that can go wrong it was."""

from __future__ import annotations

import contextlib

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, UnresolvedReferenceError
from tests.providers.vault.opened import opened, parameters, provider_of
from tests.servers.certificates import self_signed
from tests.servers.recorder import Recorder
from tests.servers.web import WebServer


def told(provider, reference: str) -> str:
    """Resolve a reference without an answer, and return the only problem."""
    conf = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.x": reference})
    with pytest.raises(UnresolvedReferenceError) as caught:
        ConfigResolver({"vault": provider}).resolve([conf])
    (problem,) = caught.value.problems
    return problem


UNDELETE = "Undelete it, write a new version, or refer to another one."


@pytest.fixture
def kv2(vault):
    """A mount with secrets that are there, deleted and destroyed."""
    for name in ("there", "deleted", "destroyed"):
        for value in ("old", "new"):
            vault.put(name, {"k": value})
    vault.admin.delete(f"{vault.kv2}/data/deleted")
    vault.admin.write_data(f"{vault.kv2}/destroy/destroyed", data={"versions": [2]})
    return vault.kv2


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("{kv2}/nowhere:k", "has no secret at '{kv2}/nowhere'"),
        ("{kv2}/there?version=9:k", "has no secret at '{kv2}/there', or no such version of it"),
        ("{kv2}/deleted:k", "has deleted version 2 of '{kv2}/deleted'"),
        ("{kv2}/destroyed:k", "has destroyed version 2 of '{kv2}/destroyed'"),
        ("{kv2}/there:key", "has no key 'key' there"),
        ("{kv1}/nowhere:k", "has no secret at '{kv1}/nowhere'"),
        ("nowhere/db:k", "has no mount 'nowhere' that the login may read, and no secret at 'secret/nowhere/db'"),
    ],
)
@pytest.mark.parametrize("token", ["root", "policy"])
def test_what_is_missing_is_said(vault, kv2: str, reference: str, expected: str, token: str) -> None:
    vault.put_v1("a", {"k": "v"})
    names = {"kv2": kv2, "kv1": vault.kv1}
    text = vault.root_token if token == "root" else vault.token("*")
    with opened(vault, token=text) as provider:
        problem = told(provider, f"${{vault:{reference.format(**names)}}}")
        assert expected.format(**names) in problem
        assert "API" not in problem


def test_below_a_mount_point_the_whole_path_is_said(vault) -> None:
    with opened(vault, mount_point=vault.kv2) as provider:
        assert f"has no secret at '{vault.kv2}/apps/db'" in told(provider, "${vault:apps/db:k}")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("{kv2}/data/there", "{kv2}/there"),
        ("{kv2}/metadata/there", "{kv2}/there"),
        ("v1/{kv2}/data/there", "{kv2}/there"),
        ("v1/{kv2}/there", "{kv2}/there"),
    ],
)
@pytest.mark.parametrize("may", ["everything", "the path of the API"])
def test_a_path_of_the_api_is_told_with_the_one_that_is_meant(vault, kv2: str, path: str, meant: str, may: str) -> None:
    role = vault.approle("*" if may == "everything" else f"{kv2}/data/there")
    with opened(vault, role=role) as provider:
        conf = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.x": f"${{vault:{path.format(kv2=kv2)}:k}}"})
        with pytest.raises((UnresolvedReferenceError, AccessDeniedError)) as caught:
            ConfigResolver({"vault": provider}).resolve([conf])
        _, first, *_ = str(caught.value).split(". ")
        assert f": write '{meant.format(kv2=kv2)}', because a reference has the path of 'vault kv get'" in first
        assert "orrect the path" not in str(caught.value)


def test_a_folder_that_is_called_data_is_read(vault) -> None:
    vault.put("data/there", {"k": "v"})
    with opened(vault) as provider:
        assert provider.get(f"{vault.kv2}/data/there", {"k"}).data == {"k": "v"}


def test_a_deleted_secret_in_a_folder_that_is_called_data_is_no_path_of_the_api(vault) -> None:
    vault.put("data/there", {"k": "v"})
    vault.admin.delete(f"{vault.kv2}/data/data/there")
    with opened(vault) as provider:
        absence = provider.get(f"{vault.kv2}/data/there", {"k"}).absence
    assert absence.endswith(f"has deleted version 1 of '{vault.kv2}/data/there'. {UNDELETE}")


def test_a_denial_at_an_unknown_mount_says_that_there_may_be_none(vault) -> None:
    role = vault.approle(f"{vault.kv2}/data/there")
    with opened(vault, role=role) as provider, pytest.raises(AccessDeniedError) as caught:
        provider.get("nowhere/db", {"k"})
    assert "nothing that the login may read is mounted at 'nowhere'" in str(caught.value)


def test_a_denial_at_a_known_mount_says_only_what_to_allow(vault) -> None:
    role = vault.approle(f"{vault.kv2}/data/there")
    with opened(vault, role=role) as provider, pytest.raises(AccessDeniedError) as caught:
        provider.get(f"{vault.kv2}/other", {"k"})
    assert f"Let a policy of the login read '{vault.kv2}/data/other', or correct the path." in str(caught.value)


@pytest.mark.parametrize(
    ("made", "trusted", "expected"),
    [
        ({}, False, "is self-signed and not trusted. Name it with ca_cert"),
        ({"begins": -3, "ends": -2}, True, "has expired. Renew it"),
        ({"begins": 2, "ends": 3}, True, "is not valid yet. Check the clock"),
        ({"address": "127.0.0.2"}, True, "is for another host"),
    ],
    ids=["self-signed", "expired", "not valid yet", "another host"],
)
def test_what_is_wrong_with_a_certificate_is_said(tmp_path, made: dict, trusted: bool, expected: str) -> None:
    certificate = self_signed(tmp_path, **made)
    recorder = Recorder()
    with WebServer(recorder, tls=certificate.server_context()) as server:
        params = {"url": server.address, "token": "t"} | ({"ca_cert": str(certificate.certificate)} if trusted else {})
        with contextlib.closing(provider_of(params)) as provider, pytest.raises(ProviderLookupError) as caught:
            provider.get("secret/a", {"k"})
    assert type(caught.value) is ProviderLookupError
    assert expected in str(caught.value)
    assert recorder.requests() == []


def test_a_host_name_that_the_certificate_does_not_have_is_said(vault) -> None:
    url = vault.https.address.replace("127.0.0.1", "localhost")
    params = {**parameters(vault), "url": url, "ca_cert": str(vault.https.ca_file)}
    with (
        contextlib.closing(provider_of(params)) as provider,
        pytest.raises(ProviderLookupError, match="is for another host"),
    ):
        provider.get(f"{vault.kv2}/a", {"k"})
