"""What people and programs read about a key of Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.cli.describe import about_key
from airflow_config_providers.deployment.rows import key_columns
from tests.cli.conftest import Cli


def row(key: str) -> dict[str, object]:
    return {"key": key, "type": "STRING", **key_columns(key, None)}


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        pytest.param("spark.executor.memory", "A number without a unit is in MiB.", id="unit"),
        pytest.param("spark.executor.memory", "Default: 1g.", id="default"),
        pytest.param("spark.executor.memory", "Since Spark 0.7.0.", id="since"),
        pytest.param("spark.blacklist.enabled", "Deprecated since Spark 3.1.0.", id="deprecated"),
        pytest.param("spark.blacklist.enabled", "Use spark.excludeOnFailure.enabled.", id="successor"),
        pytest.param("spark.sql.storeAssignmentPolicy", "Allowed values: ANSI, LEGACY, STRICT.", id="allowed"),
    ],
)
def test_people_read_what_spark_says(key: str, sentence: str):
    assert sentence in about_key(row(key))


def test_a_server_of_an_older_version_says_less():
    assert about_key({"key": "spark.a\x1b"}) == "spark.a\\x1b: Spark does not document this key."


def test_people_who_select_a_key_get_its_documentation_as_a_note(cli: Cli):
    done = cli("describe --default --key spark.executor.memory")

    assert done.code == 0
    assert done.notes[-1].startswith("spark.executor.memory: Amount of memory to use per executor process")
    assert "Amount of memory" not in done.out


def test_programs_get_it_as_fields_and_no_note(cli: Cli):
    done = cli("describe --default --key spark.executor.memory --output json")

    assert done.notes == []
    assert (done.rows[0]["typed"], done.rows[0]["unit"]) == (1024**3, "MiB")


def test_people_who_select_no_key_get_no_documentation(cli: Cli):
    assert cli("describe --dag flights --task report").notes == []
