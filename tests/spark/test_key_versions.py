"""Keys that a version of Spark does not have yet, or no longer."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.catalogue_file import rows, versions
from airflow_config_providers.spark.key_notes import absence


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [
        pytest.param("spark.api.mode", "3.5.8", "since 4.0", id="not yet"),
        pytest.param("spark.api.mode", "4.2.0", "", id="there"),
        pytest.param("spark.mesos.containerizer", "4.0.1", "until 3.5", id="no longer"),
        pytest.param("spark.mesos.containerizer", "3.5.0-amzn-1", "", id="there, in the version of a vendor"),
        pytest.param("spark.log.level", "3.4.1", "since 3.5.0", id="older than the catalogue"),
        pytest.param("spark.executor.memory", "3.4.1", "", id="there, older than the catalogue"),
        pytest.param("spark.mesos.containerizer", "9.0.0", "", id="newer than the catalogue"),
        pytest.param("spark.myteam.mode", "3.5.8", "", id="in no version"),
        pytest.param("spark.api.mode", "unreleased", "", id="no version"),
    ],
)
def test_since_or_until_when_spark_has_a_key(key: str, version: str, expected: str) -> None:
    assert absence(key, version) == expected


@pytest.mark.parametrize("minor", list(versions()))
def test_no_key_of_a_version_is_absent_in_it(minor: str) -> None:
    version = versions()[minor]

    assert {key: time for key in rows(minor).names() if (time := absence(key, version))} == {}
