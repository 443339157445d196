"""What people read about a key of Spark, and which versions have it."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.catalogue_file import rows, versions
from airflow_config_providers.spark.key_notes import KeyNotes, absence, documentation, key_notes


def test_the_documentation_is_sparks_own() -> None:
    assert documentation("spark.executor.memory").startswith("Amount of memory to use per executor process, in MiB")


def test_a_documentation_is_that_of_the_version() -> None:
    assert documentation("spark.executor.memory", "3.5.8") != documentation("spark.executor.memory", "4.3.0")


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("spark.executor.memory", "MiB"),
        ("spark.kryoserializer.buffer", "KiB"),
        ("spark.memory.offHeap.size", "B"),
        ("spark.network.timeout", "s"),
        ("spark.executor.heartbeatInterval", "ms"),
        ("spark.executor.cores", ""),
    ],
)
@pytest.mark.parametrize("version", ["3.5.8", "4.3.0"])
def test_the_unit_of_a_number_without_one(key: str, unit: str, version: str) -> None:
    assert key_notes(key, version).unit == unit


@pytest.mark.parametrize("version", ["3.5.8", "4.3.0"])
def test_the_allowed_values(version: str) -> None:
    assert key_notes("spark.sql.storeAssignmentPolicy", version).allowed_values == ("ANSI", "LEGACY", "STRICT")


@pytest.mark.parametrize(
    ("key", "version", "successor"),
    [
        pytest.param("spark.yarn.max.worker.failures", None, "spark.executor.maxNumFailures", id="renamed twice"),
        pytest.param("spark.yarn.keytab", None, "spark.kerberos.keytab", id="an alternative"),
        pytest.param("spark.kryoserializer.buffer.mb", None, "spark.kryoserializer.buffer", id="another unit"),
        pytest.param("spark.blacklist.enabled", "4.3.0", "spark.excludeOnFailure.enabled", id="no longer read"),
        pytest.param("spark.sql.hive.verifyPartitionPath", "4.3.0", "spark.sql.files.ignoreMissingFiles", id="removed"),
        pytest.param("spark.executor.memory", None, None, id="current"),
    ],
)
def test_the_successor(key: str, version: str | None, successor: str | None) -> None:
    assert key_notes(key, version).successor == successor


def test_a_deprecated_key_has_sparks_reason() -> None:
    notes = key_notes("spark.cache.class")

    assert notes.deprecated == "0.8"
    assert "no longer being used" in notes.reason


def test_a_removed_key_has_its_version() -> None:
    assert key_notes("spark.sql.hive.verifyPartitionPath", "4.3.0").removed == "4.0.0"


def test_the_versions_of_a_key() -> None:
    notes = key_notes("spark.api.mode")

    assert (notes.since, notes.versions) == ("4.0.0", ("4.0", "4.1", "4.2", "4.3"))


def test_nothing_is_known_of_a_key_that_spark_does_not_know() -> None:
    assert key_notes("spark.myteam.mode") == KeyNotes()


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
