"""References in the entries of a job or of a file."""

from __future__ import annotations

import json

import pytest

from airflow_config_providers.lint import known_providers, rules
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


def test_a_colon_that_is_missing_after_a_known_provider_is_named():
    found = list(rules.reference_findings(in_conf("spark.app.x", "${vault/apps/db:password}"), KNOWN))

    assert codes(found) == ["CP102"]
    assert messages(found).endswith("A colon is missing after 'vault'. Add it.")


DEFINED = known_providers.of_extra(
    json.dumps(
        {
            "config.providers": "conf,mounted,connection,sm,vars,store",
            "config.providers.conf.class": "file",
            "config.providers.mounted.class": "directory",
            "config.providers.connection.class": "airflow_connection",
            "config.providers.sm.class": "secrets_backend",
            "config.providers.vars.class": "airflow_variable",
            "config.providers.store.class": "vault",
        }
    )
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("${conf:/etc/x.properties}", "lacks the key after the path", id="file without a key"),
        pytest.param("${conf:password}", "lacks the path before the key", id="file without a path"),
        pytest.param("${mounted:/var/run/x}", "lacks the key after the path", id="directory without a key"),
        pytest.param("${connection:x:passwd}", "the field that it names, did you mean 'password'?", id="field"),
        pytest.param("${connection:password}", "lacks the id of the connection", id="connection without an id"),
        pytest.param("${store:apps/db}", "lacks the key after the path", id="Vault without a key"),
        pytest.param("${store:password}", "lacks its path or its key", id="Vault without a path"),
        pytest.param("${sm:connections/x:passwd}", "did you mean 'password'?", id="field of a backend's connection"),
    ],
)
def test_a_reference_that_the_class_of_its_provider_never_answers_is_malformed(text: str, problem: str):
    found = list(rules.reference_findings(in_conf("spark.app.x", text), DEFINED))

    assert codes(found) == ["CP101"]
    assert problem in messages(found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("${conf:/etc/x.properties:password}", id="file"),
        pytest.param("${conf:/etc/{{ var.value.stage }}/x.properties:password}", id="template"),
        pytest.param("${connection:x:password}", id="field"),
        pytest.param("${connection:x:uri}", id="uri"),
        pytest.param("${connection:x:extra.a.b}", id="field of the extra"),
        pytest.param("${sm:connections/x:password}", id="field of a backend's connection"),
        pytest.param("${sm:variables/x:passwd}", id="variable of a backend"),
        pytest.param("${vars:team/token}", id="variable"),
    ],
)
def test_a_reference_that_the_class_of_its_provider_can_answer_is_not_found(text: str):
    assert list(rules.reference_findings(in_conf("spark.app.x", text), DEFINED)) == []


def test_a_reference_to_a_provider_of_another_class_in_drivers_can_have_any_form():
    classes = {"config.providers": "x", "config.providers.x.class": "airflow_connection"}
    of_driver = {"driver.config.providers": "x", "driver.config.providers.x.class": "env"}
    known = known_providers.of_extra(json.dumps(classes | of_driver))

    assert list(rules.reference_findings(in_conf("spark.app.x", "${x::DB_PASSWORD}"), known)) == []


def test_a_default_in_the_field_of_a_connection_is_not_shown():
    found = list(rules.reference_findings(in_conf("spark.app.x", f"${{connection:x:login:-{CANARY}}}"), DEFINED))

    assert codes(found) == ["CP101"]
    assert CANARY not in messages(found)


def test_the_name_of_a_provider_without_a_definition_is_taken_for_that_of_its_class():
    assert codes(rules.reference_findings(in_conf("spark.app.x", "${file:/etc/x.properties}"), None)) == ["CP101"]


def test_a_reference_that_need_not_have_a_value_can_have_any_form():
    entry = in_conf("spark.app.x", "${file:name}")

    assert list(rules.reference_findings(entry, None, is_resolved=False)) == []


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("x ${vault:apps/db:password}", ["CP103"], id="reference"),
        pytest.param("${other:apps/db:password}", [], id="unknown provider"),
        pytest.param("${vault:0:-3}", [], id="part of a shell's variable"),
        pytest.param("${vault:-/tmp/x}", [], id="default of a shell's variable"),
        pytest.param("${vault:-a:b}", [], id="default with a colon"),
        pytest.param("${vault:?is not set}", [], id="error of a shell's variable"),
        pytest.param("${env:HOME}", [], id="replaced by another program"),
    ],
)
def test_a_reference_to_a_known_provider_is_found_in_an_operator_that_apply_to_does_not_know(text, found):
    known = KnownProviders(frozenset({"vault", "env"}))
    entry = WrittenEntry("env_vars['P']", text, DAG, "KubernetesPodOperator")

    assert codes(rules.unknown_operator_findings(entry, known)) == found
    assert codes(rules.unknown_operator_findings(entry, None)) == []


@pytest.mark.parametrize(
    ("text", "could"),
    [("${any:a:b}", True), ("${HOME:-/tmp}", False), ("${NAME:0:3}", False), ("${env:HOME}", False), ("$HOME", False)],
)
def test_a_string_of_such_an_operator_could_refer_to_a_provider_if_it_is_none_of_a_shell(text, could):
    assert rules.could_refer(WrittenEntry("bash_command", text, DAG, "BashOperator")) is could


def test_the_class_behind_a_decorator_is_the_one_to_configure():
    entry = WrittenEntry("op_args[0]", "${vault:apps/db:password}", DAG, "_PythonDecoratedOperator")

    assert "Create the task with configured(PythonOperator)." in messages(rules.unknown_operator_findings(entry, KNOWN))


JARS = in_conf("spark.jars", "${vault:a:b}")
ARGUMENT = WrittenEntry("application_args[1]", "${vault:a:b}", DAG, "application_args[1]")
COMMAND = WrittenEntry("post_submit_commands[0]", "curl ${vault:a:b}", DAG, "post_submit_commands[0]")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param(job([JARS]), "Pass it under another key", id="key"),
        pytest.param(job([], texts=(ARGUMENT,)), "Pass it through conf", id="argument"),
        pytest.param(job([], texts=(COMMAND,)), "Call a script that reads it", id="command after the job"),
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
