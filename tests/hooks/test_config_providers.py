"""The connection that defines the providers."""

from __future__ import annotations

import json
from pathlib import Path

import airflow
import jsonschema
import pytest

from airflow_config_providers.airflow_compat import Connection
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError
from airflow_config_providers.get_provider_info import get_provider_info
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.job.providers import Definitions, JobProviders

DEFINITION = {"config.providers": "s", "config.providers.s.class": "directory"}


@pytest.fixture
def connect(monkeypatch):
    """Define the connection: ``connect(extra)``."""

    def define(extra):
        connection = {"conn_type": "config_providers", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))
        return ConfigProvidersHook()

    return define


def allowed(folder):
    return {**DEFINITION, "config.providers.s.param.allowed.paths": str(folder)}


def test_providers_are_defined_by_keys_of_the_extra(connect, tmp_path):
    (tmp_path / "k").write_text("v")
    with connect(allowed(tmp_path)).get_conn() as providers:
        assert providers["s"].get(str(tmp_path), {"k"}).data == {"k": "v"}


def test_providers_are_defined_by_the_properties_of_the_form(connect, tmp_path):
    text = "\n".join(f"{key}={value}" for key, value in allowed(tmp_path).items())

    assert connect({"properties": text}).definitions() == allowed(tmp_path)


def test_providers_are_defined_by_a_file(connect, tmp_path):
    file = tmp_path / "providers.properties"
    file.write_text("\n".join(f"{key}={value}" for key, value in allowed(tmp_path).items()))

    assert connect({"properties_file": str(file)}).definitions() == allowed(tmp_path)


def test_keys_of_the_extra_beat_the_form_and_the_form_beats_the_file(connect, tmp_path):
    file = tmp_path / "providers.properties"
    file.write_text("config.providers=f\nconfig.providers.a=f\nconfig.providers.b=f\n")
    extra = {
        "properties_file": str(file),
        "properties": "config.providers=p\nconfig.providers.a=p",
        "config.providers": "k",
    }

    assert connect(extra).definitions() == {
        "config.providers": "k",
        "config.providers.a": "p",
        "config.providers.b": "f",
    }


def test_other_keys_of_the_extra_are_no_definitions(connect):
    assert connect({**DEFINITION, "note": "x"}).definitions() == DEFINITION


def test_defined_through_airflow_a_provider_is_closed_by_default(connect):
    with pytest.raises(ProviderDefinitionError, match=r"config.providers.s.param.allowed.paths is missing"):
        connect(DEFINITION).get_conn()


def test_testing_the_connection_tells_what_is_wrong_with_any_provider(connect, tmp_path):
    """A job that refers to the others alone would not see it."""
    broken = {"config.providers": "s, v", "config.providers.v.class": "vault"}
    hook = connect({**allowed(tmp_path), **broken})
    is_good, told = hook.test_connection()

    assert not is_good
    assert "Provider v: " in told
    with hook.on_demand() as providers:
        providers.open_for([f"${{s:{tmp_path}:k}}"])


def test_a_dotted_class_needs_the_deployments_leave(connect, monkeypatch):
    dotted = "airflow_config_providers.testing.InMemoryConfigProvider"
    hook = connect({"config.providers": "m", "config.providers.m.class": dotted})
    with pytest.raises(ProviderDefinitionError, match="allowed_provider_classes"):
        hook.get_conn()
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", dotted)

    assert list(hook.get_conn()) == ["m"]


def test_a_missing_connection_is_named(monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", raising=False)

    with pytest.raises(ProviderDefinitionError, match="no connection 'config_providers_default'"):
        ConfigProvidersHook().get_conn()


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        pytest.param({"properties": "config.providers=\\u12"}, "connection config_providers_default:1", id="malformed"),
        pytest.param({"properties_file": "/nowhere/at.all"}, "/nowhere/at.all", id="no-file"),
    ],
)
def test_a_definition_that_cannot_be_read_is_named(connect, extra, problem):
    with pytest.raises(ConfigException, match=problem):
        connect(extra).definitions()


@pytest.mark.parametrize("before", ["", "# Vault\n"], ids=["alone", "comment"])
def test_definitions_in_the_place_of_their_file_are_not_shown(connect, before):
    text = f"{before}config.providers.v.param.token = c4nary"

    with pytest.raises(ProviderDefinitionError, match="holds definitions, and not the path of a file") as caught:
        connect({"properties_file": text}).definitions()
    assert "c4nary" not in str(caught.value)


@pytest.mark.parametrize("field", ["properties", "properties_file"])
@pytest.mark.parametrize("value", [["a"], {"a": "b"}, 1], ids=["list", "object", "number"])
def test_a_file_of_definitions_that_is_no_text_is_what_testing_the_connection_tells(connect, field, value):
    is_good, told = connect({field: value}).test_connection()

    assert not is_good
    assert f"'{field}' in the extra is not a string" in told


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (False, "false"), (30, "30")])
def test_a_parameter_that_is_no_string_in_json_is_what_a_properties_file_would_have(connect, value, text):
    key = "config.providers.s.param.p"

    assert connect({**DEFINITION, key: value}).definitions() == {**DEFINITION, key: text}


@pytest.mark.parametrize("value", [None, ["a"], {"a": 1}, 1.5], ids=["null", "list", "object", "float"])
def test_a_definition_that_is_no_text_is_refused(connect, value):
    with pytest.raises(ProviderDefinitionError, match="is not a string"):
        connect({"config.providers": value}).definitions()


def test_of_a_list_the_error_says_how_it_is_written(connect):
    key = "config.providers.s.param.allowed.paths"

    with pytest.raises(ProviderDefinitionError, match="with commas between its elements, such as paths") as told:
        connect({**DEFINITION, key: ["/c4nary"]}).definitions()
    assert "c4nary" not in str(told.value)


def test_an_extra_that_is_nested_too_deep_is_refused():
    deep = Connection(conn_id="deep", extra="[" * 5000 + "]" * 5000)

    with pytest.raises(ProviderDefinitionError, match="not a JSON object"):
        Definitions("deep", deep).of_tasks()


@pytest.mark.parametrize("extra", ["[1]", "{"], ids=["list", "broken"])
def test_an_extra_that_is_no_object_is_refused(monkeypatch, extra):
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", connection)

    with pytest.raises(ProviderDefinitionError, match="not a JSON object"):
        ConfigProvidersHook().definitions()


def test_the_button_in_the_ui_says_what_there_is(connect, tmp_path):
    assert connect(allowed(tmp_path)).test_connection() == (True, "s: 1 allowed path")


def test_the_button_in_the_ui_says_what_is_wrong(connect):
    success, message = connect(DEFINITION).test_connection()

    assert not success
    assert "allowed.paths" in message


def test_the_button_in_the_ui_says_at_once_what_is_wrong_and_who_cannot_answer(connect, tmp_path):
    wrong = {"config.providers": "s, v, x", "config.providers.v.class": "nosuch", "config.providers.x.class": "file"}

    success, message = connect({**allowed(tmp_path), **wrong}).test_connection()

    assert not success
    assert [line.split(":")[0] for line in message.splitlines()] == [
        "config.providers.v.class",
        "config.providers.x.param.allowed.paths is missing",
        "s",
    ]


MISSPELT = {"config.provider": "s", "config.providers.s.class": "directory", "config.providers.s.param.x": "c4nary"}
HINT = "'config.provider' in its extra is not read, did you mean 'config.providers'?"


def test_the_button_in_the_ui_names_a_misspelt_field(connect):
    success, message = connect(MISSPELT).test_connection()

    assert not success
    assert message.startswith("Connection 'config_providers_default' defines no provider: ")
    assert message.endswith(HINT)


def test_a_job_with_references_names_a_misspelt_field_and_shows_no_content(connect):
    connect(MISSPELT)
    with pytest.raises(ProviderDefinitionError, match="defines no provider") as caught:
        JobProviders("config_providers_default").needed_by(["${s:/tmp:x}"])

    assert str(caught.value).endswith(HINT)
    assert "c4nary" not in str(caught.value)


@pytest.mark.parametrize("field", ["properties", "properties_file"])
def test_a_misspelt_key_in_the_properties_is_named(connect, tmp_path, field):
    (tmp_path / "definitions").write_text("config.provider=s\nconfig.providers.s.class=directory")
    text = (tmp_path / "definitions").read_text() if field == "properties" else str(tmp_path / "definitions")

    _, message = connect({field: text}).test_connection()

    assert message.endswith("'config.provider' in its properties is not read, did you mean 'config.providers'?")


def test_a_uri_whose_extra_became_its_host_is_recognised(monkeypatch):
    uri = "config-providers://config.providers=s&config.providers.s.class=directory"
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", uri)
    _, message = ConfigProvidersHook().test_connection()

    assert message.endswith(
        "in a URI, the extra begins after a question mark, as in config-providers://?config.providers=..."
    )


@pytest.mark.parametrize("suffix", ["class", "param.allowed.paths"])
def test_a_misspelt_key_of_a_provider_is_named_where_the_right_one_is_missing(connect, tmp_path, suffix):
    extra = allowed(tmp_path)
    extra[f"config.provider.s.{suffix}"] = extra.pop(f"config.providers.s.{suffix}")
    _, message = connect(extra).test_connection()

    assert message.startswith(f"config.providers.s.{suffix} is missing")
    assert f"Rename 'config.provider.s.{suffix}', which is not read, or add it" in message


def test_the_example_in_the_form_of_the_connection_can_be_used_as_it_is_shown(connect, tmp_path):
    (kind,) = get_provider_info()["connection-types"]
    example = kind["conn-fields"]["properties"]["description"].partition("For example: ")[2]

    assert connect({"properties": example.replace("/etc/airflow/spark", str(tmp_path))}).test_connection()[0]


def test_a_reload_action_is_not_taken_for_a_misspelt_field(connect):
    _, message = connect({"config.reload.action": "none"}).test_connection()

    assert "did you mean" not in message


def test_a_misspelt_field_beside_the_right_one_is_no_error(connect, tmp_path):
    hook = connect({**allowed(tmp_path), "config.provider": "s"})

    assert hook.test_connection() == (True, "s: 1 allowed path")


def test_airflow_knows_the_connection_type_without_importing_the_hook():
    from airflow.providers_manager import ProvidersManager

    assert "config_providers" in ProvidersManager().field_behaviours
    assert "airflow-config-providers" in ProvidersManager().providers


def test_what_airflow_reads_of_the_provider_fits_its_schema():
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())

    jsonschema.validate(get_provider_info(), schema)
