"""References in the entries of a job or of a file."""

from __future__ import annotations

import pytest

from airflow_config_providers.lint import rules
from airflow_config_providers.lint.known_providers import KnownProviders
from tests.lint.making import codes, in_conf, job, messages

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

    assert codes(rules.of_unconfigured(job(entries, is_configured=False))) == ["CP103"]
    assert codes(rules.of_unconfigured(job(entries))) == []
