from __future__ import annotations

import pytest

from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.spark import specification

CANARY = "canary-specification"

OPEN = {
    "config.providers": "vault,files",
    "config.providers.vault.class": "vault",
    "config.providers.vault.param.url": "https://vault.example.com:8200",
    "config.providers.vault.param.auth_type": "kubernetes",
    "config.providers.vault.param.kubernetes_role": "spark",
    "config.providers.vault.param.kubernetes_jwt_path": "/var/run/token",
    "config.providers.files.class": "file",
    "config.providers.files.param.allowed.paths": "/etc/secrets/passwords",
}


def test_what_is_carried_is_taken_again() -> None:
    carried = specification.carried(OPEN)

    assert all(key.startswith("spark.config.providers") and specification.is_specification(key) for key in carried)
    assert specification.taken({**carried, "spark.app.name": "x", specification.FILE_KEY: "/x"}) == OPEN


@pytest.mark.parametrize(
    "key", ["spark.config.provider", "config.providers", "spark.config.providersx", "spark.app.name"]
)
def test_other_keys_are_no_specification(key: str) -> None:
    assert not specification.is_specification(key)


def test_a_specification_without_secrets_may_be_read_by_everybody() -> None:
    specification.require_open(OPEN)


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "secret_id",
        "password",
        "jwt_token",
        "gcp_keyfile_dict",
        "assume_role_kwargs",
        "client_secret",
        "api_key",
    ],
)
def test_attack_32_a_secret_in_a_specification_is_refused(name: str) -> None:
    with pytest.raises(ProviderDefinitionError, match=f"vault.param.{name} would be a secret") as error:
        specification.require_open({**OPEN, f"config.providers.vault.param.{name}": CANARY})

    assert CANARY not in str(error.value)


@pytest.mark.parametrize("url", [f"https://u:{CANARY}@proxy", f"https://proxy?token={CANARY}"])
def test_attack_32_a_secret_in_an_address_is_refused(url: str) -> None:
    with pytest.raises(ProviderDefinitionError) as error:
        specification.require_open({**OPEN, "config.providers.vault.param.proxies": url})

    assert CANARY not in str(error.value)


@pytest.mark.parametrize(
    "name", ["token_path", "secret_id_path", "password_path", "jwt_token_path", "wrapped_secret_id"]
)
def test_a_file_on_the_cluster_and_what_works_once_are_taken(name: str) -> None:
    specification.require_open({**OPEN, f"config.providers.vault.param.{name}": "x"})


@pytest.mark.parametrize("name", ["airflow_variable", "airflow_connection", "secrets_backend"])
def test_what_needs_airflow_is_refused(name: str) -> None:
    with pytest.raises(ProviderDefinitionError, match="a driver has no Airflow"):
        specification.require_open({"config.providers": "a", "config.providers.a.class": name})


def test_a_connection_of_airflow_is_refused() -> None:
    with pytest.raises(ProviderDefinitionError, match="a driver has no Airflow"):
        specification.require_open({**OPEN, "config.providers.vault.param.conn_id": "vault_default"})


def test_all_that_is_wrong_is_said() -> None:
    wrong = {f"config.providers.vault.param.{name}": CANARY for name in ("token", "password", "conn_id")}

    with pytest.raises(ProviderDefinitionError) as error:
        specification.require_open({**OPEN, **wrong})

    assert len(error.value.problems) == 3
