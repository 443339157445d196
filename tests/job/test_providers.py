"""The connection that defines the providers, and what is broken where it is defined."""

from __future__ import annotations

import json
import threading

import pytest
from airflow.sdk import Connection

from airflow_config_providers.exceptions import ProviderDefinitionError, ProviderUnavailableError
from airflow_config_providers.job.providers import JobProviders, ProvidersConnection, misspelt_fields
from airflow_config_providers.testing import InMemoryConfigProvider
from tests.canary import CANARY
from tests.providers.airflow_process import connection_result
from tests.providers.conftest import configure_backend, in_task  # noqa: F401 - fixtures

DEFINED = {"config.providers": "env", "config.providers.env.class": "env"}
BROKEN = {
    "malformed": '{"conn_type": "config_providers", "password": "' + CANARY + '",}',
    "misspelt": json.dumps({"conn_type": "config_providers", "password": CANARY, "extras": DEFINED}),
    "not-in-extra": json.dumps({"conn_type": "config_providers", "password": CANARY, **DEFINED}),
    "uri": f"config-providers://a://{CANARY}://c",
}


@pytest.fixture(params=BROKEN.values(), ids=BROKEN)
def broken(request, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_CP", request.param)


def stored() -> object:
    return connection_result("cp", conn_type="config_providers", extra=json.dumps(DEFINED))


def test_a_broken_variable_is_an_error_even_if_the_database_has_the_connection(in_task, broken):  # noqa: F811 - a fixture
    supervisor = in_task({"cp": stored()})

    with pytest.raises(ProviderDefinitionError, match="AIRFLOW_CONN_CP does not define a connection") as caught:
        ProvidersConnection("cp").definitions()

    assert supervisor.asked == []
    assert CANARY not in str(caught.value)


def test_a_broken_variable_is_an_error_for_a_driver_too(in_task, broken):  # noqa: F811 - a fixture
    in_task({"cp": stored()})

    with pytest.raises(ProviderDefinitionError, match="AIRFLOW_CONN_CP"):
        ProvidersConnection("cp").driver_definitions()


def test_a_preview_names_a_broken_variable(broken):
    with pytest.raises(ProviderDefinitionError, match="AIRFLOW_CONN_CP"):
        ProvidersConnection("cp").is_defined()


def test_the_deployment_s_own_backend_comes_before_a_broken_variable(in_task, configure_backend, broken):  # noqa: F811 - fixtures
    in_task()
    configure_backend({"cp": json.dumps({"conn_type": "config_providers", "extra": DEFINED})})

    assert ProvidersConnection("cp").definitions() == DEFINED


ONLY_OF_DRIVER = {f"driver.{key}": text for key, text in DEFINED.items()}


def test_a_connection_that_only_defines_providers_of_drivers_is_no_mistake(monkeypatch):
    extra = json.dumps(ONLY_OF_DRIVER)
    monkeypatch.setenv("AIRFLOW_CONN_CP", json.dumps({"conn_type": "config_providers", "extra": extra}))

    providers = JobProviders("cp")
    assert providers.needed_by(["${env:HOME}", "${late:x}"]) == {}
    assert providers.driver_definitions() == DEFINED


def test_worker_and_driver_see_the_same_file_of_definitions_even_if_it_changes(tmp_path, monkeypatch):
    file = tmp_path / "providers.properties"
    extra = json.dumps({"properties_file": str(file)})
    monkeypatch.setenv("AIRFLOW_CONN_CP", json.dumps({"conn_type": "config_providers", "extra": extra}))
    file.write_text("config.providers=old\ndriver.config.providers=old\n")
    connection = ProvidersConnection("cp")

    assert connection.definitions() == {"config.providers": "old"}
    file.write_text("config.providers=new\ndriver.config.providers=new\n")
    assert connection.driver_definitions() == {"config.providers": "old"}


class NeverMade(InMemoryConfigProvider):
    """Could read environment variables, but its constructor does not return."""

    def __init__(self):
        threading.Event().wait()

    def environment_names(self, configs):
        return ["SECRET"]


def test_what_a_provider_that_hangs_can_read_is_waited_for_as_long_as_references_are(monkeypatch):
    path = f"{NeverMade.__module__}.NeverMade"
    extra = {"config.providers": "env, slow", "config.providers.env.class": "env", "config.providers.slow.class": path}
    monkeypatch.setenv("AIRFLOW_CONN_CP", json.dumps({"conn_type": "config_providers", "extra": extra}))
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", path)
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", "1")

    with JobProviders("cp") as providers:
        providers.needed_by(["${env:HOME}"])
        with pytest.raises(ProviderUnavailableError, match="Provider 'slow' did not name"):
            providers.environment_names()


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("driver.config.provider", "driver.config.providers"),
        ("driver.config.provider.env.class", "driver.config.providers.env.class"),
        ("config.provider.env.class", "config.providers.env.class"),
        ("propertis", "properties"),
    ],
)
def test_a_misspelt_field_is_named_with_what_was_meant(field, meant):
    connection = Connection(conn_id="cp", conn_type="config_providers", extra=json.dumps({field: "env"}))

    (hint,) = misspelt_fields(connection, {})
    assert hint == f"'{field}' in its extra is not read, did you mean '{meant}'?"
