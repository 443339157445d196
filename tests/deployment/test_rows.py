"""What Spark knows of a key, as columns of a description."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.deployment.rows import KEY_COLUMNS, SECRET, KeySelection, described, key_columns
from airflow_config_providers.spark.catalogue import spark_definition


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        pytest.param("spark.executor.cores", "4", 4, id="number"),
        pytest.param("spark.eventLog.enabled", "True", True, id="boolean"),
        pytest.param("spark.memory.fraction", "0.6", 0.6, id="fraction"),
        pytest.param("spark.jars.packages", "a:b:1, c:d:2", ["a:b:1", "c:d:2"], id="list"),
        pytest.param("spark.yarn.queue", "night", "night", id="string"),
        pytest.param("spark.executor.memory", "1g", 1024**3, id="size"),
        pytest.param("spark.executor.memory", "512", 512 * 1024**2, id="size-in-the-unit-of-the-key"),
        pytest.param("spark.network.timeout", "2m", 120_000, id="duration"),
        pytest.param("spark.network.timeout", "120", 120_000, id="duration-in-the-unit-of-the-key"),
        pytest.param("spark.network.timeout", "500us", 0.5, id="part-of-a-millisecond"),
        pytest.param("spark.executor.cores", "four", None, id="misfit"),
        pytest.param("spark.memory.fraction", "NaN", None, id="no-number-of-json"),
        pytest.param("spark.executor.cores", "${vault:apps:cores}", None, id="reference"),
        pytest.param("spark.executor.cores", "{{ params.cores }}", None, id="template"),
        pytest.param("spark.executor.cores", "${spark.app.cores}", None, id="filled-in-by-spark"),
        pytest.param("spark.app.cores", "4", None, id="a-key-of-the-job"),
        pytest.param("spark.executor.cores", SECRET, None, id="hidden"),
    ],
)
def test_a_value_has_the_type_of_its_key(key: str, text: Any, expected: object):
    assert key_columns(key, text)["typed"] == expected


def test_a_key_has_its_documentation_unit_default_and_version():
    found = key_columns("spark.executor.memory", "1g")

    assert tuple(found) == KEY_COLUMNS
    assert str(found["documentation"]).startswith("Amount of memory to use per executor process")
    assert (found["unit"], found["default"], found["since"]) == ("MiB", "1g", "0.7.0")


def test_a_deprecated_key_has_its_successor():
    found = key_columns("spark.blacklist.enabled", "true")

    assert (found["deprecated"], found["successor"]) == ("3.1.0", "spark.excludeOnFailure.enabled")


def test_the_version_of_spark_counts():
    assert key_columns("spark.sql.ansi.enabled", "true", "3.5.1")["default"] == "false"
    assert key_columns("spark.sql.ansi.enabled", "true", "4.0.0")["default"] == "true"


def test_spark_says_nothing_of_a_key_of_the_job():
    found = key_columns("spark.app.a", "1")

    assert not any(found.values())


@pytest.mark.parametrize(
    ("key", "text", "is_sensitive"),
    [
        pytest.param("spark.app.password", "c4nary", True, id="key-of-a-secret"),
        pytest.param("spark.app.url", "x://u:c4nary@h", True, id="value-that-is-hidden"),
        pytest.param("spark.app.url", "x://h", False, id="no-secret"),
    ],
)
def test_a_key_is_sensitive_if_its_value_is_hidden(key: str, text: str, is_sensitive: bool):
    config = LayeredConfig([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {key: text})], spark_definition())
    (row,) = described(KeySelection().of(config.entries(defaults=False)))

    assert row["sensitive"] is is_sensitive
