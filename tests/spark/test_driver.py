from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.lookup import ONCE
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.exceptions import (
    ExposedValueError,
    ProviderUnavailableError,
    UndeliverableValueError,
    UnresolvedReferenceError,
)
from airflow_config_providers.spark import driver
from airflow_config_providers.spark.catalogue import AUTHENTICATE_KEY
from airflow_config_providers.spark.redaction import DEFAULT_PATTERN, OPTIONS_KEY, REDACTION_KEY
from airflow_config_providers.testing import InMemoryConfigProvider

CANARY = "canary-driver-7f3a"


def resolved(configs: dict[str, str], value: str = CANARY, **kwargs: Any) -> ResolvedConfig:
    provider = InMemoryConfigProvider({"a": {"b": value}})
    return driver.resolved(configs, {"vault": provider}, **{"has_begun": True, **kwargs})


AFTER_A_FAILURE = """
from pyspark.sql import SparkSession
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark import configs, session

definitions = {
    "config.providers": "env",
    "config.providers.env.class": "env",
    "config.providers.env.param.allowlist.pattern": "NOT_FOR_FILES",
}
builder = SparkSession.builder.config("spark.jars.repositories", "${env:NOT_FOR_FILES}")
for attempt in (lambda: session(builder, providers=definitions), configs):
    try:
        attempt()
    except ConfigException as error:
        print(type(error).__name__, error)
"""


def test_after_a_session_that_did_not_start_there_is_no_configuration() -> None:
    pytest.importorskip("pyspark")
    environ = {**os.environ, "NOT_FOR_FILES": " blanks "}
    command = [sys.executable, "-c", AFTER_A_FAILURE]

    run = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)

    refused, not_called = run.stdout.splitlines()
    assert refused.startswith("UndeliverableValueError ")
    assert not_called.endswith("Call session() first.")


def test_the_defaults_are_read_as_spark_reads_them(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.master local[2] \nhive.exec.parallel true\nspark.t.tab a\tb\t\n"
    )

    assert driver.Unsubmitted({"SPARK_CONF_DIR": str(tmp_path)}).configs() == {
        "spark.master": "local[2]",
        "spark.t.tab": "a\tb",
    }


@pytest.mark.parametrize(
    "configs", [{"spark.app.name": " blank"}, {"spark.t.half": "\ud800"}], ids=["needed early", "half a character"]
)
def test_before_the_jvm_starts_what_cannot_be_set_later_is_refused(configs: dict[str, str]) -> None:
    with pytest.raises(UndeliverableValueError, match=rf"^{next(iter(configs))}: its value "):
        driver.Unsubmitted({}).start(configs)


def test_references_are_resolved_and_hidden() -> None:
    found = resolved({"spark.app.uri": "x://${vault:a:b}", "spark.app.open": "text"})

    values = driver.with_redaction(found)

    assert values.pop(REDACTION_KEY).startswith(r"^spark[.]app[.]uri$|")
    assert values.pop(OPTIONS_KEY).endswith("|(?i)url")
    assert values == {"spark.app.uri": f"x://{CANARY}", "spark.app.open": "text"}
    assert found.reverser.reverse_text(values["spark.app.uri"]) == "x://${vault:a:b}"


def test_attack_31_a_key_that_spark_hides_by_default_is_hidden_whatever_a_system_property_says() -> None:
    values = driver.with_redaction(resolved({"spark.app.password": "${vault:a:b}"}))

    assert values[REDACTION_KEY] == DEFAULT_PATTERN


@pytest.mark.parametrize(
    ("jvm", "added"),
    [
        pytest.param({"spark.master": "local[*]"}, {AUTHENTICATE_KEY: "true"}, id="local"),
        pytest.param({"spark.master": "spark://one:7077"}, {}, id="cluster that needs the secret of Spark"),
        pytest.param({"spark.master": "local", AUTHENTICATE_KEY: "false"}, {}, id="written by the author"),
        pytest.param({}, {}, id="unknown"),
    ],
)
def test_the_ports_of_a_driver_are_closed_if_its_jvm_has_a_local_master(jvm: dict[str, str], added: dict[str, str]):
    assert driver.closing(jvm, resolved({"spark.app.uri": "${vault:a:b}"})) == added


def test_the_ports_of_a_driver_without_references_stay_as_they_are() -> None:
    assert driver.closing({"spark.master": "local"}, resolved({"spark.app.open": "text"})) == {}


@pytest.mark.parametrize(
    ("jvm", "text", "is_warned"),
    [
        pytest.param({}, "${vault:a:b}", True, id="nobody has decided"),
        pytest.param({AUTHENTICATE_KEY: "true"}, "${vault:a:b}", False, id="closed"),
        pytest.param({AUTHENTICATE_KEY: "false"}, "${vault:a:b}", False, id="accepted"),
        pytest.param({}, "text", False, id="without references"),
    ],
)
def test_the_open_ports_of_a_driver_with_a_cluster_are_warned_of(jvm: dict[str, str], text: str, is_warned: bool):
    warning = driver.open_ports({"spark.master": "spark://one:7077", **jvm}, resolved({"spark.app.uri": text}))

    assert ("set spark.authenticate=true" in warning) is is_warned


def test_without_references_spark_hides_what_it_hides() -> None:
    configs = {"spark.app.open": "text", "spark.master": "local"}

    assert driver.with_redaction(resolved(configs)) == configs


def test_the_definitions_of_its_providers_are_left_out() -> None:
    found = resolved({"spark.config.providers": "vault", "spark.config.providers_file": "${vault:a:b}", "spark.a": "b"})

    assert found.configs() == {"spark.a": "b"}


@pytest.mark.parametrize("key", ["spark.driver.extraJavaOptions", "spark.jars", "spark.driver.memory"])
def test_what_spark_has_read_already_is_refused(key: str) -> None:
    with pytest.raises(ExposedValueError, match=f"^{key}: Spark reads this key before Python runs"):
        resolved({key: "${vault:a:b}"})


def test_a_reference_that_is_in_a_string_twice_is_one_problem() -> None:
    with pytest.raises(ExposedValueError) as raised:
        resolved({"spark.jars": "${vault:a:b},${vault:a:b}"})

    assert len(raised.value.problems) == 1


def test_in_a_process_that_is_to_start_the_jvm_it_is_not() -> None:
    assert resolved({"spark.driver.memory": "${vault:a:b}"}, "611m", has_begun=False).configs() == {
        "spark.driver.memory": "611m"
    }


@pytest.mark.parametrize("key", ["spark.driver.extraJavaOptions", "spark.jars", "spark.app.name"])
def test_what_spark_shows_is_refused_before_the_jvm_starts(key: str) -> None:
    with pytest.raises(ExposedValueError, match=f"^{key}: Spark shows this key, so the value of") as raised:
        resolved({key: "${vault:a:b}"}, has_begun=False)

    assert CANARY not in str(raised.value)


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_key_that_spark_shows_with_the_value_of_another_in_it_is_refused(has_begun: bool) -> None:
    configs = {
        "spark.app.password": "${vault:a:b}",
        "spark.app.url": "${spark.app.password}@host",
        "spark.executor.extraJavaOptions": "-Da=${spark.app.url}",
        "spark.jars.packages": "-Da=${spark.app.name}",
    }

    with pytest.raises(ExposedValueError) as raised:
        resolved(configs, has_begun=has_begun)

    assert list(raised.value.problems) == [
        "spark.executor.extraJavaOptions: Spark shows this key, and puts the value of spark.app.password into it. "
        "Remove its '${...}'."
    ]


@pytest.mark.parametrize("value", [" blanks ", "\ttab\r\n", "a\nb", "\U0001f600", "\0", ""])
def test_attack_12_a_driver_takes_what_a_properties_file_would_change(value: str) -> None:
    assert resolved({"spark.hadoop.a": "${vault:a:b}"}, value).configs() == {"spark.hadoop.a": value}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.hadoop.a", f"{CANARY}${{user.name}}"),
        ("spark.authenticate.secret", f"{CANARY}${{env:HOME}}"),
        ("spark.a", f"{CANARY}\ud800"),
    ],
)
def test_attack_12_what_would_be_changed_in_a_driver_is_refused(key: str, value: str) -> None:
    with pytest.raises(UndeliverableValueError) as error:
        resolved({key: "${vault:a:b}"}, value)

    assert CANARY not in str(error.value)


def test_a_folder_into_which_the_system_does_not_look_has_no_defaults() -> None:
    assert driver.Unsubmitted({"SPARK_CONF_DIR": "a" * 5000}).configs() == {}


def test_a_reference_that_nobody_answers_fails_unless_it_may_stay() -> None:
    configs = {"spark.a": "${vault:a:none}"}

    with pytest.raises(UnresolvedReferenceError):
        resolved(configs)
    assert resolved(configs, unresolved=Unresolved.KEEP).configs() == configs


def test_a_provider_that_is_away_is_asked_as_often_as_the_caller_wants() -> None:
    provider = InMemoryConfigProvider({}, error=ProviderUnavailableError("It is away."))
    with pytest.raises(ProviderUnavailableError):
        driver.resolved({"spark.app.a": "${vault:a:b}"}, {"vault": provider}, has_begun=True, options=ONCE)
    assert len(provider.calls) == 1


def test_what_spark_replaces_itself_is_left_to_it() -> None:
    configs = {"spark.a": "${env:HOME} ${spark.master}"}

    assert resolved(configs).configs() == configs
