"""Checks run one after the other; one that fails or hangs is a finding."""

from __future__ import annotations

import os
import pwd
import threading
import time
from pathlib import Path

import pytest

from airflow_config_providers.core.diagnosis import Severity, doubt, fine, of_problem
from airflow_config_providers.doctor.examination import CheckResult, PatientCheck, Site, examine
from airflow_config_providers.exceptions import ConfigException

CANARY = "c4nary-of-a-driver"


def refused(site):
    yield fine("begun")
    raise ConfigException("The file is wrong. Correct it.", "Another.")


def broken(site):
    raise ValueError(CANARY)


def run(patience=30.0, **checks):
    ticks = []
    found = list(examine(checks, Site("x", patience=patience), tick=lambda: ticks.append(1)))
    assert len(ticks) == len(checks)
    return found


def test_each_finding_has_the_name_of_its_check():
    found = run(a=lambda site: [fine("one"), doubt("two", "mend")], b=lambda site: [])

    assert [one.row() for one in found] == [
        {"check": "a", "severity": "ok", "what": "one", "way_out": ""},
        {"check": "a", "severity": "warning", "what": "two", "way_out": "mend"},
    ]


def test_an_error_of_ours_is_a_finding_for_each_problem():
    found = run(a=refused)

    assert [(one.diagnosis.what, one.diagnosis.way_out) for one in found] == [
        ("The file is wrong.", "Correct it."),
        ("Another.", ""),
    ]


def test_another_error_shows_only_its_type():
    (found,) = run(a=broken)

    assert found.diagnosis.severity is Severity.ERROR
    assert "ValueError" in found.diagnosis.what
    assert CANARY not in repr(found)


def nobody(uid):
    raise KeyError(uid)


def test_a_user_without_a_home_is_told_so(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)

    (found,) = run(a=lambda site: [fine(str(Path.home()))])

    assert found.diagnosis.way_out.startswith(f"Set HOME: it is not set, and user {os.getuid()}, who has no entry in")


def test_another_error_where_the_user_has_no_home_is_not_taken_for_that(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)

    def check(site):
        raise RuntimeError("the DAGs cannot be read")

    (found,) = run(a=check)

    assert found.diagnosis.way_out == "Run it where Airflow and its database are installed."


def test_a_check_that_hangs_is_a_finding_and_the_next_one_runs():
    forever = threading.Event()
    try:
        found = run(patience=0.05, a=lambda site: [forever.wait()], b=lambda site: [fine("done")])
    finally:
        forever.set()

    assert [(one.check, one.diagnosis.severity) for one in found] == [("a", Severity.ERROR), ("b", Severity.OK)]
    assert "did not end within 0.05 seconds" in found[0].diagnosis.what


def test_a_check_that_limits_its_own_time_is_not_stopped_whatever_its_name():
    def slow(site):
        time.sleep(4 * site.patience)
        return [doubt("vault is late", "wait")]

    (found,) = run(patience=0.05, servers=PatientCheck(slow))

    assert found.diagnosis.what == "vault is late"


@pytest.mark.parametrize(
    ("problem", "what", "way_out"),
    [
        ("Wrong. Correct it. Now.", "Wrong.", "Correct it. Now."),
        ("'a.b' is wrong", "'a.b' is wrong", ""),
    ],
)
def test_the_first_sentence_of_a_problem_says_what_and_the_others_how(problem, what, way_out):
    found = of_problem(problem)

    assert (found.what, found.way_out) == (what, way_out)


def test_a_name_cannot_break_a_line():
    assert CheckResult("a", fine("x\ny")).row()["what"] == "x\\ny"
