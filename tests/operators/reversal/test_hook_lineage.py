"""What hooks report of lineage while a task runs, which plugins such as OpenLineage send when it has ended."""

from __future__ import annotations

import sqlite3
from urllib.parse import quote

import pytest
from airflow.listeners import hookimpl
from airflow.providers.common.sql.hooks.sql import DbApiHook
from airflow.sdk import Asset, lineage
from airflow.sdk.listener import get_listener_manager

from airflow_config_providers.core import ConfigVariable, ReverseTransformer
from airflow_config_providers.operators.reversal.backend_guards import reverse_lineage
from tests.canary import CANARY
from tests.operators.stock import OurOperator

pytestmark = pytest.mark.usefixtures("connections", "collector")


class SqliteHook(DbApiHook):
    """Runs statements as every hook of a database does."""

    conn_name_attr = "sqlite_conn_id"

    def get_conn(self):
        return sqlite3.connect(":memory:")


@pytest.fixture
def collector(monkeypatch):
    """The collector of a process that has a plugin which reads it."""
    from airflow.sdk import plugins_manager

    monkeypatch.setattr(plugins_manager, "get_hook_lineage_readers_plugins", lambda: [lineage.HookLineageReader])
    lineage.get_hook_lineage_collector.cache_clear()
    yield lineage.get_hook_lineage_collector
    lineage.get_hook_lineage_collector.cache_clear()


class Ended:
    """A listener that reads the lineage when a task ends, as OpenLineage does."""

    def __init__(self):
        self.read = {}

    def _read(self, outcome):
        self.read[outcome] = lineage.HookLineageReader().retrieve_hook_lineage()

    @hookimpl
    def on_task_instance_success(self, previous_state, task_instance):
        self._read("success")

    @hookimpl
    def on_task_instance_failed(self, previous_state, task_instance, error):
        self._read("failed")


@pytest.fixture
def ended():
    """What was read when tasks ended: outcome -> lineage."""
    listener, manager = Ended(), get_listener_manager()
    manager.add_listener(listener)
    yield listener.read
    manager.pm.unregister(listener)


def select(self, context):
    SqliteHook().run(f"select '{self.payload}', ?", parameters=(self.payload,))


def fail(self, context):
    select(self, context)
    raise RuntimeError


@pytest.mark.parametrize(("do", "outcome"), [(select, "success"), (fail, "failed")], ids=["success", "failure"])
def test_a_plugin_reads_statements_and_parameters_with_references(dag, run_task, password, ended, do, outcome):
    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    (statement,) = ended[outcome].extra

    assert statement.key == "sql_job"
    assert statement.value["sql"] == f"select '{password}', ?"
    assert statement.value["sql_parameters"] in ((password,), [password])


@pytest.mark.parametrize("add", ["add_input_asset", "add_output_asset"])
def test_an_asset_keeps_neither_its_uri_nor_its_extra(dag, run_task, password, collector, add):
    def do(self, context):
        getattr(collector(), add)(self, uri=f"file:///data/{self.payload}", asset_extra={"by": self.payload})

    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    found = collector().collected_assets
    (entry,) = [*found.inputs, *found.outputs]

    assert CANARY not in repr(vars(collector()))
    assert (entry.asset.uri, entry.asset.extra) == (f"file:///data/{password}", {"by": password})


def test_a_reference_need_not_fit_into_the_uri_of_an_asset(dag, run_task, password, collector):
    def do(self, context):
        collector().add_input_asset(self, uri=f"postgres://db:5432/a/{quote(self.payload, safe='')}/c")

    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    (entry,) = collector().collected_assets.inputs

    assert entry.asset.uri == f"postgres://db:5432/a/{password}/c"


def test_entries_that_differ_only_in_values_are_counted_as_one():
    collector, hook = lineage.get_hook_lineage_collector(), SqliteHook()
    for text in ("the-first", "a-second", "a-second", "none"):
        collector.add_extra(hook, "note", text)
    one, both = ConfigVariable("a", "p", "k"), ("the-first", "a-second")

    reverse_lineage(ReverseTransformer.of_pairs((one, value) for value in both))

    assert [(extra.value, extra.count) for extra in collector.collected_assets.extra] == [(str(one), 3), ("none", 1)]


def test_what_was_reported_without_values_stays_as_it_is(dag, run_task, password, collector):
    def do(self, context):
        collector().add_input_asset(self, uri="file:///data/flights", asset_extra={"rows": 3})

    run_task(OurOperator(task_id="before", dag=dag, payload="", do=do))
    before = collector().collected_assets
    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, context: None))

    assert collector().collected_assets == before


def test_lineage_that_cannot_be_searched_is_dropped(dag, run_task, password, collector, caplog, monkeypatch):
    def do(self, context):
        collector().add_extra(self, "note", self.payload)
        monkeypatch.delattr(collector(), "_outputs")  # as if another Airflow had no such name

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert run.state == "success"
    assert "lineage that hooks reported is dropped" in caplog.text
    assert not collector().has_collected


def test_a_task_whose_hooks_report_nothing_creates_no_collector(dag, run_task, password, collector, caplog):
    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, context: None))

    assert collector.cache_info().currsize == 0
    assert "lineage" not in caplog.text


def test_the_key_of_an_extra_shows_the_reference_also_if_its_value_is_no_secret():
    collector, one = lineage.get_hook_lineage_collector(), ConfigVariable("a", "p", "k")
    collector.add_extra(SqliteHook(), f"of {CANARY}", "none")

    reverse_lineage(ReverseTransformer({}, {one: CANARY}))

    assert [(extra.key, extra.value) for extra in collector.collected_assets.extra] == [(f"of {one}", "none")]


@pytest.mark.parametrize("part", ["name", "group"])
def test_a_part_of_an_asset_shows_the_reference_also_if_its_uri_is_no_secret(part):
    collector, one = lineage.get_hook_lineage_collector(), ConfigVariable("a", "p", "k")
    asset = Asset(**{"name": "table", "uri": "file:///data/table", part: CANARY})
    collector.create_asset = lambda **_: asset  # as the provider of a scheme does
    collector.add_input_asset(SqliteHook(), uri=asset.uri)

    reverse_lineage(ReverseTransformer({}, {one: CANARY}))

    assert getattr(collector.collected_assets.inputs[0].asset, part) == str(one)
