"""A deployment for the tests of DAGs: references are answered from memory, and the environment is restored."""

from __future__ import annotations

import os

import pytest

from airflow_config_providers.exceptions import ConfigProvidersError, ProviderUnavailableError, UnresolvedReferenceError
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.testing import InMemoryConfigProvider, deployment

DB = {"apps/db": {"password": "x", "user": "ada"}}


def report(**arguments):
    conf = {"spark.app.db.password": "${vault:apps/{{ params.team }}:password}"}
    return ConfiguredSparkSubmitOperator(**{"task_id": "report", "application": "report.py", "conf": conf, **arguments})


def render(task, **params):
    task.render_template_fields({"params": params})
    return task.effective_config


def test_effective_config_has_the_rendered_reference():
    with deployment({"vault": DB}):
        assert render(report(), team="db") == [
            "spark.app.db.password = ${vault:apps/db:password}   # DAG_CONFIG, conf",
        ]


def test_the_fake_was_asked_what_the_task_refers_to():
    with deployment({"vault": DB}) as providers:
        render(report(), team="db")

    assert providers["vault"].calls == [("apps/db", frozenset({"password"}))]


def test_two_providers_are_told_apart():
    conf = {"spark.app.a": "${first:p:k}", "spark.app.b": "${second:p:k}"}
    with deployment({"first": {"p": {"k": "1"}}, "second": {"p": {"k": "2"}}}) as providers:
        render(report(conf=conf))

    assert [len(provider.calls) for provider in providers.values()] == [1, 1]


@pytest.mark.parametrize(
    ("conf", "reason"),
    [
        pytest.param("${vualt:apps/db:password}", "'vualt', did you mean 'vault'", id="unknown provider"),
        pytest.param("${vault:apps/db:pasword}", "pasword", id="unknown key"),
    ],
)
def test_a_mistake_in_a_reference_fails_the_rendering(conf, reason):
    with deployment({"vault": DB}), pytest.raises(UnresolvedReferenceError, match=reason):
        render(report(conf={"spark.app.db.password": conf}))


def test_a_provider_can_be_given_instead_of_answers():
    broken = InMemoryConfigProvider(error=ProviderUnavailableError("sealed"))
    with deployment({"vault": broken}), pytest.raises(ConfigProvidersError, match="sealed"):
        render(report(), team="db")


def test_options_and_the_connection_are_those_of_the_block():
    task = report(config_conn_id="team_providers", conf={"spark.app.a": "${vault:apps/db:missing}"})
    with deployment({"vault": DB}, config_conn_id="team_providers", settings={"unresolved": "keep"}):
        (line,) = [line for line in render(task) if line.startswith("spark.app.a")]

    assert "${vault:apps/db:missing}" in line


def test_another_connection_is_that_of_the_block():
    with deployment(connections={"spark_yarn": {"conn_type": "spark", "host": "yarn"}}):
        task = report(conn_id="spark_yarn", conf={})
        render(task)
        assert task._get_hook()._connection["master"] == "yarn"


def test_the_environment_is_restored_even_after_an_error(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", "before")
    monkeypatch.delenv("AIRFLOW__CONFIG_PROVIDERS__UNRESOLVED", raising=False)
    before = dict(os.environ)

    with pytest.raises(ZeroDivisionError), deployment({"vault": DB}, settings={"unresolved": "keep"}):
        raise ZeroDivisionError

    assert dict(os.environ) == before


def test_an_inner_deployment_ends_before_the_outer_one():
    with deployment({"vault": DB}) as outer:
        with deployment({"vault": DB}) as inner:
            render(report(), team="db")
        assert len(inner["vault"].calls) == 1
        render(report(), team="db")

    assert len(outer["vault"].calls) == 1


def test_the_environment_is_restored_after_a_value_that_is_no_string():
    before = dict(os.environ)
    with pytest.raises(TypeError), deployment(settings={"a_first": "x", "resolve_timeout": 5}):
        pass

    assert dict(os.environ) == before
