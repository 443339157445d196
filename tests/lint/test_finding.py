"""Findings and the selection of rules."""

from __future__ import annotations

import pytest

from airflow_config_providers.lint import finding
from airflow_config_providers.lint.finding import (
    DEAD_OVERRIDE,
    LITERAL_SECRET,
    MALFORMED,
    RULES,
    Finding,
    Rule,
    RuleSelection,
    SourcePlace,
    sorted_findings,
)


def of_task(task: str, line: int | None = 7) -> Finding:
    return Finding(MALFORMED, SourcePlace("a.py", line, task), "It is wrong.")


def test_a_finding_is_one_line_for_people():
    assert str(of_task("flights.report")) == "a.py:7: CP101 flights.report: It is wrong."
    assert str(Finding(MALFORMED, SourcePlace("a\n.py"), "It\x1b[31m is.")) == "a\\n.py: CP101 It\\x1b[31m is."


def test_the_tasks_of_a_loop_become_one_finding():
    found = sorted_findings([of_task("d.a"), of_task("d.b"), of_task("d.c"), of_task("d.a"), of_task("d.z", 9)])

    assert [one.text for one in found] == ["d.a and 2 more tasks: It is wrong.", "d.z: It is wrong."]


def test_findings_are_sorted_by_file_and_line():
    places = [SourcePlace("b.py", 1), SourcePlace("a.py", 10), SourcePlace("a.py", 9), SourcePlace("a.py")]

    found = sorted_findings(Finding(MALFORMED, place, "x") for place in places)

    assert [(one.place.path, one.place.line) for one in found] == [
        ("a.py", None),
        ("a.py", 9),
        ("a.py", 10),
        ("b.py", 1),
    ]


@pytest.mark.parametrize(
    ("selection", "rules"),
    [
        pytest.param(RuleSelection(), {MALFORMED, LITERAL_SECRET, DEAD_OVERRIDE}, id="all"),
        pytest.param(RuleSelection(select=("CP201",)), {LITERAL_SECRET}, id="one"),
        pytest.param(RuleSelection(select=("CP1", "CP4")), {MALFORMED, DEAD_OVERRIDE}, id="groups"),
        pytest.param(RuleSelection(ignore=("CP402",)), {MALFORMED, LITERAL_SECRET}, id="but one"),
        pytest.param(RuleSelection(("CP1", "CP2"), ("CP1",)), {LITERAL_SECRET}, id="ignored though selected"),
    ],
)
def test_codes_select_rules(selection: RuleSelection, rules: set[Rule]):
    assert {rule for rule in (MALFORMED, LITERAL_SECRET, DEAD_OVERRIDE) if selection.has(rule)} == rules


def test_a_code_that_no_rule_has_is_unknown():
    assert RuleSelection(("CP1", "CP9"), ("E501",)).unknown() == ["CP9", "E501"]


def test_each_rule_has_its_own_code_and_name():
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)


def test_every_rule_of_the_module_is_listed():
    assert set(RULES) == {one for one in vars(finding).values() if isinstance(one, Rule)}
