"""Testing a connection whose provider is Vault: whether Vault answers and signs in, and nothing is read."""

from __future__ import annotations

import json
import os

import pytest

from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from tests.servers import quick_python


@pytest.fixture
def connect(vault, monkeypatch):
    """Define a deployment's providers: ``connect(token)``."""

    def define(token):
        providers = {
            "config.providers": "vault",
            "config.providers.vault.class": "vault",
            "config.providers.vault.param.url": vault.address,
            "config.providers.vault.param.token": token,
        }
        stored = {"conn_type": "config_providers", "extra": providers}
        monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(stored))
        return ConfigProvidersHook()

    return define


def test_a_vault_that_answers_is_told_and_no_secret_is_read(connect, vault):
    vault.put("apps/db", {"password": "c4nary"})

    assert connect(vault.token("*")).test_connection() == (True, "vault: ok")
    paths = {request.path.strip("/").removeprefix("v1/") for request in vault.requests()}
    assert paths <= {"sys/health", "auth/token/lookup-self", "auth/token/renew-self"}


def test_a_vault_that_refuses_the_token_is_told(connect, vault):
    success, message = connect("hvs.nobody").test_connection()

    assert not success
    assert "does not know the token" in message
    assert "hvs.nobody" not in message


def test_a_vault_that_is_sealed_is_told(connect, vault):
    hook = connect(vault.token("*"))
    with vault.sealed():
        success, message = hook.test_connection()

    assert not success
    assert message.startswith("vault: ")


def test_a_vault_that_is_not_there_is_told(connect, vault, monkeypatch):
    definition = connect("hvs.t").definitions() | {"config.providers.vault.param.url": "http://127.0.0.1:9"}
    monkeypatch.setenv(
        "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps({"conn_type": "config_providers", "extra": definition})
    )
    success, message = ConfigProvidersHook().test_connection()

    assert not success
    assert "cannot be reached" in message


CASES = {"ok": ("*", 0, "Connection success"), "denied": (None, 1, "does not know the token")}


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize(("paths", "code", "told"), CASES.values(), ids=CASES)
def test_the_command_line_tests_a_connection(connect, vault, monkeypatch, paths, code, told):
    connect(vault.token(paths) if paths else "hvs.nobody")
    monkeypatch.setenv("AIRFLOW__CORE__TEST_CONNECTION", "Enabled")
    words = ("connections", "test", "config_providers_default")
    done = quick_python.run("-m", "airflow", *words, env=os.environ)

    assert (done.returncode, told in done.stdout) == (code, True), done.stdout + done.stderr
    assert "hvs.nobody" not in done.stdout + done.stderr
