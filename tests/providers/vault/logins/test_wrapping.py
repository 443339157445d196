"""A secret ID that travels wrapped: good once, and noticed when somebody else was first."""

from __future__ import annotations

import contextlib
import copy
import pickle
from typing import Any

import pytest

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault.logins.approle import WrappedSecretIdLogin
from airflow_config_providers.providers.vault.logins.signing_in import LoginAttempts
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from tests.providers.vault.processes import run_job
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
    return provider(**signing_in(vault, role, wrapped))


def signing_in(vault: Any, role: AppRole, wrapped: str) -> dict[str, object]:
    return {"url": vault.address, "auth_type": "approle", "role_id": role.role_id, "wrapped_secret_id": wrapped}


def short_lived(vault: Any, **more: object) -> tuple[AppRole, dict[str, object]]:
    """Return a role whose login lasts two seconds, and the parameters of a driver of that role."""
    vault.put("apps/db", {"password": CANARY})
    role = vault.approle(f"{vault.kv2}/data/apps/*", ttl=2, token_max_ttl="2s", **more)
    sender = worker(vault, role)
    wrapped = sender.wrapped_secret_id(role.name)
    sender.close()
    return role, {**signing_in(vault, role, wrapped), "cache.ttl": "0"}


def login_of(of: VaultConfigProvider) -> WrappedSecretIdLogin:
    login = vars(of)["_cache"].session.settings.login
    assert isinstance(login, WrappedSecretIdLogin)
    return login


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


@pytest.mark.parametrize(("asked", "expected"), [({}, 3600), ({"login_seconds": 90}, 90)], ids=["the role", "the job"])
def test_a_secret_id_ends_when_the_role_or_the_job_says(vault: Any, asked: dict[str, int], expected: int) -> None:
    role = vault.approle("*", secret_id_ttl=3600)
    with contextlib.closing(worker(vault, role)) as sender:
        wrapped = sender.wrapped_secret_id(role.name, **asked)

    assert vault.unwrapped(wrapped)["secret_id_ttl"] == expected


def test_a_secret_id_that_would_outlast_what_the_role_allows_is_not_made(vault: Any) -> None:
    role = vault.approle("*", secret_id_ttl=60)
    with (
        contextlib.closing(worker(vault, role)) as sender,
        pytest.raises(ProviderLookupError, match="secret_id_ttl is not shorter than 61 seconds"),
    ):
        sender.wrapped_secret_id(role.name, login_seconds=61)


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


def test_the_driver_signs_in_again_when_its_login_has_ended(vault: Any) -> None:
    _, params = short_lived(vault)

    with contextlib.closing(provider(**params)) as receiver:
        receiver.get(f"{vault.kv2}/apps/db")
        vault.advance(3)
        assert receiver.get(f"{vault.kv2}/apps/db", {"password"}).data == {"password": CANARY}


def test_a_forked_child_signs_in_with_what_its_parent_unwrapped(vault: Any, role: AppRole) -> None:
    params = signing_in(vault, role, worker(vault, role).wrapped_secret_id(role.name))

    code, lines, complained = run_job("read in a child", {**params, "cache.ttl": "0"}, f"{vault.kv2}/apps/db")

    assert (code, complained) == (0, "")
    assert lines == ["read password", "read password", "child ended with 0", "read password"]


def test_a_failed_login_after_the_unwrapping_can_be_repeated(vault: Any, role: AppRole) -> None:
    wrapped = worker(vault, role).wrapped_secret_id(role.name)
    vault.fail(1, 500, path="auth/approle/login")

    with contextlib.closing(driver(vault, role, wrapped)) as receiver:
        with pytest.raises(ProviderUnavailableError):
            receiver.check()
        receiver.check()


def test_a_secret_id_that_is_used_up_is_no_theft(vault: Any) -> None:
    _, params = short_lived(vault, secret_id_num_uses=1)

    with contextlib.closing(provider(**params)) as receiver:
        receiver.get(f"{vault.kv2}/apps/db")
        vault.advance(3)
        with pytest.raises(AccessDeniedError, match=r"was used too often.*secret_id_num_uses") as error:
            receiver.get(f"{vault.kv2}/apps/db")
        secret_id = login_of(receiver).unwrapped.text

    assert secret_id
    assert secret_id not in f"{error.value!r} {error.value.__cause__} {error.value.__context__}"


def test_a_closed_provider_forgets_the_secret_id(vault: Any, role: AppRole) -> None:
    receiver = driver(vault, role, worker(vault, role).wrapped_secret_id(role.name))
    receiver.check()
    login = login_of(receiver)
    assert login.unwrapped.text

    receiver.close()

    assert login.unwrapped.text == ""


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda login: pickle.loads(pickle.dumps(login))], ids=["copy", "pickle"]
)
def test_no_copy_of_a_login_has_the_secret_id(vault: Any, role: AppRole, copied: Any) -> None:
    with contextlib.closing(driver(vault, role, worker(vault, role).wrapped_secret_id(role.name))) as receiver:
        receiver.check()
        login = login_of(receiver)

        assert copied(login) == login
        assert copied(login).unwrapped.text == ""
        assert login.unwrapped.text not in f"{login!r} {login.unwrapped!r} {login.read()!r}"


def test_a_refusal_is_known_of_a_login_before_and_after_the_unwrapping(vault: Any, role: AppRole) -> None:
    attempts = LoginAttempts()
    with contextlib.closing(driver(vault, role, worker(vault, role).wrapped_secret_id(role.name))) as receiver:
        settings, login = vars(receiver)["_cache"].session.settings, login_of(receiver)
        before = attempts.key(settings, login.read())
        receiver.check()

        assert attempts.key(settings, login.read()) == before
