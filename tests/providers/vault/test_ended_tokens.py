"""Whether a token has ended that a read was refused with."""

from __future__ import annotations

import json

import pytest

from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from tests.providers.vault.opened import counted, opened

LOOKUP = "GET auth/token/lookup-self"
NEWER = json.dumps({"errors": ["2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"]})
"""What Vault says since 1.15 of a token that it does not know."""
OLDER = json.dumps({"errors": ["permission denied"]})


@pytest.fixture
def path(vault) -> str:
    vault.put("a", {"k": "v"})
    return f"{vault.kv2}/a"


def given(vault, is_given: bool) -> dict[str, str]:
    return {"token": vault.token("*")} if is_given else {}


def logins(vault) -> int:
    return sum(request.is_login for request in vault.requests())


BODIES = {"older": OLDER, "newer": NEWER}
TROUBLE = [(what, age) for what in ("reset", "cut", 429, 500, 503) for age in BODIES] + [("hang", "newer")]
"""What a lookup gets after each refusal. One that hangs takes the whole timeout, of 3 s, whatever was said before."""


@pytest.mark.parametrize(("what", "age"), TROUBLE)
@pytest.mark.parametrize("is_given", [True, False], ids=["given", "held"])
def test_a_lookup_that_gets_no_answer_does_not_say_that_the_token_has_ended(
    vault, path: str, what: str | int, is_given: bool, age: str
) -> None:
    body = BODIES[age]
    timeout = {"timeout": "3"} if what == "hang" else {}
    with opened(vault, **given(vault, is_given), **timeout, **{"cache.ttl": "0"}) as provider:
        assert provider.get(path, {"k"}).data == {"k": "v"}
        vault.reset()
        vault.fail(3, 403, body=body, path=vault.kv2)
        vault.fail(3, 403, body=body, path="sys/internal")
        vault.fail(1, what, path="auth/token/lookup-self")
        with pytest.raises(ProviderUnavailableError):
            provider.get(path, {"k"})
        assert logins(vault) == 0
        vault.reset()
        assert provider.get(path, {"k"}).data == {"k": "v"}
        assert logins(vault) == 0


@pytest.mark.parametrize("is_given", [True, False], ids=["given", "held"])
def test_a_token_that_vault_still_knows_has_not_ended_whatever_a_read_says(vault, path: str, is_given: bool) -> None:
    with opened(vault, **given(vault, is_given), **{"cache.ttl": "0"}) as provider:
        provider.get(path, {"k"})
        vault.reset()
        vault.fail(99, 403, body=NEWER, path=vault.kv2)
        vault.fail(99, 403, body=NEWER, path="sys/internal")
        for _ in range(2):
            with pytest.raises(AccessDeniedError, match=r"not valid in the namespace.*auth_namespace") as caught:
                provider.get(path, {"k"})
            assert "does not know the token" not in str(caught.value)
        assert logins(vault) == 0
        vault.reset()
        assert provider.get(path, {"k"}).data == {"k": "v"}


def test_a_given_token_is_looked_up_before_it_is_said_to_have_ended(vault, path: str) -> None:
    with opened(vault, token="hvs.nonsense") as provider:
        vault.fail(99, 403, body=NEWER, path=vault.kv2)
        with pytest.raises(AccessDeniedError, match="does not know the token"):
            provider.get(path, {"k"})
        assert counted(vault)[f"{LOOKUP} 403"] == 1


@pytest.mark.parametrize("status", [400, 403, 404, 405])
@pytest.mark.parametrize("body", ["", "<html>"], ids=["nothing", "page"])
def test_where_no_lookup_is_let_through_what_a_newer_vault_says_of_a_token_is_believed(
    vault, path: str, status: int, body: str
) -> None:
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        provider.get(path, {"k"})
        vault.reset()
        vault.fail(1, 403, body=NEWER, path=vault.kv2)
        vault.fail(9, status, body=body, path="auth/token/lookup-self")
        assert provider.get(path, {"k"}).data == {"k": "v"}
        assert logins(vault) == 1


def test_where_no_lookup_is_let_through_denials_of_a_policy_cost_one_login_more(vault, path: str) -> None:
    with opened(vault, role=vault.approle(f"{vault.kv2}/data/b"), **{"cache.ttl": "0"}) as provider:
        vault.fail(99, 403, body="<html>", path="auth/token/lookup-self")
        for _ in range(5):
            with pytest.raises(AccessDeniedError, match="Let a policy"):
                provider.get(path, {"k"})
        assert logins(vault) == 2
        assert counted(vault)["POST auth/token/revoke-self 204"] == 1
