"""Rows that show records, whoever wrote them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.core.variable import variables
from airflow_config_providers.deployment.differences import differences
from airflow_config_providers.deployment.record_rows import about, of_record, with_applied
from airflow_config_providers.deployment.rows import SECRET, KeySelection, as_json
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord

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


VERSIONS, NOW = "/bundles/git/versions", "/bundles/git/tracking_repo"
KEY = "spark.app.x"


def record_in_bundle(value: str, version: str = "c0ffee", digest: str = "1", **fields: Any) -> TryRecord:
    """A record of a try in a version of a Git bundle. ``{}`` in the value is replaced by the folder of the version."""
    value = value.replace("{}", f"{VERSIONS}/{version}")
    return replace(
        record(KEY, value),
        versions={"bundle": "git", "bundle_version": version},
        dag_file=f"{VERSIONS}/{version}/dags/flights.py",
        references={str(one): digest for one in variables(value)},
        key_id="key",
        **fields,
    )


@pytest.mark.parametrize(
    ("had", "value", "pending"),
    [
        pytest.param("{}/jobs/a.py", f"{NOW}/jobs/a.py", False, id="same file"),
        pytest.param("{}/jobs/a.py,{}/b.py", f"{NOW}/jobs/a.py,{NOW}/b.py", False, id="same files"),
        pytest.param("${file:{}/x.properties:k}", f"${{file:{NOW}/x.properties:k}}", False, id="same reference"),
        pytest.param("{}/jobs/a.py", f"{NOW}/jobs/b.py", True, id="another file"),
        pytest.param("{}/jobs/a.py", "/jobs/a.py", True, id="a file outside of the bundle"),
    ],
)
def test_a_path_in_a_bundle_does_not_wait_for_the_next_submit_because_of_another_version(
    had: str, value: str, *, pending: bool
):
    now = {"key": KEY, "value": value, "source": "DAG_CONFIG"}
    (row,) = with_applied([now], record_in_bundle(had), dag_file=f"{NOW}/dags/flights.py")

    assert (row["value"], row["applied"]) == (value, had.replace("{}", f"{VERSIONS}/c0ffee"))
    assert row["pending"] is pending


def test_a_path_in_a_bundle_waits_if_an_earlier_version_of_this_package_wrote_the_record():
    now = {"key": KEY, "value": f"{NOW}/a.py", "source": "DAG_CONFIG"}
    (row,) = with_applied([now], replace(record_in_bundle("{}/a.py"), dag_file=""), dag_file=f"{NOW}/dags/flights.py")

    assert row["pending"] is True


@pytest.mark.parametrize(
    ("before", "after", "digests", "changes"),
    [
        pytest.param("{}/a.py", "{}/a.py", "11", [], id="same file"),
        pytest.param("{}/a.py", "{}/b.py", "11", ["changed"], id="another file"),
        pytest.param("${file:{}/x:k}", "${file:{}/x:k}", "11", [], id="same secret"),
        pytest.param("${file:{}/x:k}", "${file:{}/x:k}", "12", ["other secret"], id="other secret"),
    ],
)
def test_two_tries_in_different_versions_of_a_bundle_differ_in_more_than_its_folder(
    before: str, after: str, digests: str, changes: list[str]
):
    tries = [record_in_bundle(before, "c0ffee", digests[0]), record_in_bundle(after, "decade", digests[1])]
    rows = (json.loads(as_json(of_record(one, KeySelection()))) for one in tries)

    assert [row["change"] for row in differences(*rows)] == changes
