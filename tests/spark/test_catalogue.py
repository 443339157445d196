from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import SIZE, TIME, spark_definition
from airflow_config_providers.spark.catalogue_file import versions


@pytest.mark.parametrize(
    ("key", "type_", "default"),
    [
        ("spark.executor.instances", ConfigType.INT, None),
        ("spark.executor.memory", ConfigType.STRING, "1g"),
        ("spark.network.timeout", ConfigType.STRING, "120s"),
        ("spark.eventLog.enabled", ConfigType.BOOLEAN, "false"),
        ("spark.memory.fraction", ConfigType.DOUBLE, "0.6"),
        ("spark.sql.shuffle.partitions", ConfigType.INT, "200"),
        ("spark.jars", ConfigType.LIST, ""),
        ("spark.app.name", None, None),
    ],
)
def test_a_key_has_sparks_type_and_default(key: str, type_: ConfigType | None, default: str | None) -> None:
    definition = spark_definition()
    known = definition.config_keys.get(key)

    assert (known and known.type) is type_
    assert definition.default_texts().get(key) == default


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("spark.executor.instances", "two"),
        ("spark.executor.instances", ""),
        ("spark.executor.instances", "3000000000"),
        ("spark.executor.memory", "4 gigs"),
        ("spark.network.timeout", "10g"),
        ("spark.eventLog.enabled", "yes"),
        ("spark.memory.fraction", "half"),
    ],
)
def test_a_wrong_type_is_found(key: str, text: str) -> None:
    (problem,) = spark_definition().misfits(key, text)

    assert key in problem
    assert not text or f"'{text}'" not in problem


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("spark.executor.instances", " 2 "),
        ("spark.executor.memory", "4G"),
        ("spark.network.timeout", "10min"),
        ("spark.eventLog.enabled", "TRUE"),
        ("spark.memory.fraction", "1e-1"),
        pytest.param("spark.executor.instances", "${env:COUNT}", id="completed by Spark from the environment"),
        pytest.param("spark.executor.memory", "${spark.app.memory}", id="completed by Spark from another key"),
    ],
)
def test_a_right_type_is_no_problem(key: str, text: str) -> None:
    assert list(spark_definition().misfits(key, text)) == []


@pytest.mark.parametrize(
    ("key", "expected"),
    [("spark.authenticate.secret", True), ("spark.hadoop.fs.s3a.secret.key", True), ("spark.executor.memory", False)],
)
def test_a_key_is_sensitive_where_spark_hides_it(key: str, expected: bool) -> None:
    assert spark_definition().is_sensitive(key) is expected


def test_a_public_key_says_since_when_it_is_there() -> None:
    assert spark_definition().config_keys["spark.log.level"].doc == "Since Spark 3.5.0."


def test_internal_keys_are_checked_and_not_documented() -> None:
    definition = spark_definition()
    internal = next(key for key in definition.config_keys.values() if key.internal and key.type is ConfigType.INT)

    assert definition.misfits(internal.name, "two")
    assert f"| {internal.name} |" not in definition.to_markdown()


def test_the_pinned_pyspark_is_in_the_catalogue() -> None:
    constraints = Path(__file__).parents[2].joinpath("constraints.txt").read_text().splitlines()

    assert {f"pyspark=={version}" for version in versions().values()} & set(constraints)


def test_the_definition_of_each_version_is_made_once() -> None:
    assert spark_definition("4.2.0") is spark_definition("4.2.1")
    assert spark_definition() is spark_definition("4.3.0")


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [
        pytest.param("spark.api.mode", "3.5.8", None, id="not yet there"),
        pytest.param("spark.api.mode", "4.0.0", "STRING", id="there"),
        pytest.param("spark.mesos.containerizer", "3.5.8", "STRING", id="still there"),
        pytest.param("spark.mesos.containerizer", "4.0.0", None, id="no longer there"),
        pytest.param("spark.task.cpus", "4.2.0", "INT", id="the older type"),
        pytest.param("spark.task.cpus", "4.3.0", "DOUBLE", id="the newer type"),
    ],
)
def test_a_key_is_that_of_the_version(key: str, version: str, expected: str | None) -> None:
    known = spark_definition(version).config_keys.get(key)

    assert (known and known.type.name) == expected


def test_a_default_is_that_of_the_version() -> None:
    defaults = [spark_definition(version).default_texts()["spark.sql.ansi.enabled"] for version in ("3.5.8", "4.0.0")]

    assert defaults == ["false", "true"]


@pytest.mark.parametrize("version", list(versions()))
def test_every_default_of_a_version_fits_its_own_type(version: str) -> None:
    definition = spark_definition(version)

    assert [name for name, text in definition.default_texts().items() if definition.misfits(name, text)] == []


@pytest.mark.parametrize(
    ("older", "version", "current"),
    [
        pytest.param("spark.yarn.keytab", "4.2.0", "spark.kerberos.keytab", id="an alternative"),
        pytest.param("spark.blacklist.enabled", "3.5.8", "spark.excludeOnFailure.enabled", id="still read"),
        pytest.param("spark.blacklist.enabled", "4.2.0", None, id="no longer read"),
        pytest.param("spark.hadoop.dfs.block.size", "4.2.0", "spark.hadoop.dfs.blocksize", id="of Hadoop"),
    ],
)
def test_an_older_name_is_that_of_the_version(older: str, version: str, current: str | None) -> None:
    assert spark_definition(version).older_names.get(older) == current


def test_spark_modules_import_no_airflow_and_no_pyspark() -> None:
    modules = [
        "catalogue",
        "catalogue_file",
        "delivery",
        "installation",
        "private_file",
        "redaction",
        "substitutions",
    ]
    script = "import json, sys; " + "".join(f"import airflow_config_providers.spark.{name}; " for name in modules)
    script += "print(json.dumps([m for m in ('airflow', 'pyspark', 'py4j', 'javaproperties') if m in sys.modules]))"

    output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout

    assert json.loads(output) == []


@pytest.mark.parametrize("text", ["0", "512", "1b", "4g", "4G", "4gb", "4GiB", "-1", "1p", None])
def test_a_size(text: str | None) -> None:
    SIZE.ensure_valid("spark.k", text)


@pytest.mark.parametrize("text", ["", "g", "1.5g", "4 g", "4gigs", "10s", "+1g", "\uff11g", "9223372036854775808"])
def test_no_size(text: str) -> None:
    with pytest.raises(ConfigException, match=r"spark\.k: .* such as 512m$"):
        SIZE.ensure_valid("spark.k", text)


@pytest.mark.parametrize("text", ["0", "10", "10us", "10MS", "10s", "10m", "10min", "1h", "1d", "-1s", None])
def test_a_time(text: str | None) -> None:
    TIME.ensure_valid("spark.k", text)


@pytest.mark.parametrize("text", ["", "s", "1.5s", "10 s", "10sec", "4g", "1w"])
def test_no_time(text: str) -> None:
    with pytest.raises(ConfigException, match=r"spark\.k: .* such as 10s$"):
        TIME.ensure_valid("spark.k", text)


def test_attack_21_the_message_does_not_quote_the_value() -> None:
    with pytest.raises(ConfigException) as error:
        TIME.ensure_valid("spark.k", "hunter2")

    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.trustStorePassword=hunter2"),
        ("spark.jars.repositories", "https://user:hunter2@nexus/maven"),
        ("spark.app.url", "https://user:hunter2@nexus/maven"),
        ("spark.app.dbPassword", "hunter2"),
    ],
)
def test_what_looks_like_a_secret_is_one_also_under_a_key_of_spark(key: str, text: str) -> None:
    assert spark_definition().is_secret(key, text)


@pytest.mark.parametrize("key", ["spark.redaction.string.regex", "spark.sql.redaction.string.regex"])
def test_what_spark_is_told_to_hide_in_strings_is_no_secret(key: str) -> None:
    assert not spark_definition().is_secret(key, "(?i)password=[^&]*")


@pytest.mark.parametrize("version", versions())
def test_no_key_of_spark_is_a_secret_by_its_default(version: str) -> None:
    definition = spark_definition(version)
    found = [key for key, text in definition.default_texts().items() if definition.is_secret(key, text)]

    assert [key for key in found if not definition.is_sensitive(key)] == []
