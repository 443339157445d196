from __future__ import annotations

import time

import pytest

from airflow_config_providers.exceptions import ProviderDefinitionError
from airflow_config_providers.spark import driver_providers

CANARY = "canary-driver-providers"

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
    carried = driver_providers.to_spark_keys(OPEN)

    assert all(
        key.startswith("spark.config.providers") and driver_providers.is_driver_definition(key) for key in carried
    )
    assert driver_providers.from_spark_keys({**carried, "spark.app.name": "x", driver_providers.FILE_KEY: "/x"}) == OPEN


@pytest.mark.parametrize(
    "key", ["spark.config.provider", "config.providers", "spark.config.providersx", "spark.app.name"]
)
def test_other_keys_define_no_provider_of_a_driver(key: str) -> None:
    assert not driver_providers.is_driver_definition(key)


def test_definitions_without_secrets_may_be_read_by_everybody() -> None:
    driver_providers.require_without_secrets(OPEN)


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
def test_attack_32_a_secret_in_a_definition_is_refused(name: str) -> None:
    with pytest.raises(ProviderDefinitionError, match=f"vault.param.{name} would be a secret") as error:
        driver_providers.require_without_secrets({**OPEN, f"config.providers.vault.param.{name}": CANARY})

    assert CANARY not in str(error.value)


@pytest.mark.parametrize("url", [f"https://u:{CANARY}@proxy", f"https://proxy?token={CANARY}"])
def test_attack_32_a_secret_in_an_address_is_refused(url: str) -> None:
    with pytest.raises(ProviderDefinitionError) as error:
        driver_providers.require_without_secrets({**OPEN, "config.providers.vault.param.proxies": url})

    assert CANARY not in str(error.value)


@pytest.mark.parametrize(
    "name", ["token_path", "secret_id_path", "password_path", "jwt_token_path", "wrapped_secret_id"]
)
def test_a_file_on_the_cluster_and_what_works_once_are_taken(name: str) -> None:
    driver_providers.require_without_secrets({**OPEN, f"config.providers.vault.param.{name}": "x"})


@pytest.mark.parametrize("name", ["airflow_variable", "airflow_connection", "secrets_backend"])
def test_what_needs_airflow_is_refused(name: str) -> None:
    with pytest.raises(ProviderDefinitionError, match="a driver has no Airflow"):
        driver_providers.require_without_secrets({"config.providers": "a", "config.providers.a.class": name})


def test_a_connection_of_airflow_is_refused() -> None:
    with pytest.raises(ProviderDefinitionError, match="a driver has no Airflow"):
        driver_providers.require_without_secrets({**OPEN, "config.providers.vault.param.conn_id": "vault_default"})


def test_all_that_is_wrong_is_said() -> None:
    wrong = {f"config.providers.vault.param.{name}": CANARY for name in ("token", "password", "conn_id")}

    with pytest.raises(ProviderDefinitionError) as error:
        driver_providers.require_without_secrets({**OPEN, **wrong})

    assert len(error.value.problems) == 3


OPTIONS = "spark.driver.extraJavaOptions"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (OPTIONS, "-Dlog4j.configurationFile=${spark.app.x}"),
        (OPTIONS, "-Dx=${env:HOME} -Dy=1"),
        (OPTIONS, "-Dlog.dir=/PROD-DATA/${spark.app.x}"),
        (OPTIONS, "-Dx=a-D${env:HOME}"),
        ("spark.executor.extraJavaOptions", "-D${spark.app.x}=1"),
        ("spark.executorEnv.JAVA_TOOL_OPTIONS", "-D$(X)=1"),
        ("spark.app.path", "s3://bucket/PROD-DATA/${spark.app.date}"),
        ("spark.app.name", "NIGHTLY-DAILY-${env:STAGE}"),
        ("spark.app.url", "jdbc:postgresql://PROD-DB-${vault:db:host}"),
    ],
)
def test_a_string_that_names_no_option_by_a_substitution_is_not_refused(key: str, text: str) -> None:
    assert not driver_providers.refusal(key, text)


@pytest.mark.parametrize(
    "key", [OPTIONS, "spark.yarn.am.extraJavaOptions", "spark.kubernetes.driverEnv.SPARK_SUBMIT_OPTS"]
)
@pytest.mark.parametrize(
    "text", ["-D${spark.app.x}=1", "-Xss4m\t-D$(X)", "${spark.app.none}$(NONE)-D${spark.app.x}=1", "-Dspark.c'${x}'=1"]
)
def test_an_option_of_the_driver_that_is_named_by_a_substitution_is_refused(key: str, text: str) -> None:
    assert "Write the name out." in driver_providers.refusal(key, text)


def test_an_option_that_another_key_can_take_in_is_refused() -> None:
    assert driver_providers.refusal("spark.app.options", "-D${spark.app.x}=1")


@pytest.mark.parametrize("part", ["-D", "${a}", " -D", "$(a)-D", "-D${"])
def test_the_time_to_look_for_options_grows_with_the_length_of_a_string(part: str) -> None:
    def seconds(count: int) -> float:
        begin = time.process_time()
        driver_providers.refusal("spark.app.x", part * count + "-D")
        return time.process_time() - begin

    assert min(seconds(32_000) for _ in range(3)) < 32 * max(seconds(4_000) for _ in range(3))
