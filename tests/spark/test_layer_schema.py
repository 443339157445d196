"""The schema of layer files: what it accepts and refuses, beside what the package itself does."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from airflow_config_providers.core.keys import is_reserved, key_problem
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark import layer_files
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.driver_providers import is_driver_definition
from airflow_config_providers.spark.layer_schema import layer_schema


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return layer_schema()


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> Draft7Validator:
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


GOOD = {
    "nothing": "{}",
    "a flat key": "spark.executor.memory: 4g",
    "nested": "spark:\n  executor:\n    memory: 4g\n    cores: 2",
    "partly nested": "spark:\n  executor.memory: 4g\n  sql.adaptive:\n    enabled: true",
    "a value beside longer keys": "spark:\n  speculation: true\n  speculation.interval: 100ms",
    "a value above, longer keys in a map": "spark.speculation: true\nspark.speculation.interval: 100ms",
    "a number as a string": "spark.executor.cores: '2'",
    "a number for a size": "spark.executor.memory: 1024",
    "a size in capitals": "spark.executor.memory: 4G",
    "a boolean as a string": "spark.speculation: 'TRUE'",
    "a fraction": "spark.memory.fraction: 0.6",
    "a value in another case": "spark.sql.storeAssignmentPolicy: ansi",
    "a reference": "spark.executor.cores: ${vault:apps/db:cores}",
    "a template": "spark.executor.cores: '{{ params.cores }}'",
    "a key of a job": "spark:\n  app:\n    db: {url: x, port: 5432}",
    "a key of no one": "app.x: true",
    "an internal key": "spark.sql.optimizer.excludedRules: x",
}

BAD = {
    "no size": "spark.executor.memory: lots",
    "no size, nested": "spark:\n  executor:\n    memory: lots",
    "no time": "spark.speculation.interval: soon",
    "no boolean": "spark.speculation: perhaps",
    "no number": "spark:\n  executor.cores: two",
    "no fraction": "spark.memory.fraction: most",
    "not one of the values": "spark.sql.storeAssignmentPolicy: LOOSE",
    "a fraction for a whole number": "spark.executor.cores: 1.5",
    "a map for a value": "spark.executor.memory: {max: lots}",
}

REFUSED = {
    "a list": "spark.jars: [a.jar]",
    "no value": "spark.app.x:",
    "a list of keys": "- spark.executor.memory",
    "a list below a key of a job": "spark.app.x: {y: [1]}",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_what_spark_can_read_is_accepted(validator: Draft7Validator, text: str) -> None:
    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []
    assert not misfits(text)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_its_key_is_refused(validator: Draft7Validator, text: str) -> None:
    assert not validator.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("text", [text for name, text in BAD.items() if "map" not in name and "values" not in name])
def test_the_package_refuses_it_as_well(text: str) -> None:
    assert misfits(text)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_configuration_is_refused(validator: Draft7Validator, text: str) -> None:
    assert not validator.is_valid(yaml.safe_load(text))


OF_DEPLOYMENT = {
    "flat": "config.providers.vault.class: vault",
    "the list": "config.providers: vault",
    "nested": "config:\n  providers: vault",
    "nested deeper": "config:\n  providers:\n    vault: {class: vault}",
    "partly nested": "config:\n  providers.vault.class: vault",
    "a driver's": "spark.config.providers.vault.class: vault",
    "a driver's, nested": "spark:\n  config:\n    providers:\n      vault.class: vault",
    "a driver's, nested below spark": "spark:\n  config.providers: vault",
    "a driver's, nested above": "spark.config:\n  providers: vault",
    "a driver's file": "spark.config.providers_file: /x",
    "a driver's file, nested": "spark:\n  config: {providers_file: /x}",
}


@pytest.mark.parametrize("text", OF_DEPLOYMENT.values(), ids=OF_DEPLOYMENT.keys())
def test_definitions_of_providers_are_refused_however_they_are_nested(validator: Draft7Validator, text: str) -> None:
    (written,) = layer_files.parse(text, name="x", path="x.yaml")
    assert is_reserved(written.key) or is_driver_definition(written.key)

    assert not validator.is_valid(yaml.safe_load(text))


MALFORMED = {
    "a space": "spark.app x: 1",
    "an equals sign": "spark.app=x: 1",
    "a control character": '"spark.app\\x07": 1',
    "a reference": "spark.${vault:a:b}.x: 1",
    "nothing": '"": 1',
    "too long": f"? spark.{'x' * 1000}\n: 1",
    "nested": "spark:\n  app:\n    my key: 1",
    "below a key of no one": "app:\n  my key: 1",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_key_is_refused_as_by_the_package(validator: Draft7Validator, text: str) -> None:
    assert has_bad_key(text)
    assert not validator.is_valid(yaml.safe_load(text))


@pytest.mark.parametrize("text", ["spark.app.größe: 1", "spark.app.$x: 1", "spark.${x}.y: 1", "a/b-c_d@e: 1"])
def test_an_odd_key_that_the_package_accepts_is_accepted(validator: Draft7Validator, text: str) -> None:
    assert not has_bad_key(text)
    assert validator.is_valid(yaml.safe_load(text))


def has_bad_key(text: str) -> bool:
    try:
        found = layer_files.parse(text, name="x", path="x.yaml")
    except ConfigException as error:
        return "a key" in str(error)
    return any(key_problem(one.key, "x") for one in found)


NEAR = ["config.reload.action: none", "config:\n  reload: {action: none}", "spark:\n  config: {x: 1}", "config: x"]


@pytest.mark.parametrize("text", NEAR)
def test_keys_beside_the_definitions_of_providers_are_accepted(validator: Draft7Validator, text: str) -> None:
    assert validator.is_valid(yaml.safe_load(text))


def misfits(text: str) -> list[str]:
    definition = spark_definition()
    return [
        problem
        for one in layer_files.parse(text, name="x", path="x.yaml")
        if one.key in definition.names() and not one.value.startswith(("${", "{{"))
        for problem in definition.misfits(one.key, one.value)
    ]


def test_a_key_has_sparks_documentation_its_unit_and_its_version(schema: dict[str, Any]) -> None:
    found = schema["definitions"]["key spark.executor.memory"]["description"]

    assert "Amount of memory to use per executor process" in found
    assert "Without a unit: MiB." in found
    assert "Since Spark 0.7.0." in found


def test_a_deprecated_key_names_the_one_to_use(schema: dict[str, Any]) -> None:
    assert schema["definitions"]["key spark.yarn.keytab"]["deprecationMessage"] == (
        "Use spark.kerberos.keytab instead."
    )


def test_the_values_of_a_key_are_offered(schema: dict[str, Any]) -> None:
    assert {"enum": ["ANSI", "LEGACY", "STRICT"]} in schema["definitions"]["key spark.sql.storeAssignmentPolicy"][
        "anyOf"
    ]


def test_each_version_of_spark_has_its_own_keys() -> None:
    of_old, of_new = layer_schema("3.5.8")["definitions"], layer_schema("4.0.0")["definitions"]

    assert "key spark.api.mode" in of_new
    assert "key spark.api.mode" not in of_old


def test_a_key_can_be_completed_at_every_level(schema: dict[str, Any]) -> None:
    of = schema["definitions"]

    assert "spark.executor.memory" in schema["properties"]
    assert "executor.memory" in of["map spark"]["properties"]
    assert "memory" in of["map spark.executor"]["properties"]


def test_it_is_small_enough_for_an_editor(schema: dict[str, Any]) -> None:
    assert len(json.dumps(schema)) < 2_000_000
