"""A deployment for the tests of DAGs: references are answered from memory, and the environment is restored."""

from __future__ import annotations

import os

import pytest

from airflow_config_providers.core.provider import BatchConfigProvider, ConfigData
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderUnavailableError,
    UnresolvedReferenceError,
)
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.sensors.config_change import watching
from airflow_config_providers.settings import allowed_provider_classes
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
    broken = InMemoryConfigProvider(error=AccessDeniedError("sealed"))  # which is not asked again, as after an outage
    with deployment({"vault": broken}), pytest.raises(ConfigProvidersError, match="sealed"):
        render(report(), team="db")


class Batched(InMemoryConfigProvider, BatchConfigProvider):
    """Answers several paths together."""

    def __init__(self, data):
        super().__init__(data)
        self.together = []

    def get_batch(self, wanted):
        self.together.append({path: set(keys) for path, keys in wanted.items()})
        return {path: self.get(path, keys) for path, keys in wanted.items()}


def test_a_provider_that_reads_several_paths_together_does_so():
    fake = Batched({"a": {"k": "1"}, "b": {"k": "2"}})
    with deployment({"vault": fake}):
        render(report(conf={"spark.app.a": "${vault:a:k}", "spark.app.b": "${vault:b:k}"}))

    assert fake.together == [{"a": {"k"}, "b": {"k"}}]


class Checked(InMemoryConfigProvider):
    """Says in a check whether it can answer."""

    def check(self):
        if self.error is not None:
            raise self.error
        return f"{len(self.data)} paths"


class CheckedBatch(Checked, Batched):
    """Does both."""


@pytest.mark.parametrize(
    ("fake", "answer"),
    [
        pytest.param(Checked(DB), (True, "vault: 1 paths"), id="it can answer"),
        pytest.param(CheckedBatch(DB), (True, "vault: 1 paths"), id="several paths together"),
        pytest.param(Checked(error=ProviderUnavailableError("sealed")), (False, "vault: sealed"), id="it cannot"),
        pytest.param(DB, (True, "vault: not checked, because the class has no check()"), id="no check"),
    ],
)
def test_a_provider_is_checked_as_its_class_is(fake, answer):
    with deployment({"vault": fake}):
        assert ConfigProvidersHook().test_connection() == answer


class Watched(InMemoryConfigProvider):
    """Has subscriptions of its own."""

    def __init__(self):
        super().__init__()
        self.subscribed = []

    def subscribe(self, path, keys, callback):
        self.subscribed.append((path, keys, callback))

    def unsubscribe(self, path, keys, callback):
        self.subscribed.remove((path, keys, callback))


def test_a_subscription_is_that_of_the_provider_until_its_sensor_ends():
    fake, changed = Watched(), []
    places = {("vault", "p"): [ConfigVariable("vault", "p", "k")]}
    with deployment({"vault": fake}), watching("config_providers_default", places, changed.append):
        ((path, keys, call),) = fake.subscribed
        call(path, ConfigData({"k": "2"}))

    assert (path, keys, changed, fake.subscribed) == ("p", {"k"}, [("vault", "p")], [])


def test_a_subscription_ends_for_the_same_keys_in_another_collection_and_without_one_nothing_happens():
    fake = Watched()
    with deployment({"vault": fake}), ConfigProvidersHook().get_conn() as providers:
        there = providers["vault"]
        there.subscribe("p", ["k", "l"], print)
        there.unsubscribe("p", {"k"}, print)
        there.unsubscribe("other", None, print)
        subscribed = list(fake.subscribed)
        there.unsubscribe("p", {"l", "k"}, print)
        there.unsubscribe("p", {"l", "k"}, print)

    assert (subscribed, fake.subscribed) == ([("p", ["k", "l"], print)], [])


def test_a_provider_is_neither_configured_nor_closed_by_a_task():
    with deployment({"vault": DB}) as providers:
        render(report(), team="db")

    assert (providers["vault"].configs, providers["vault"].closed) == (None, 0)


def test_options_and_the_connection_are_those_of_the_block():
    task = report(config_conn_id="team_providers", conf={"spark.app.a": "${vault:apps/db:missing}"})
    with deployment({"vault": DB}, config_conn_id="team_providers", settings={"unresolved": "keep"}):
        (line,) = [line for line in render(task) if line.startswith("spark.app.a")]

    assert "${vault:apps/db:missing}" in line


def test_classes_that_the_block_allows_are_allowed_beside_its_own():
    with deployment({"vault": DB}, settings={"allowed_provider_classes": "acme.First, acme.Second"}):
        render(report(), team="db")

        assert {"acme.First", "acme.Second"} <= set(allowed_provider_classes())


def test_none_as_the_allowed_classes_allows_those_of_the_block():
    with deployment({"vault": DB}, settings={"allowed_provider_classes": None}):
        assert render(report(), team="db")


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
