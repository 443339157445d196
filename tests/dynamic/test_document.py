"""What is stored, and what becomes of what cannot be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.document import EMPTY, Document, Sealed, StoredConfig, name_of
from airflow_config_providers.exceptions import ConfigException

DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "report")

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.dictionaries(TEXT, st.one_of(TEXT, st.builds(Sealed, TEXT)), max_size=5)
CONFIGS = st.builds(StoredConfig, VALUES, st.integers(0, 1000), refreshed=st.integers(0, 1000))
DOCUMENTS = st.builds(
    Document, st.integers(0, 1000), CONFIGS, st.dictionaries(TEXT, CONFIGS, max_size=3), st.integers(0, 1000)
)


@given(DOCUMENTS)
def test_what_is_written_is_read(written: Document):
    assert document.read(document.write(written), name="d") == written


def test_what_this_version_knows_is_not_kept_a_second_time_as_a_member_of_a_newer_one():
    config = StoredConfig({"k": Sealed("s")}, 1, refreshed=2)
    written = Document(2, config, {"report": config}, 1, frozenset("a"))

    found = document.read(document.write(written), name=name_of(document.DEPLOYMENT))

    assert found == written
    assert [one.more for one in (found, found.own, found.own.values["k"], found.tasks["report"])] == [{}] * 4


def test_members_of_a_newer_version_are_written_back_after_a_change():
    written = Document(1, StoredConfig({"k": Sealed("s")}, 1), {"report": StoredConfig({}, 1)})
    newer = json.loads(document.write(written))
    for one in (newer, newer["own"], newer["own"]["values"]["k"], newer["tasks"]["report"]):
        one["new"] = [1]

    found = document.read(json.dumps(newer), name="d")
    changed = found.changed({DAG: {**found.own.values, "a": "1"}, TASK: {"b": "2"}})
    stored = json.loads(document.write(changed))

    kept = (stored, stored["own"], stored["own"]["values"]["k"], stored["tasks"]["report"])
    assert [one["new"] for one in kept] == [[1]] * 4


def test_what_is_not_there_is_empty():
    assert document.read(None, name="d") == EMPTY


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="no JSON"),
        pytest.param("[]", id="no object"),
        pytest.param('{"format": 2}', id="a later format"),
        pytest.param('{"format": 1, "version": 1, "beside": 0, "tasks": {}}', id="a part is missing"),
        pytest.param(document.write(EMPTY).replace('"version": 0', '"version": "0"'), id="a version that is no number"),
        pytest.param(document.write(EMPTY).replace('"version": 0', '"version": true'), id="a version that is a truth"),
        pytest.param(document.write(EMPTY).replace('"version": 0', '"version": 0.5'), id="a version that is a part"),
        pytest.param(document.write(EMPTY).replace('"version": 0', '"version": -1'), id="a version below the first"),
        pytest.param(
            document.write(EMPTY).replace('"values": {}', '"values": {"k": 1}'), id="a value that is a number"
        ),
        pytest.param(
            document.write(EMPTY).replace('"values": {}', '"values": {"k": {"sealed": 1}}'),
            id="a seal that is a number",
        ),
        pytest.param(
            document.write(EMPTY).replace('"values": {}', '"values": {"k": {"opened": "x"}}'), id="a value that is odd"
        ),
        pytest.param("[" * 100_000, id="nested deep"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_name(text: str):
    with pytest.raises(ConfigException, match=r"variable 'the\.name' cannot be read"):
        document.read(text, name="the.name")


def test_a_history_with_a_version_that_is_infinite_is_told_by_its_name():
    text = '{"format": 1, "changes": [{"version": 1e999, "task": "", "at": "", "by": "", "was": {}, "became": {}}]}'

    with pytest.raises(ConfigException, match=r"variable 'the\.name' cannot be read"):
        history.read(text, name="the.name")


def test_a_change_gives_the_next_version_and_leaves_the_rest():
    first = EMPTY.changed({DAG: {"a": "1"}})
    second = first.changed({TASK: {"b": "2"}})

    assert second.version == 2
    assert second.config(DAG) == StoredConfig({"a": "1"}, 1)
    assert second.config(TASK) == StoredConfig({"b": "2"}, 2)
    assert second.config(ConfigResource.of_task("flights", "other")) == StoredConfig()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(DAG, TASK, id="a DAG and its task share one"),
        pytest.param(ConfigResource.of_task("a.b", "c"), ConfigResource(ResourceType.DAG, "a.b"), id="dots"),
    ],
)
def test_names_of_one_document(one: ConfigResource, other: ConfigResource):
    assert name_of(one) == name_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            ConfigResource(ResourceType.DEFAULT), ConfigResource(ResourceType.DAG, "default"), id="a DAG default"
        ),
        pytest.param(ConfigResource.of_task("a.b", "c"), ConfigResource.of_task("a", "b.c"), id="dots"),
        pytest.param(
            ConfigResource(ResourceType.DAG, "d" * 249), ConfigResource(ResourceType.DAG, "d" * 250), id="long"
        ),
    ],
)
def test_names_of_different_documents(one: ConfigResource, other: ConfigResource):
    assert name_of(one) != name_of(other)
    assert len(name_of(other, kind=".history")) <= 250


def test_the_name_of_a_document_has_the_id_of_its_dag_as_long_as_it_fits():
    prefix = "config_providers.dynamic.dag."
    longest = "d" * (250 - len(prefix))

    assert name_of(ConfigResource(ResourceType.DAG, longest)) == prefix + longest


def test_documents_are_told_from_histories_and_other_variables_by_their_names():
    resources = [document.DEPLOYMENT, DAG, ConfigResource(ResourceType.DAG, "d" * 250)]
    names = [name_of(resource) for resource in resources]

    assert document.documents([*names, *map(document.history_name, resources), "other"]) == sorted(names)
    assert [document.owner_of(name) for name in names] == [document.DEPLOYMENT, DAG, None]


def test_the_form_in_which_other_versions_read_and_compare_a_document_stays():
    config = StoredConfig({"b": "ü", "a": Sealed("s")}, 1, refreshed=2)
    listed = frozenset({document.listed_as("config_providers.dynamic.dag.flights")})

    assert document.write(Document(2, config, {"report": StoredConfig()}, 1, listed)) == (
        '{"beside": 1, "format": 2, "listed": ["25aa763b"], "own": {"refreshed": 2, "values": {"a": {"sealed": "s"}, '
        '"b": "ü"}, "version": 1}, "tasks": {"report": {"values": {}, "version": 0}}, "version": 2}'
    )


def test_a_sealed_secret_does_not_show_itself():
    written = EMPTY.changed({DAG: {"spark.app.password": Sealed("c1ph3r")}})

    assert "c1ph3r" not in repr(written)
