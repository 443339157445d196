"""Which past runs policies would have stopped, on Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.dynamic.policies.policy_file import PolicyEntry
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.audit.records.policy_audit import PastPolicies, StoppedRuns, stopped_runs
from tests.spark.audit.records.past import Past, frame, record_of

pytestmark = pytest.mark.slow

MEMORY = "spark.executor.memory"
AT_MOST_4G = """
policies:
  - name: small
    class: bounds
    params: {spark.executor.memory: {max: 4g}}
"""


class Audit:
    """``audit(policies)`` asks policies about what was written into ``past``."""

    def __init__(self, session: Any, past: Past) -> None:
        self._session = session
        self._past = past

    def __call__(self, text: str = AT_MOST_4G) -> StoppedRuns:
        path = self._past.folder.parent / "policies.yaml"
        path.write_text(text)
        policies = PastPolicies.read(str(path), ())
        path.unlink()  # executors have no such file
        return stopped_runs(self._session, frame(self._session, self._past), policies.verdicts)


@pytest.fixture
def audit(session: Any, past: Past) -> Audit:
    return Audit(session, past)


def test_each_task_has_its_own_reason(audit: Audit, past: Past):
    past({MEMORY: "8g"}, task="invoice", day=1)
    past([ConfigLayer(ConfigSource.DYNAMIC_TASK_CONFIG, "task dunning", {MEMORY: "5g"})], task="dunning", day=2)

    found = audit()

    assert [(row["task"], row["runs"], row["reason"].rpartition(" is set in ")[2]) for row in found.rows] == [
        ("dunning", 1, "DYNAMIC_TASK_CONFIG, task dunning."),
        ("invoice", 1, "DAG_CONFIG, conf."),
    ]
    assert (found.runs, found.all_runs) == (2, 2)


def test_runs_that_a_policy_would_have_stopped_are_counted_by_policy_and_task(audit: Audit, past: Past):
    for day, memory in enumerate(("2g", "8g", "8g"), 1):
        past({MEMORY: memory}, run=f"r{day}", day=day)
    past({MEMORY: "8g"}, dag="billing")

    found = audit()

    assert [(row["policy"], row["dag"], row["task"], row["runs"]) for row in found.rows] == [
        ("small", "billing", "report", 1),
        ("small", "flights", "report", 2),
    ]
    assert (found.rows[1]["first"][:10], found.rows[1]["last"][:10]) == ("2026-11-02", "2026-11-03")
    assert (found.runs, found.unjudged) == (3, {})


def test_the_reason_says_what_to_do_and_where(audit: Audit, past: Past):
    past({MEMORY: "8g"})

    assert audit().rows[0]["reason"] == (
        "Policy 'small' denies the configuration of task 'report' of DAG 'flights': 'spark.executor.memory' is more "
        "than 4g. Lower it. 'spark.executor.memory' is set in DAG_CONFIG, conf."
    )


def test_policies_that_allow_all_stop_nothing(audit: Audit, past: Past):
    past({MEMORY: "2g"})

    assert audit() == StoppedRuns([], 0, {})


def test_only_the_winner_counts_among_several_files(audit: Audit, past: Past):
    files = [
        ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, name, {MEMORY: text}) for name, text in (("a", "8g"), ("b", "2g"))
    ]
    past(files)

    assert audit().runs == 0


def test_a_policy_about_changes_sees_what_dynamic_configuration_changed(audit: Audit, past: Past):
    fixed = """
policies:
  - name: fixed
    class: immutable_keys
    params: {keys: [spark.executor.memory]}
"""
    dynamic = ConfigLayer(ConfigSource.DYNAMIC_DAG_CONFIG, "flights, version 1", {MEMORY: "8g"})
    past([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {MEMORY: "4g"}), dynamic], run="changed")
    past({MEMORY: "4g"}, run="unchanged")

    assert [row["runs"] for row in audit(fixed).rows] == [1]


def test_a_policy_sees_references_outside_of_the_configuration(audit: Audit, past: Past):
    allowed = """
policies:
  - name: own-secrets
    class: allowed_references
    params: {allow: [{providers: vault, paths: apps/flights}]}
"""
    past({"spark.a": "${vault:apps/flights:a}"}, references={"${vault:apps/billing:b}": None}, run="other")
    past({"spark.a": "${vault:apps/flights:a}"}, run="own")

    assert [row["runs"] for row in audit(allowed).rows] == [1]


def test_an_expression_is_evaluated(audit: Audit, past: Past):
    pytest.importorskip("cel_expr_python")
    past({MEMORY: "8g"}, run="r1")
    past({}, run="r2", day=2)
    text = "policies: [{name: has-memory, expression: \"'spark.executor.memory' in configs\"}]"

    found = audit(text.replace("configs", "after"))

    assert [row["runs"] for row in found.rows] == [1]


def test_a_try_that_followed_a_job_is_not_judged(audit: Audit, past: Past):
    past({MEMORY: "8g"}, number=2, follows=1)

    assert audit().runs == 0


def test_a_record_with_an_unknown_layer_is_not_judged_and_named(audit: Audit, past: Past):
    configs = {MEMORY: [["FUTURE_CONFIG", "somewhere", "8g"]]}
    past.text(json.dumps({**record_of([]).document(), "configs": configs}))

    found = audit()

    assert found.runs == 0
    assert list(found.unjudged.values()) == [
        "It has a layer 'FUTURE_CONFIG', which this version of airflow-config-providers does not know."
    ]


def test_an_unknown_version_of_spark_is_no_reason_not_to_judge(audit: Audit, past: Past):
    past({MEMORY: "8g"}, versions={"spark": "x" * 100})

    assert audit().runs == 1


def test_policies_that_cannot_be_opened_are_an_error(audit: Audit, past: Past):
    past.folder.mkdir()

    with pytest.raises(ConfigException, match=r"policies\.yaml:1"):
        audit("policies: [{name: x, class: nosuch}]")


def test_policies_that_only_executors_cannot_open_are_an_error(session: Any, past: Past):
    past({})
    broken = PastPolicies([PolicyEntry("policies.yaml", 1, "x", {"class": "nosuch"}, {})])

    with pytest.raises(ConfigException, match=r"policies\.yaml:1"):
        stopped_runs(session, frame(session, past), broken.verdicts)


def test_the_share_of_all_runs_is_known_by_week_and_dag(audit: Audit, past: Past):
    for day, memory in ((2, "8g"), (3, "2g"), (9, "2g")):
        past({MEMORY: memory}, run=f"r{day}", day=day)
    past({MEMORY: "8g"}, dag="billing", day=9)

    found = audit()

    assert found.by_week == [("2026-11-02", 1, 2), ("2026-11-09", 1, 2)]
    assert found.by_dag == [("billing", 1, 1), ("flights", 1, 3)]
    assert (found.runs, found.all_runs) == (2, 4)


def test_what_a_policy_only_warns_of_is_counted_apart(audit: Audit, past: Past):
    for day, memory in enumerate(("2g", "6g", "8g"), 1):
        past({MEMORY: memory}, run=f"r{day}", day=day)
    warning = AT_MOST_4G.replace("small", "soft").replace("policies:\n", "") + "    enforcement: warn\n"

    found = audit(AT_MOST_4G.replace("4g", "7g") + warning)

    assert (found.runs, found.warned, found.all_runs) == (1, 2, 3)
    assert [(row["policy"], row["enforcement"], row["runs"]) for row in found.rows] == [
        ("small", "deny", 1),
        ("soft", "warn", 2),
    ]


def test_a_policy_that_only_warns_stops_nothing(audit: Audit, past: Past):
    past({MEMORY: "8g"})

    found = audit(AT_MOST_4G + "    enforcement: warn\n")

    assert (found.runs, found.warned) == (0, 1)
    assert found.rows[0]["reason"].startswith("Policy 'small' only warns, and would deny the configuration of ")
