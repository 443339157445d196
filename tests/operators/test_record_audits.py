"""The operators that audit records, with real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow")
pytest.importorskip("pyspark")

from airflow_config_providers.exceptions import ConfigException, PolicyViolation
from airflow_config_providers.operators.record_audits import (
    ConfigHistoryAuditOperator,
    ConfigPolicyAuditOperator,
    ConfigReferenceAuditOperator,
)
from airflow_config_providers.spark.audit.records.past_records import CONFIGS
from airflow_config_providers.spark.audit.session import audit_session
from tests.servers.own_jvm import shared_jvm
from tests.spark.audit.records.past import QUICK, Past

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.usefixtures("session")]

MEMORY = "spark.executor.memory"
PASSWORD = "${vault:apps/db:password}"
AT_MOST_4G = "policies: [{name: small, class: bounds, params: {spark.executor.memory: {max: 4g}}}]"


@pytest.fixture(scope="module")
def session() -> Iterator[None]:
    """A session for the tasks of this file; one that another file has left is not encrypted."""
    with shared_jvm(), audit_session("local[2]", {**CONFIGS, **QUICK}):
        yield


@pytest.fixture
def past(tmp_path: Path) -> Past:
    found = Past(tmp_path / "records")
    found({MEMORY: "4g"}, run="r1", day=1)
    found({MEMORY: "8g"}, run="r2", day=2, references={PASSWORD: "1"}, key_id="k")
    return found


@pytest.fixture
def policies(tmp_path: Path) -> str:
    (tmp_path / "tomorrow.yaml").write_text(AT_MOST_4G)
    return str(tmp_path / "tomorrow.yaml")


def audited(kind: Any, past: Past, **fields: Any) -> Any:
    task = kind(task_id="audit", records=str(past.folder), master="local[2]", spark_conf=QUICK, **fields)
    return task.execute({})


def test_the_history_is_numbers_a_page_and_parquet(past: Past, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    page, table = tmp_path / "history.html", tmp_path / "history.parquet"

    found = audited(ConfigHistoryAuditOperator, past, report=str(page), output_parquet=str(table))

    assert found == {"findings": 1, "runs": 2, "changes": 1, "unread": 0}
    assert f"<td>{MEMORY}</td>" in page.read_text()
    assert str(past.folder) in page.read_text()
    assert "So before-failure and only-in-failed know only of runs that were refused" in page.read_text()
    assert [row["key"] for row in parquet.read_table(table).to_pylist()] == [MEMORY]


def test_the_log_has_the_findings_each_on_one_line(past: Past, capfd: pytest.CaptureFixture[str]):
    past({MEMORY: "2g\nERROR forged"}, run="r3", day=3)

    audited(ConfigHistoryAuditOperator, past, kinds=["between-runs"])

    shown = "".join(capfd.readouterr())
    assert f"kind: between-runs; dag: flights; task: report; key: {MEMORY}" in shown
    assert "`2g\\nERROR forged`" in shown


def test_records_of_another_environment_are_compared(past: Past, tmp_path: Path):
    staging = Past(tmp_path / "staging")
    staging({MEMORY: "1g"})

    found = audited(ConfigHistoryAuditOperator, past, against=str(staging.folder), kinds=["between-environments"])

    assert found["findings"] == 1


def test_what_could_not_be_read_of_another_environment_is_logged_and_counted(
    past: Past, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    staging, page = Past(tmp_path / "staging"), tmp_path / "history.html"
    staging.text("{", "odd")

    more = {"report": str(page), "kinds": ["between-environments"]}
    found = audited(ConfigHistoryAuditOperator, past, against=str(staging.folder), **more)

    assert found["unread"] == 1
    for shown in ("".join(capfd.readouterr()), page.read_text()):
        assert "odd.jsonl has no record: Line 1 is no record." in shown
        assert f"{staging.folder}: No record was found, so nothing was compared." in shown


def test_policies_only_warn_unless_the_task_is_to_fail(past: Past, policies: str, tmp_path: Path):
    page = tmp_path / "policies.html"

    found = audited(ConfigPolicyAuditOperator, past, policies=policies, report=str(page))

    assert found == {"stopped": 1, "warned": 0, "runs": 2, "unjudged": 0, "unread": 0}
    assert "50.0 % of all runs of tasks would have been stopped." in page.read_text()


def test_what_a_policy_only_warns_of_fails_no_task(past: Past, tmp_path: Path):
    (policies := tmp_path / "tomorrow.yaml").write_text(AT_MOST_4G.replace("class:", "enforcement: warn, class:"))

    found = audited(ConfigPolicyAuditOperator, past, policies=str(policies), fail_on_stopped=True)

    assert (found["stopped"], found["warned"]) == (0, 1)


def test_policies_that_stop_a_run_can_fail_the_task(past: Past, policies: str):
    with pytest.raises(PolicyViolation, match=r"^1 of 2 runs of tasks would have been stopped\."):
        audited(ConfigPolicyAuditOperator, past, policies=policies, fail_on_stopped=True)


def test_what_could_not_be_read_fails_such_a_task_too(tmp_path: Path, policies: str):
    past = Past(tmp_path / "records")
    past({})
    past.text("{")

    with pytest.raises(PolicyViolation, match="1 record could not be judged"):
        audited(ConfigPolicyAuditOperator, past, policies=policies, fail_on_stopped=True)


def test_references_are_counted_with_those_that_no_record_has(past: Past):
    found = audited(ConfigReferenceAuditOperator, past, known=["${vault:apps/old:token}"])

    assert found == {"references": 2, "older": 0, "shared": 0, "unused": 1, "unread": 0}


def test_one_reference_and_one_kind_can_be_given_without_a_list():
    assert ConfigReferenceAuditOperator(task_id="audit", known="${vault:apps/old:token}").known == [
        "${vault:apps/old:token}"
    ]
    assert ConfigHistoryAuditOperator(task_id="audit", kinds="between-runs").kinds == ["between-runs"]


def test_only_some_days_of_one_dag_are_read(past: Past):
    past({}, dag="billing", day=2)

    found = audited(ConfigHistoryAuditOperator, past, since="2026-11-02", only_dag="flights", kinds=["between-runs"])

    assert found["runs"] == 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        pytest.param({"since": "yesterday"}, "since='yesterday' is not a day. Write it as 2026-11-01.", id="day"),
        pytest.param({"kinds": ["odd"]}, "There are no findings of the kinds ['odd'].", id="kind"),
    ],
)
def test_a_wrong_parameter_is_named(past: Past, fields: dict[str, Any], problem: str):
    with pytest.raises(ConfigException) as raised:
        audited(ConfigHistoryAuditOperator, past, **fields)

    assert problem in str(raised.value)


def test_without_records_the_task_says_how_to_name_some():
    with pytest.raises(ConfigException, match=r"Name their folder in records=\.\.\., or set \[config_providers\]"):
        ConfigHistoryAuditOperator(task_id="audit").execute({})


def test_policies_are_not_templated():
    assert "policies" not in ConfigPolicyAuditOperator.template_fields
