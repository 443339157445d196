"""Names of keys, and types of values."""

from __future__ import annotations

import pytest

from airflow_config_providers.lint import rules
from airflow_config_providers.spark.known_keys import UnknownKeys
from tests.lint.making import codes, in_conf, job, messages


@pytest.mark.parametrize(
    ("key", "text", "code", "hint"),
    [
        pytest.param("executor.memory", "4g", "CP301", "did you mean 'spark.executor.memory'", id="no prefix"),
        pytest.param("spark.executor.memroy", "4g", "CP302", "did you mean 'spark.executor.memory'", id="misspelt"),
        pytest.param(
            "spark.yarn.executor.memoryOverhead", "1g", "CP303", "Use 'spark.executor.memoryOverhead'", id="deprecated"
        ),
        pytest.param(
            "spark.yarn.max.worker.failures", "3", "CP303", "Use 'spark.executor.maxNumFailures'", id="renamed twice"
        ),
        pytest.param(
            *("spark.executor.memory", "lots", "CP304"),
            "'spark.executor.memory' (conf) has a value that is not valid for this key. Expected a whole number with a",
            id="size",
        ),
        pytest.param("spark.executor.cores", "two", "CP304", "key. Not a number of type INT.", id="number"),
        pytest.param("spark.dynamicAllocation.enabled", "yes", "CP304", "dynamicAllocation", id="boolean"),
        pytest.param("config.providers", "vault", "CP305", "belong to the deployment", id="reserved"),
        pytest.param("spark.app.${vault:a:b}", "x", "CP305", "cannot contain a reference", id="reference in a key"),
        pytest.param("spark.app x", "x", "CP305", "spaces", id="blank in a key"),
    ],
)
def test_a_mistake_is_found(key: str, text: str, code: str, hint: str):
    found = list(rules.key_findings(in_conf(key, text), UnknownKeys.WARN))

    assert codes(found) == [code]
    assert hint in messages(found)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("spark.executor.memory", "4g", id="right type"),
        pytest.param("spark.executor.memory", "${vault:sizes:memory}", id="reference"),
        pytest.param("spark.executor.memory", "{{ params.memory }}", id="template"),
        pytest.param("spark.executor.memory", "${spark.driver.memory}", id="replaced by Spark"),
        pytest.param("spark.sql.catalog.lake.uri", "x", id="free name"),
        pytest.param("spark.app.own", "x", id="of the job"),
        pytest.param("config.reload.action", "restart", id="reload action"),
    ],
)
def test_what_is_right_is_not_found(key: str, text: str):
    assert list(rules.key_findings(in_conf(key, text), UnknownKeys.WARN)) == []


def test_a_job_that_takes_any_key_may_have_one_without_prefix():
    entry = in_conf("dataproc.scaling.version", "2")

    assert list(rules.key_findings(entry, UnknownKeys.WARN, takes_any_key=True)) == []


def test_a_deployment_that_ignores_misspelt_keys_is_not_told_of_them():
    assert list(rules.key_findings(in_conf("spark.executor.memroy", "4g"), UnknownKeys.IGNORE)) == []


def test_a_deployment_that_refuses_misspelt_keys_gets_the_same_code():
    assert codes(rules.key_findings(in_conf("spark.executor.memroy", "4g"), UnknownKeys.FAIL)) == ["CP302"]


def test_a_value_of_the_wrong_type_is_not_shown():
    found = list(rules.key_findings(in_conf("spark.executor.memory", "c4nary"), UnknownKeys.WARN))

    assert codes(found) == ["CP304"]
    assert "c4nary" not in messages(found)


REFUSED = (in_conf("spark.app.list", "conf: 'spark.app.list' has a value of type list."),)


def test_a_value_that_a_run_refuses_is_found():
    assert codes(rules.refused_findings(job(refused=REFUSED))) == ["CP304"]


def test_a_stock_operator_may_have_such_a_value():
    assert codes(rules.refused_findings(job(refused=REFUSED, is_configured=False))) == []


def test_a_reference_in_an_argument_that_is_not_resolved_is_found():
    unresolved = (in_conf("java_class", "java_class: a reference is not resolved here."),)

    assert codes(rules.refused_findings(job(unresolved=unresolved))) == ["CP104"]


def test_a_reference_that_a_class_would_use_as_a_value_is_found():
    taken = (in_conf("token", "token: execute of Report has the references there."),)

    assert codes(rules.refused_findings(job(taken_for_values=taken))) == ["CP106"]


def test_a_string_that_the_database_cannot_store_is_found():
    unstorable = (in_conf("conf", "conf: a string contains a NUL character"),)

    assert codes(rules.refused_findings(job(unstorable=unstorable))) == ["CP307"]


NEWER = "spark.checkpoint.dir"


def test_a_key_that_the_spark_at_hand_does_not_have_is_found():
    found = list(rules.key_findings(in_conf(NEWER, "x"), UnknownKeys.WARN, spark_version="3.5.8"))

    assert codes(found) == ["CP306"]
    assert "Spark has this key since 4.0; this Spark is 3.5.8" in messages(found)


@pytest.mark.parametrize(
    ("unknown", "version"),
    [
        pytest.param(UnknownKeys.WARN, "4.2.0", id="it has the key"),
        pytest.param(UnknownKeys.WARN, None, id="no Spark"),
        pytest.param(UnknownKeys.IGNORE, "3.5.8", id="ignored"),
    ],
)
def test_a_key_that_the_spark_at_hand_can_have_is_not_found(unknown: UnknownKeys, version: str | None):
    assert list(rules.key_findings(in_conf(NEWER, "x"), unknown, spark_version=version)) == []
