"""References in the entries of a job or of a file."""

from __future__ import annotations

import pytest

from airflow_config_providers.lint import rules
from airflow_config_providers.lint.entry import WrittenEntry
from airflow_config_providers.lint.known_providers import KnownProviders
from tests.lint.making import DAG, codes, in_conf, job, messages

KNOWN = KnownProviders(frozenset({"vault"}), frozenset({"files"}))
CANARY = "c4nary-of-a-default"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("${vault:apps/db:password", "lacks the closing brace", id="unclosed"),
        pytest.param("${:apps/db:password}", "names no provider", id="no provider"),
        pytest.param("${vault:apps/db:}", "has no key", id="no key"),
        pytest.param("${ vault:apps/db:password}", "a blank beside its provider", id="blank"),
        pytest.param("${vault:apps/${env:STAGE}:password}", "contains another one", id="nested"),
        pytest.param("${vault:apps/db:p\u0430ssword}", "of another script than its neighbours", id="look-alike"),
        pytest.param(f"${{vault:-{CANARY}}}", "has a default", id="default of a shell"),
    ],
)
def test_a_malformed_reference_is_found(text: str, problem: str):
    found = list(rules.reference_findings(in_conf("spark.app.x", text), None))

    assert codes(found) == ["CP101"]
    assert problem in messages(found)
    assert CANARY not in messages(found)


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "${vault:apps/db:password}",
        "x${vault:a:b}y${vault::c}",
        "${env:HOME}",
        "${spark.x}",
        "{{ var.value.x }}",
    ],
)
def test_what_is_right_is_not_found(text: str):
    assert list(rules.reference_findings(in_conf("spark.app.x", text), KNOWN)) == []


def test_an_unknown_provider_is_found_with_the_nearest_name():
    found = list(rules.reference_findings(in_conf("spark.app.x", "${vualt:apps/db:password}"), KNOWN))

    assert codes(found) == ["CP102"]
    assert "did you mean 'vault'?" in messages(found)


def test_a_provider_that_is_not_listed_is_found():
    found = list(rules.reference_findings(in_conf("spark.app.x", "${files:a:b}"), KNOWN))

    assert codes(found) == ["CP102"]
    assert "defined but not listed" in messages(found)


def test_no_provider_is_unknown_without_a_definition():
    assert list(rules.reference_findings(in_conf("spark.app.x", "${any:a:b}"), None)) == []


def test_a_default_behind_an_unknown_provider_is_not_shown():
    found = list(rules.reference_findings(in_conf("spark.app.x", f"${{DB_PASSWORD:-{CANARY}}}"), KNOWN))

    assert codes(found) == ["CP101"]
    assert CANARY not in messages(found)


def test_a_reference_that_nothing_resolves_is_found():
    entries = [in_conf("spark.app.x", "${vault:a:b}"), in_conf("spark.app.y", "${env:HOME}")]

    assert codes(rules.unconfigured_findings(job(entries, is_configured=False))) == ["CP103"]
    assert codes(rules.unconfigured_findings(job(entries))) == []


JARS = in_conf("spark.jars", "${vault:a:b}")
ARGUMENT = WrittenEntry("application_args[1]", "${vault:a:b}", DAG, "application_args[1]")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(job([JARS]), "Pass it under another key", id="key"),
        pytest.param(job([], texts=(ARGUMENT,)), "Pass it through conf", id="argument"),
        pytest.param(job([], clusters=((JARS,),)), "Pass it under another key", id="cluster"),
    ],
)
def test_a_reference_that_its_run_refuses_because_others_could_read_it_is_found(found, message):
    findings = list(rules.exposed_findings(found, KNOWN))

    assert codes(findings) == ["CP105"]
    assert message in messages(findings)


SECRET = in_conf("spark.app.secret", "${vault:a:b}")
NAME = in_conf("spark.app.name", "report ${spark.app.secret}")


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(job([SECRET, NAME]), id="layer"),
        pytest.param(job([SECRET], [NAME]), id="layers"),
        pytest.param(job([SECRET], clusters=((NAME,), ())), id="cluster"),
        pytest.param(job([SECRET, NAME], clusters=((in_conf(SECRET.key, "x"),), ())), id="cluster with all layers"),
    ],
)
def test_a_secret_that_spark_puts_into_what_others_can_read_is_found(found):
    (finding,) = rules.exposed_findings(found, KNOWN)

    assert "Spark replaces spark.app.secret in it by its secret" in finding.message


def test_an_exposed_reference_is_found_without_a_definition_of_providers():
    assert codes(rules.exposed_findings(job([JARS]), None)) == ["CP105"]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(job([JARS], allows_exposed=True), id="allowed"),
        pytest.param(job([JARS], is_configured=False), id="not configured"),
        pytest.param(job([JARS], keeps_unresolved=True), id="kept"),
        pytest.param(job([JARS], [in_conf("spark.jars", "/a.jar")]), id="overridden"),
        pytest.param(job([JARS], clusters=((in_conf("spark.jars", "/a.jar"),),)), id="overridden in each cluster"),
        pytest.param(job([], clusters=((SECRET,), (in_conf(SECRET.key, "x"), NAME))), id="put together by no cluster"),
        pytest.param(job([SECRET, in_conf("spark.app.note", NAME.text)]), id="put into what nobody else can read"),
        pytest.param(job([in_conf("spark.app.x", "${vault:a:b}")]), id="not exposed"),
        pytest.param(job([in_conf("spark.jars", "${env:HOME}/a.jar")]), id="of Spark"),
        pytest.param(job([], texts=(WrittenEntry("application_id", "${vault:a:b}", DAG),)), id="not of spark-submit"),
    ],
)
def test_a_reference_that_its_run_accepts_is_not_called_exposed(found):
    assert codes(rules.exposed_findings(found, None)) == []
