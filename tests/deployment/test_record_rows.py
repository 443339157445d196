"""Rows that show records, whoever wrote them."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.deployment.record_rows import about, of_record, with_applied
from airflow_config_providers.deployment.rows import SECRET, KeySelection
from airflow_config_providers.job.record import RecordedValue, TaskTry, TryRecord

REFERENCE = "${vault:apps/db:password}"


def record(key: str, value: str, name: str = "") -> TryRecord:
    """A record with a value that ``recorded`` could have hidden."""
    return TryRecord(TaskTry("flights", "job", "run"), "", {key: [RecordedValue("DAG_CONFIG", "conf", value, name)]})


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        pytest.param("spark.app.password", "literal", "", id="sensitive-key"),
        pytest.param("spark.app.url", "jdbc:x?password=literal", "", id="secret-in-a-value"),
        pytest.param("spark.app.x", "literal", "spark.app.password", id="sensitive-other-name"),
    ],
)
def test_a_secret_in_a_record_is_hidden(key: str, value: str, name: str):
    """An older version could have kept it, or a task could have written the record."""
    (row,) = of_record(record(key, value, name), KeySelection(notes=True))

    assert (row["value"], row["typed"], row["synonyms"][0]["value"]) == (SECRET, None, SECRET)


@pytest.mark.parametrize(
    ("value", "is_sensitive"),
    [pytest.param("x://u:literal@h", True, id="hidden"), pytest.param("x://h", False, id="shown")],
)
def test_a_key_in_a_record_is_sensitive_if_its_value_is_hidden(value: str, *, is_sensitive: bool):
    (row,) = of_record(record("spark.app.url", value), KeySelection())

    assert row["sensitive"] is is_sensitive


def test_a_secret_that_the_last_job_had_is_hidden():
    now = {"key": "spark.app.password", "value": REFERENCE, "source": "DAG_CONFIG"}
    (row,) = with_applied([now], record("spark.app.password", "literal"))

    assert (row["applied"], row["pending"]) == (SECRET, True)


@pytest.mark.parametrize(
    ("source", "is_unread", "pending"),
    [
        pytest.param("STATIC_FILE_CONFIG", True, None, id="file"),
        pytest.param("DEFAULT_CONFIG", True, None, id="default"),
        pytest.param("STATIC_FILE_CONFIG", False, True, id="all files are read"),
        pytest.param("DYNAMIC_DAG_CONFIG", True, True, id="stronger layer"),
    ],
)
def test_it_is_not_known_whether_a_value_waits_that_a_file_can_beat_which_is_not_read(source, is_unread, pending):
    now = {"key": "spark.app.x", "value": "1", "source": source}
    (row,) = with_applied([now], record("spark.app.x", "2"), lambda: is_unread)

    assert row["pending"] is pending


@pytest.mark.parametrize("key", ["config.reload.action", "config.action.reload"])
@pytest.mark.parametrize(
    ("source", "pending"),
    [
        pytest.param("DYNAMIC_DAG_CONFIG", None, id="read again while the job runs"),
        pytest.param("DAG_CONFIG", True, id="read at the next submit"),
    ],
)
def test_only_a_running_job_decides_when_it_gets_a_reload_action_that_it_can_read_again(key, source, pending):
    now = {"key": key, "value": "none", "source": source}
    (row,) = with_applied([now], record("spark.app.x", "2"))

    assert row["pending"] is pending


def test_a_reload_action_that_the_job_was_submitted_with_does_not_wait():
    now = {"key": "config.reload.action", "value": "none", "source": "DYNAMIC_DAG_CONFIG"}
    (row,) = with_applied([now], record("config.reload.action", "none"))

    assert row["pending"] is False


def test_a_reference_in_a_record_is_shown():
    (row,) = of_record(record("spark.app.password", REFERENCE), KeySelection(notes=True))

    assert row["value"] == REFERENCE


def test_a_record_that_does_not_say_when_it_began_has_a_whole_sentence():
    assert list(about(record("spark.app.x", "1"))) == ["Try 1 in run 'run'."]
