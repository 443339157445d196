"""Proposals for functions that a decorator turns into Spark tasks, and what such functions read themselves."""

from __future__ import annotations

import pytest

from tests.adoption.proposing import proposal_of


def decorated(decorator: str, *, imported: str = "from airflow.sdk import task") -> str:
    password = '"spark.app.db.password": "{{ conn.db.password }}"'
    return f"{imported}\n@{decorator}(config_kwargs={{\n    {password},\n}})\ndef count(spark):\n    spark.range(5)\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(decorated("task.pyspark"), id="sdk"),
        pytest.param(decorated("task.pyspark", imported="from airflow.decorators import task"), id="decorators"),
        pytest.param(decorated("airflow.sdk.task.pyspark", imported="import airflow.sdk"), id="module"),
        pytest.param(decorated("task.configured_pyspark"), id="configured"),
    ],
)
def test_a_template_in_the_configuration_of_a_decorator_becomes_a_reference(text: str):
    found = proposal_of(text)

    assert '"spark.app.db.password": "${connection:db:password}",' in found.after
    assert [call.spec.family for call in found.calls] == ["pyspark"]


def test_with_classes_the_decorator_becomes_the_configured_one():
    found = proposal_of(decorated("task.pyspark"), classes=True)

    assert "\n@task.configured_pyspark(config_kwargs={\n" in found.after
    assert found.by_hand == ()


def test_a_configured_decorator_stays():
    assert "@task.configured_pyspark(" in proposal_of(decorated("task.configured_pyspark"), classes=True).after
