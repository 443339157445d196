"""A secret ID that travels wrapped: good once, and noticed when somebody else was first."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ProviderDefinitionError, ProviderLookupError
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from tests.servers.fixtures import AppRole

pytest.importorskip("hvac")

CANARY = "canary-wrapped"


def provider(**params: object) -> VaultConfigProvider:
    made = VaultConfigProvider(lambda conn_id: None, {})
    made.configure(params)
    return made


def worker(vault: Any, role: AppRole) -> VaultConfigProvider:
    """Whoever submits: may make secret IDs of the role, and nothing else."""
    token = vault.token({f"auth/approle/role/{role.name}/secret-id": ["update"]})
    return provider(url=vault.address, token=token)


def driver(vault: Any, role: AppRole, wrapped: str) -> VaultConfigProvider:
    return provider(url=vault.address, auth_type="approle", role_id=role.role_id, wrapped_secret_id=wrapped)


@pytest.fixture
def role(vault: Any) -> AppRole:
    vault.put("apps/db", {"password": CANARY})
    return vault.approle(f"{vault.kv2}/data/apps/*")


def test_the_driver_reads_what_the_worker_may_not(vault: Any, role: AppRole) -> None:
    sender = worker(vault, role)
    receiver = driver(vault, role, sender.wrapped_secret_id(role.name))

    assert receiver.get(f"{vault.kv2}/apps/db", {"password"}).data == {"password": CANARY}
    with pytest.raises(AccessDeniedError):
        sender.get(f"{vault.kv2}/apps/db", {"password"})
    receiver.close()
    sender.close()


def test_attack_32_who_comes_second_is_refused_and_told_what_that_means(vault: Any, role: AppRole) -> None:
    wrapped = worker(vault, role).wrapped_secret_id(role.name)
    thief = driver(vault, role, wrapped)
    thief.check()
    thief.close()

    with pytest.raises(AccessDeniedError, match="was already used") as error:
        driver(vault, role, wrapped).get(f"{vault.kv2}/apps/db")

    assert wrapped not in f"{error.value!r} {error.value.__cause__} {error.value.__context__}"


def test_attack_32_another_wrapped_thing_in_its_place_is_not_taken_out(vault: Any, role: AppRole) -> None:
    false = vault.admin.adapter.request(
        "post",
        f"/v1/{vault.kv2}/data/apps/other",
        headers={"X-Vault-Token": vault.root_token, "X-Vault-Wrap-TTL": "60s"},
        json={"data": {"secret_id": "mine"}},
    )

    with pytest.raises(AccessDeniedError, match="does not hold a secret ID of this AppRole"):
        driver(vault, role, false["wrap_info"]["token"]).check()


def test_a_wrapping_ends(vault: Any, role: AppRole) -> None:
    wrapped = worker(vault, role).wrapped_secret_id(role.name, seconds=1)
    vault.advance(2)

    with pytest.raises(AccessDeniedError, match="has expired"):
        driver(vault, role, wrapped).check()


def test_who_may_not_make_secret_ids_is_told_so(vault: Any, role: AppRole) -> None:
    sender = provider(url=vault.address, token=vault.token(f"{vault.kv2}/data/apps/*"))

    with pytest.raises(AccessDeniedError, match="capability update"):
        sender.wrapped_secret_id(role.name)


def test_a_role_that_is_not_there_is_named(vault: Any) -> None:
    sender = provider(url=vault.address, token=vault.root_token)

    with pytest.raises(ProviderLookupError, match="'nobody'"):
        sender.wrapped_secret_id("nobody")


@pytest.mark.parametrize("other", ["secret_id", "secret_id_path"])
def test_there_is_one_secret_id(other: str) -> None:
    with pytest.raises(ProviderDefinitionError, match="both given"):
        provider(url="http://127.0.0.1:1", auth_type="approle", role_id="r", wrapped_secret_id="w", **{other: "x"})


def test_a_login_shows_no_token(vault: Any, role: AppRole) -> None:
    wrapped = worker(vault, role).wrapped_secret_id(role.name)

    assert wrapped not in repr(vars(driver(vault, role, wrapped))["_cache"].session.settings)
