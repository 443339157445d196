"""The pages of the audits of records."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.audit.html_page import AuditScope
from airflow_config_providers.spark.audit.leaks import leak_report
from airflow_config_providers.spark.audit.leaks.leak import Leak
from airflow_config_providers.spark.audit.leaks.leak_finder import KnownSecret
from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport
from airflow_config_providers.spark.audit.leaks.sought import Sought
from airflow_config_providers.spark.audit.records import history_audit, policy_audit, reference_audit
from airflow_config_providers.spark.audit.records.history_audit import KINDS, UNKNOWN, Drift, Ranking
from airflow_config_providers.spark.audit.records.policy_audit import RunShare, StoppedRuns
from airflow_config_providers.spark.audit.records.reference_audit import reference_rows

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"
AT = "2026-11-02T12:00:00.000+00:00"


def finding(**fields: Any) -> dict[str, Any]:
    names = ("dag", "task", "key", "detail")
    return {**dict.fromkeys(names, "x"), "kind": "between-runs", "runs": 1, "first": AT, "last": AT, **fields}


def stopped(name: str = "flights") -> StoppedRuns:
    of = dict.fromkeys(("policy", "dag", "task", "reason"), name)
    row = {**of, "enforcement": "deny", "runs": 2, "first": AT, "last": AT}
    return StoppedRuns([row], 2, {name: name}, [RunShare("2026-11-02", 2, 8)], [RunShare(name, 2, 8)])


def use(name: str = "${vault:a:b}", **fields: Any) -> dict[str, Any]:
    return {"reference": name, "tasks": 2, "runs": 3, "dags": [name], "first": AT, "last": AT, **fields}


def scope(name: str) -> AuditScope:
    return AuditScope([(name, name), ("several", [name]), ("nothing", None)], [name])


def history(name: str) -> str:
    ranked = Ranking([(name, 1)], 1)
    row = dict.fromkeys(("dag", "task", "key", "detail"), name)
    return history_audit.page([finding(**row)], Drift([("2026-11-02", 1)], ranked, ranked, 2, 1), scope(name))


def policies(name: str) -> str:
    return policy_audit.page(stopped(name), {name: name}, scope(name))


def references(name: str) -> str:
    rows = reference_rows([use(name, dags=[name, "b"], owners=[name, "b"], older=[name])])
    return reference_audit.page(rows, scope(name))


def reference_uses(name: str) -> str:
    used = {**dict.fromkeys(("reference", "dag", "task", "run"), name), "map_index": -1, "try": 1, "at": AT}
    return reference_audit.runs_page([{**used, "refused": False}], scope(name))


def leaks(name: str) -> str:
    return leak_report.page(
        LeakReport([Leak(name, 0, 1, name, name, "current", AT)], skipped={name: name}), scope(name)
    )


@pytest.mark.parametrize("page", [history, policies, references, reference_uses, leaks])
def test_names_of_others_are_no_markup_and_have_no_control_characters(page: Any):
    shown = page(HOSTILE)

    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert not {"\x1b", "\u202e"}.intersection(shown)


@pytest.mark.parametrize("page", [history, policies, references, reference_uses, leaks])
def test_a_page_says_what_was_audited(page: Any):
    shown = page("flights")

    assert "<h2>What was audited</h2>" in shown
    assert "<td>flights</td><td>flights</td>" in shown
    assert "<p>Flights</p>" in shown
    assert "nothing" not in shown


def test_a_value_in_a_folder_that_was_searched_is_shown_as_its_reference():
    secret = KnownSecret(ConfigVariable("vault", "apps/db", "password"), "c4nary-in-a-path")
    report = LeakReport(sought=Sought([secret]))

    shown = leak_report.page(
        report, AuditScope([("files and folders", ["/logs/c4nary-in-a-path"])], ["c4nary-in-a-path"])
    )

    assert "/logs/${vault:apps/db:password}" in shown
    assert "c4nary" not in shown


def test_a_history_without_the_database_says_so_before_its_findings():
    shown = history_audit.page([finding()], Drift(), AuditScope(unknown=UNKNOWN))

    assert 0 < shown.index("before-failure and only-in-failed know only") < shown.index("<h2>")


@pytest.mark.parametrize("page", [history, policies, references, reference_uses, leaks])
def test_a_page_loads_nothing(page: Any):
    shown = page("flights").replace("http-equiv", "")

    assert not [word for word in ("http", "src=", "url(", "<link", "<script") if word in shown]


def test_each_kind_of_finding_has_its_table_and_what_it_means():
    shown = history_audit.page([finding(kind=kind) for kind in KINDS], Drift())

    assert all(f"<h2>{kind}</h2><p>" in shown for kind in KINDS)


def test_the_rest_of_many_findings_is_counted():
    rows = [finding(kind=kind) for kind in ("between-runs", "unused") for _ in range(6_000)]

    shown = history_audit.page(rows, Drift())

    assert "and 1,000 more." in shown
    assert "and 5,999 more." in shown


def test_the_keys_that_are_not_drawn_are_counted():
    ranked = Ranking([(f"spark.app.k{number}", 1) for number in range(1_000)], 1_234)

    shown = history_audit.page([], Drift([("2026-11-02", 1)], by_key=ranked))

    assert "and 1,219 more" in shown


def test_policies_are_shown_with_their_share_of_all_runs():
    shown = policy_audit.page(stopped(), {"flights": "ann"})

    assert "25.0 % of all runs of tasks would have been stopped." in shown
    assert "<td>ann</td>" in shown


def test_without_owners_none_are_drawn():
    assert "By owner" not in policy_audit.page(stopped(), {})


def test_what_policies_only_warn_of_is_not_in_their_share():
    found = stopped()
    warned = replace(found, rows=[{**row, "enforcement": "warn"} for row in found.rows], runs=0, warned=2)
    shown = policy_audit.page(warned, {})

    assert "would have been stopped. Policies that only warn would have warned of 2 runs." in shown
    assert "By policy" not in shown
    assert "<td>warn</td>" in shown


def test_policies_that_stop_nothing_are_said_so():
    assert "No run would have been stopped." in policy_audit.page(StoppedRuns([], 0), {})


def test_long_names_of_references_and_dags_leave_room_for_the_other_columns():
    shown = references("${file:/opt/airflow/secrets/kafka_production.properties:ssl.keystore.password}")

    widths = [
        float(width) for width in re.findall(r"min-width:([\d.]+)ch\"", shown.partition("<h2>References</h2>")[2])
    ]
    assert widths
    assert max(widths) <= 16


def test_references_with_an_older_value_come_first():
    shown = reference_audit.page(reference_rows([use(older=["flights.late"]), use("${vault:c:d}")]))

    assert "1 reference with a task that last had an older value." in shown
    assert "Tasks that had an older value" in shown


def test_moments_are_shown_to_the_minute():
    assert '<td class="moment">2026-11-02 12:00</td>' in history("flights")


def test_only_long_cells_are_broken_over_lines():
    name = "flights_delay_report_of_all_airlines"

    assert f'<td class="long" style="min-width:32.4ch">{name}</td>' in history(name)
    assert "<td>report</td>" in history("report")


def test_a_word_of_usual_length_has_its_room_and_only_a_longer_one_is_broken():
    path = "/var/log/airflow/dag_id=billing/task_id=invoice/attempt=1.log"

    assert 'style="min-width:23.4ch">spark.sql.adaptive.enabled</td>' in history("spark.sql.adaptive.enabled")
    assert f'style="min-width:22ch">{path}</td>' in history(path)


def test_a_list_is_broken_between_its_names():
    assert '<td class="long" style="min-width:12ch">flights, b</td>' in references("flights")


def test_what_is_between_backticks_in_the_detail_is_code_and_no_markup():
    detail = "`<b>` (DAG_CONFIG, conf), then `8g` (DAG_CONFIG, conf)"

    shown = history_audit.page([finding(detail=detail)], Drift())

    assert "<code>&lt;b&gt;</code> (DAG_CONFIG, conf), then <code>8g</code> (DAG_CONFIG, conf)</td>" in shown
