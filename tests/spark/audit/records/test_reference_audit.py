"""Who used which reference, and how many values each had, on Spark."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_config_providers.spark.audit.records.reference_audit import reference_uses
from tests.spark.audit.records.past import Past, frame

pytestmark = pytest.mark.slow

PASSWORD = "${vault:apps/db:password}"


def used(past: Past, digest: str | None, *, key_id: str = "k", **fields: Any) -> None:
    past({"spark.a": PASSWORD}, references={PASSWORD: digest}, key_id=key_id, **fields)


def uses(session: Any, past: Past, **more: Any) -> Any:
    return reference_uses(session, frame(session, past), **more)


def test_each_reference_is_a_row_with_who_used_it(session: Any, past: Past):
    used(past, "1", run="r1", day=1)
    used(past, "1", run="r2", day=2)
    used(past, "1", dag="billing", task="copy")

    (row,) = uses(session, past, owners=[("flights", "ann"), ("billing", "bob")])

    assert (row["reference"], row["tasks"], row["runs"]) == (PASSWORD, 2, 3)
    assert (row["dags"], row["owners"]) == (["billing", "flights"], ["ann", "bob"])
    assert (row["first"][:10], row["last"][:10]) == ("2026-11-01", "2026-11-02")


def test_generations_are_told_apart_by_their_hashes(session: Any, past: Past):
    for day, digest in enumerate("1121", 1):
        used(past, digest, run=f"r{day}", day=day)

    assert [row["generations"] for row in uses(session, past)] == [2]


def test_a_new_key_of_the_hashes_is_no_new_generation(session: Any, past: Past):
    used(past, "1", run="r1", day=1)
    used(past, "2", run="r2", day=2)
    used(past, "9", run="r3", day=3, key_id="other")

    assert [row["generations"] for row in uses(session, past)] == [2]


def test_a_task_that_still_had_an_older_value_is_named(session: Any, past: Past):
    used(past, "1", task="late", day=1)
    used(past, "1", task="renewed", run="r1", day=1)
    used(past, "2", task="renewed", run="r2", day=2)

    assert [row["older"] for row in uses(session, past)] == [["flights.late"]]


def test_values_with_hashes_of_different_keys_are_not_compared(session: Any, past: Past):
    used(past, "1", task="late", day=1, key_id="old")
    used(past, "2", task="renewed", day=2, key_id="new")

    assert [row["older"] for row in uses(session, past)] == [None]


def test_without_hashes_the_generations_are_unknown(session: Any, past: Past):
    used(past, None, key_id="")

    assert [(row["reference"], row["generations"]) for row in uses(session, past)] == [(PASSWORD, None)]


def test_a_reference_outside_of_the_configuration_is_there(session: Any, past: Past):
    past({}, references={"${env:TOKEN}": "1"}, key_id="k")

    assert [row["reference"] for row in uses(session, past)] == ["${env:TOKEN}"]


def test_a_reference_to_a_file_in_a_bundle_is_one_row_as_it_was_written_last(session: Any, past: Past):
    for day, (version, digest) in enumerate((("c0ffee", "1"), ("decade", "1"), ("facade", "2")), 1):
        folder = f"/bundles/git/versions/{version}"
        reference = f"${{file:{folder}/x.properties:password}}"
        versions, dag_file = {"bundle": "git", "bundle_version": version}, f"{folder}/flights.py"
        of = {"references": {reference: digest}, "key_id": "k", "versions": versions, "dag_file": dag_file}
        past({"spark.a": reference}, run=f"r{day}", day=day, **of)

    (row,) = uses(session, past)

    assert (row["reference"], row["runs"], row["generations"]) == (reference, 3, 2)
