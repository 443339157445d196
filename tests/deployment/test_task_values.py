"""What the tasks of a DAG have, in place of a weaker value of the DAG."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.deployment.configurations import values_of_tasks, with_task_values
from airflow_config_providers.deployment.rows import SECRET
from airflow_config_providers.spark.catalogue import spark_definition

KEY = "spark.executor.memory"
OF_DAG = {"key": KEY, "value": "1g", "source": "DEFAULT_CONFIG", "origin": "default; a task can set it"}


def task(text, *, source=ConfigSource.DAG_CONFIG, name="conf", key=KEY):
    return LayeredConfig([ConfigLayer(source, name, {key: text})], spark_definition()).entries()


def shown(*tasks, key=KEY):
    (row,) = with_task_values([{**OF_DAG, "key": key}], lambda: tasks)
    return row["value"], row["source"], row["origin"]


DIFFERING = (None, None, "each task decides")
FILE = ConfigSource.STATIC_FILE_CONFIG


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        pytest.param([task("2g")], ("2g", "DAG_CONFIG", "conf, in each task"), id="the only task"),
        pytest.param(
            [task("2g"), task("2g", name="argument")],
            ("2g", "DAG_CONFIG", "written in several places, in each task"),
            id="several places",
        ),
        pytest.param([task("2g"), task("3g")], DIFFERING, id="other values"),
        pytest.param([task("2g"), task("2g", source=FILE)], DIFFERING, id="other layers"),
        pytest.param([task("2g"), None], DIFFERING, id="known only in a run"),
        pytest.param([task("2g"), {}], DIFFERING, id="not set in one"),
        pytest.param([{}, {}], (None, None, "not set anywhere"), id="not set in any"),
        pytest.param([], ("1g", "DEFAULT_CONFIG", "default; a task can set it"), id="no tasks"),
    ],
)
def test_a_value_is_that_of_the_tasks_if_they_agree(tasks, expected):
    assert shown(*tasks) == expected


def test_secrets_of_several_tasks_are_not_compared():
    key = "spark.app.password"
    one = task("c4nary", key=key)

    assert shown(one, key=key) == (SECRET, "DAG_CONFIG", "conf, in each task")
    assert shown(one, one, key=key) == DIFFERING


def test_what_the_dag_has_dynamically_does_not_count():
    of_dag = ConfigLayer(ConfigSource.DYNAMIC_DAG_CONFIG, "dynamic", {KEY: "9g"})
    before = LayeredConfig([of_dag, ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {KEY: "2g"})]).entries()

    assert shown(before) == ("2g", "DAG_CONFIG", "conf, in each task")


def test_tasks_are_not_read_for_a_value_that_beats_theirs():
    rows = [{**OF_DAG, "source": "DYNAMIC_DAG_CONFIG"}]

    assert with_task_values(rows, lambda: pytest.fail("read")) == rows


NOTHING = LayeredConfig([], spark_definition()).entries()


@pytest.mark.parametrize(
    ("tasks", "notes"),
    [
        pytest.param(
            {"a": task("2g"), "b": task("3g", source=FILE, name="b.yaml")},
            ["'spark.executor.memory': tasks have values of their own. a has 2g (conf), b has 3g (b.yaml)."],
            id="own",
        ),
        pytest.param({"a": NOTHING}, [], id="as the DAG"),
        pytest.param({"a": None}, ["Only a run knows everything that these tasks have: a."], id="known only in a run"),
    ],
)
def test_tasks_with_another_value_than_their_dag_are_named(tasks, notes):
    assert list(values_of_tasks([KEY], NOTHING, tasks)) == notes


def test_the_secret_of_a_task_is_not_shown():
    key = "spark.app.password"

    (note,) = values_of_tasks([key], NOTHING, {"a": task("c4nary", key=key)})

    assert note == "'spark.app.password': tasks have values of their own. a has [hidden] (conf)."
