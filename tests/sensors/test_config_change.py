"""The sensor and its trigger; tests/integration runs them in a real triggerer."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers import DirectoryConfigProvider
from airflow_config_providers.sensors.config_change import ConfigChangeSensor, ConfigChangeTrigger, watching
from tests.limits import LONGEST, eventually
from tests.sensors.kinds import Hanging

VALUES = ["c4nary-one", "c4nary-two"]
HANGING = "tests.sensors.kinds.Hanging"
CONNECTION = "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"


@pytest.fixture
def secret(tmp_path, monkeypatch):
    """A file with a secret, in a directory that the provider ``dir`` may read."""
    extra = {
        "config.providers": "dir",
        "config.providers.dir.class": "directory",
        "config.providers.dir.param.allowed.paths": str(tmp_path),
    }
    monkeypatch.setenv(CONNECTION, json.dumps({"conn_type": "config_providers", "extra": extra}))
    (file := tmp_path / "password").write_text(VALUES[0])
    return file


def trigger_of(reference):
    return ConfigChangeTrigger([reference], "config_providers_default")


def event_of(trigger, *, meanwhile=None):
    """Return the payload of the event, and do something once the trigger watches."""
    before = set(threading.enumerate())

    def act():
        assert eventually(lambda: [t for t in set(threading.enumerate()) - before if t.name == "config-changes"])
        meanwhile()

    async def first():
        acting = asyncio.ensure_future(asyncio.to_thread(act)) if meanwhile else None
        async for event in trigger.run():
            await (acting or asyncio.sleep(0))
            return event.payload
        return None

    return asyncio.run(asyncio.wait_for(first(), LONGEST))


def test_a_trigger_fires_when_a_value_changes_and_shows_none(secret):
    reference = f"${{dir:{secret.parent}:password}}"
    trigger = trigger_of(reference)
    payload = event_of(trigger, meanwhile=lambda: secret.write_text(VALUES[1]))

    assert payload == {"changed": [reference]}
    assert "c4nary" not in repr(trigger.serialize()) + repr(vars(trigger))


def test_a_trigger_logs_once_what_it_watches_and_how_often(secret):
    reference = f"${{dir:{secret.parent}:password}}"
    with capture_logs() as logged:
        event_of(trigger_of(reference), meanwhile=lambda: secret.write_text(VALUES[1]))

    told = f"Watching {reference} for a change: provider 'dir' looks at least every 60 seconds."
    assert [(one["log_level"], one["event"]) for one in logged] == [("info", told)]


def test_the_log_says_how_often_each_kind_of_provider_looks(monkeypatch):
    extra = {
        "config.providers": "own, polled",
        "config.providers.own.class": "tests.sensors.kinds.OwnSubscriptions",
        "config.providers.polled.class": "tests.sensors.kinds.NoSubscriptions",
    }
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv(CONNECTION, connection)
    classes = "tests.sensors.kinds.OwnSubscriptions,tests.sensors.kinds.NoSubscriptions"
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", classes)
    places = {(name, "p"): [ConfigVariable(name, "p", "k")] for name in ("own", "polled")}

    with watching("config_providers_default", places, print) as told:
        assert told == (
            "Watching ${own:p:k}, ${polled:p:k} for a change: provider 'own' reports changes itself; provider 'polled' "
            "looks at least every 60 seconds."
        )


def test_the_log_says_that_the_environment_never_changes(monkeypatch):
    extra = {
        "config.providers": "env",
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "SPARK_APP_.*",
    }
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv(CONNECTION, connection)
    places = {("env", ""): [ConfigVariable("env", "", "SPARK_APP_PASSWORD")]}

    with watching("config_providers_default", places, print) as told:
        assert told == (
            "Watching ${env:SPARK_APP_PASSWORD} for a change: provider 'env' never reports one, because the "
            "environment of a process does not change."
        )


def test_no_thread_is_left_after_the_event(secret):
    before = set(threading.enumerate())
    event_of(trigger_of(f"${{dir:{secret.parent}:password}}"), meanwhile=lambda: secret.write_text(VALUES[1]))
    assert eventually(lambda: not [t for t in set(threading.enumerate()) - before if t.name.startswith("config-")])


def test_no_thread_is_left_after_a_cancelled_trigger(secret):
    before = set(threading.enumerate())

    async def cancel():
        running = asyncio.ensure_future(anext(trigger_of(f"${{dir:{secret.parent}:password}}").run()))
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(cancel())
    assert eventually(lambda: not [t for t in set(threading.enumerate()) - before if t.name.startswith("config-")])


@pytest.fixture
def hanging(secret, monkeypatch):
    """The provider ``hangs`` beside ``dir``, which answers nothing until this event is set."""
    connection = json.loads(os.environ[CONNECTION])
    connection["extra"] |= {"config.providers": "dir, hangs", "config.providers.hangs.class": HANGING}
    monkeypatch.setenv(CONNECTION, json.dumps(connection))
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", HANGING)
    Hanging.asked.clear()
    Hanging.may_answer.clear()
    yield Hanging.may_answer
    Hanging.may_answer.set()


def beside_hanging_triggers(act, *, most_asked=16):
    """Return the result of ``act``, awaited while many triggers wait for a provider that hangs; then cancel those."""

    async def run():
        waiting = [asyncio.ensure_future(anext(trigger_of(f"${{hangs:{i}:k}}").run())) for i in range(40)]
        while len(Hanging.asked) < most_asked:
            await asyncio.sleep(0.01)
        try:
            return await act()
        finally:
            for trigger in waiting:
                trigger.cancel()
            await asyncio.wait(waiting[most_asked:])
            Hanging.may_answer.set()
            await asyncio.wait(waiting)

    return asyncio.run(asyncio.wait_for(run(), LONGEST))


def test_a_provider_that_hangs_leaves_the_threads_of_the_loop_to_others(hanging):
    async def use_the_loop_s_threads():
        return await asyncio.to_thread(hanging.is_set)

    assert beside_hanging_triggers(use_the_loop_s_threads) is False


def test_a_provider_that_hangs_does_not_delay_triggers_of_another(secret, hanging):
    async def ask_another():
        async for event in trigger_of("${dir:/etc:passwd}").run():
            return event.payload, hanging.is_set()
        return None

    payload, has_answered = beside_hanging_triggers(ask_another)
    assert "not inside an allowed path" in payload["error"][0]
    assert not has_answered


def test_triggers_that_wait_for_their_turn_end_when_they_are_cancelled_and_ask_nothing(hanging):
    async def nothing():
        return None

    beside_hanging_triggers(nothing)
    assert len(Hanging.asked) == 16


def test_a_trigger_can_be_made_again_from_what_airflow_stores(secret):
    path, arguments = trigger_of("${dir:/a:b}").serialize()
    assert path == "airflow_config_providers.sensors.config_change.ConfigChangeTrigger"
    assert json.loads(json.dumps(arguments)) == ConfigChangeTrigger(**arguments).serialize()[1]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        pytest.param("${vaul:a:b}", "names the unknown provider 'vaul'", id="of an unknown provider"),
        pytest.param(
            "${dir:/etc:passwd}",
            "${dir:/etc:passwd}: cannot be watched. /etc is not inside an allowed path",
            id="that is not allowed",
        ),
    ],
)
def test_what_cannot_be_watched_is_an_event_with_the_reason(secret, reference, problem):
    payload = event_of(trigger_of(reference))
    assert problem in payload["error"][0]


def test_a_provider_that_is_defined_but_not_listed_is_said_to_be_so(secret, monkeypatch):
    connection = json.loads(os.environ[CONNECTION])
    connection["extra"] |= {
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "SPARK_APP_.*",
    }
    monkeypatch.setenv(CONNECTION, json.dumps(connection))

    assert event_of(trigger_of("${env:SPARK_APP_PASSWORD}")) == {
        "error": [
            "${env:SPARK_APP_PASSWORD} names provider 'env', which is defined but not listed in config.providers of "
            "connection 'config_providers_default'. Add it to that list."
        ]
    }


def test_an_error_of_a_provider_of_somebody_else_shows_no_value(secret, monkeypatch, caplog):
    def fail(provider, path, keys, callback):
        raise ValueError(secret.read_text())

    monkeypatch.setattr(DirectoryConfigProvider, "subscribe", fail)
    payload = event_of(trigger_of(f"${{dir:{secret.parent}:password}}"))

    assert payload == {"error": ["The references cannot be watched (ValueError)."]}
    assert "c4nary" not in caplog.text


def test_a_sensor_defers_at_once_and_returns_the_references(secret, dag):
    from airflow.sdk.exceptions import TaskDeferred

    reference = f"${{dir:{secret.parent}:password}}"
    sensor = ConfigChangeSensor(task_id="wait", dag=dag, references=reference)
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})
    assert deferred.value.trigger.serialize()[1] == {
        "references": [reference],
        "config_conn_id": "config_providers_default",
    }
    assert sensor.execute_complete({}, {"changed": [reference]}) == [reference]


def test_a_sensor_waits_no_longer_than_its_execution_timeout(secret, dag):
    from airflow.sdk.exceptions import TaskDeferred

    timeout = timedelta(minutes=5)
    sensor = ConfigChangeSensor(
        task_id="rotated", references=f"${{dir:{secret.parent}:password}}", execution_timeout=timeout, dag=dag
    )

    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})

    assert deferred.value.timeout == timeout


def test_a_sensor_fails_with_the_reasons_of_its_trigger(dag):
    sensor = ConfigChangeSensor(task_id="wait", dag=dag, references="${dir:/a:b}")
    with pytest.raises(ConfigException, match="not allowed"):
        sensor.execute_complete({}, {"error": ["not allowed"]})


@pytest.mark.parametrize("references", [[], ["password"], ["x ${dir:/a:b}"], ["${dir:/a:b}", ""]])
def test_what_is_not_a_reference_is_refused_when_the_dag_is_parsed(dag, references):
    with pytest.raises(ConfigException, match="reference"):
        ConfigChangeSensor(task_id="wait", dag=dag, references=references)


@pytest.fixture
def dag():
    from airflow.sdk import DAG

    with DAG("flights", schedule=None) as dag:
        yield dag
