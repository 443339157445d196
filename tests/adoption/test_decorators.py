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


READ = 'Variable.get("x")'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"@task\ndef f():\n    {READ}\n", id="task"),
        pytest.param(f"@task.branch(retries=1)\ndef f():\n    return {READ}\n", id="call"),
        pytest.param(f"@setup\n@task\nasync def f():\n    {READ}\n", id="async"),
        pytest.param(f"@task\ndef f():\n    def g():\n        {READ}\n    g()\n", id="inner"),
        pytest.param(f"@dag\ndef d():\n    @task\n    def f():\n        {READ}\n", id="in a DAG"),
        pytest.param(f"@asset(schedule=None)\ndef f():\n    {READ}\n", id="asset"),
    ],
)
def test_what_only_a_task_reads_is_not_reported(text: str):
    assert reads_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"X = {READ}\n", id="module"),
        pytest.param(f"class X:\n    y = {READ}\n", id="class"),
        pytest.param(f"@task(retries={READ})\ndef f(): ...\n", id="decorator"),
        pytest.param(f"@task\ndef f(x={READ}): ...\n", id="default"),
        pytest.param(f"@dag()\ndef d():\n    X = {READ}\n", id="DAG"),
        pytest.param(f"@task_group\ndef g():\n    X = {READ}\n", id="group"),
    ],
)
def test_what_the_file_reads_is_reported(text: str):
    assert [one.partition(".")[0] for one in reads_of(text)] == ["a variable is read whenever the file is parsed"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"def f():\n    return {READ}\n", id="function"),
        pytest.param(f"f = lambda: {READ}\n", id="lambda"),
        pytest.param(f"class Own:\n    def execute(self):\n        {READ}\n", id="method"),
        pytest.param(f"@other\ndef f():\n    {READ}\n", id="unknown decorator"),
    ],
)
def test_what_a_function_reads_is_reported_with_a_condition(text: str):
    assert [one.partition(".")[0] for one in reads_of(text)] == [
        "a variable is read whenever the file is parsed, if this function is called then"
    ]


def reads_of(text: str) -> list[str]:
    imported = "from airflow.sdk import Variable, asset, dag, setup, task, task_group\n"
    return [one.reason for one in proposal_of(imported + text).by_hand]
