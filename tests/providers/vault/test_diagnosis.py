"""What a Vault provider says when it examines itself; reads no secret."""

from __future__ import annotations

import re
import time
from contextlib import closing

import pytest

from airflow_config_providers.core.diagnosis import Severity
from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from airflow_config_providers.providers.vault.diagnosis import diagnose
from tests.providers.vault.opened import opened, provider_of, refused

CANARY = "c4nary-of-vault"


def said(found) -> str:
    return "\n".join(f"{one.severity.value}: {one.what} {one.way_out}" for one in found)


def test_it_says_how_long_the_login_lasts_and_what_it_may_read(vault):
    vault.put("apps/db", {"password": CANARY})
    role = vault.approle(f"{vault.kv2}/data/apps/*", ttl=600)
    with opened(vault, role=role) as provider:
        text = said(provider.diagnose())

    assert "ok: " in text
    assert "answers, and is not sealed" in text
    assert re.search(r"The login works, lasts (600|599|59\d) seconds, with the policies default, ", text)
    assert f"may read something in {vault.kv2}/" in text
    assert CANARY not in text
    assert not [one for one in vault.requests() if one.path.startswith(f"/v1/{vault.kv2}/")]


def test_a_token_that_may_do_everything_is_a_warning(vault):
    with opened(vault, token=vault.root_token) as provider:
        text = said(provider.diagnose())

    assert "warning: The token has the policy root" in text
    assert "has no end" in text
    assert vault.root_token not in text


def test_a_mount_point_that_it_may_not_read_is_a_warning(vault):
    with opened(vault, role=vault.approle(f"{vault.kv2}/data/*"), mount_point="nowhere") as provider:
        assert "warning: The login may read nothing in the mount_point 'nowhere'" in said(provider.diagnose())


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [
        pytest.param(0, None, id="equal"),
        pytest.param(-3, None, id="nearly equal"),
        pytest.param(20, Severity.WARNING, id="ahead"),
        pytest.param(-20, Severity.WARNING, id="behind"),
        pytest.param(3600, Severity.ERROR, id="far ahead"),
    ],
)
def test_a_clock_that_differs_from_vaults_is_found(vault, seconds: float, severity: Severity | None):
    with opened(vault) as provider:
        found = list(diagnose(provider._cache.session, now=lambda: time.time() + seconds))

    assert [one.severity for one in found if "The clocks" in one.what] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(20, "; beyond 60 seconds, logins with a JWT or a cloud identity break.", id="little"),
        pytest.param(3600, " seconds; logins with a JWT or a cloud identity break.", id="much"),
    ],
)
def test_a_clock_that_differs_little_breaks_no_login_yet(vault, seconds: float, expected: str):
    with opened(vault) as provider:
        found = list(diagnose(provider._cache.session, now=lambda: time.time() + seconds))

    (what,) = [one.what for one in found if "The clocks" in one.what]
    assert what.endswith(expected)


def test_a_refused_login_is_an_error(vault):
    with closing(provider_of(refused(vault))) as provider, pytest.raises(AccessDeniedError) as caught:
        list(provider.diagnose())

    assert "wrong" not in str(caught.value)


def test_a_sealed_vault_is_an_error(vault):
    with opened(vault) as provider, vault.sealed(), pytest.raises(ProviderUnavailableError, match="is sealed"):
        list(provider.diagnose())


def test_a_key_file_that_others_can_read_or_change_is_found(vault, tmp_path):
    (tmp_path / "token").write_text(vault.token("*"))
    (tmp_path / "token").chmod(0o666)
    params = {"url": vault.address, "token_path": str(tmp_path / "token"), "give_back_after_kill": "false"}
    with closing(provider_of(params)) as provider:
        text = said(provider.diagnose())

    assert f"error: Every user of this machine can change '{tmp_path}/token'. chmod o-w {tmp_path}/token" in text
    assert f"warning: Every user of this machine can read '{tmp_path}/token'" in text
