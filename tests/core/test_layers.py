"""Which layer wins, and what it beat."""

from __future__ import annotations

import itertools

import pytest

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.keys import LONGEST_KEY
from airflow_config_providers.core.layers import (
    UNDEFINED,
    ConfigLayer,
    ConfigSource,
    ConfigSynonym,
    LayeredConfig,
    layer_problems,
)
from airflow_config_providers.core.resource import ResourceType
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import spark_definition

S = ConfigSource


def layer(source, configs, name=None, origins=None):
    return ConfigLayer(source, name or source.name.lower(), configs, origins or {})


def test_sources_stand_in_the_documented_order():
    assert sorted(S, reverse=True) == [
        S.RUN_CONFIG,
        S.DYNAMIC_TASK_CONFIG,
        S.DYNAMIC_DAG_CONFIG,
        S.DYNAMIC_DEFAULT_CONFIG,
        S.ENVIRONMENT_CONFIG,
        S.DAG_CONFIG,
        S.STATIC_FILE_CONFIG,
        S.DEFAULT_CONFIG,
    ]


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [pytest.param(a, b, id=f"{b.name}-beats-{a.name}") for a, b in itertools.pairwise(sorted(S))],
)
def test_the_stronger_source_wins_in_whatever_order_the_layers_come(weaker, stronger):
    layers = [layer(stronger, {"k": "strong"}), layer(weaker, {"k": "weak"})]

    for order in (layers, layers[::-1]):
        assert LayeredConfig(order).describe("k").value == "strong"


def test_of_two_layers_with_one_source_the_later_wins():
    layers = [layer(S.STATIC_FILE_CONFIG, {"k": "base"}, "base"), layer(S.STATIC_FILE_CONFIG, {"k": "prod"}, "prod")]

    assert LayeredConfig(layers).settled == {"k": "prod"}


def test_an_empty_value_wins_like_any_other():
    assert LayeredConfig([layer(S.DAG_CONFIG, {"k": "x"}), layer(S.RUN_CONFIG, {"k": ""})]).settled == {"k": ""}


def test_each_key_is_settled_on_its_own():
    layers = [layer(S.DAG_CONFIG, {"a": "dag", "b": "dag"}), layer(S.RUN_CONFIG, {"b": "run"})]

    assert LayeredConfig(layers).settled == {"a": "dag", "b": "run"}


def test_synonyms_are_the_winner_and_what_it_beat_with_their_origins():
    layers = [
        layer(S.STATIC_FILE_CONFIG, {"k": "1"}, "base.properties", {"k": "base.properties:7"}),
        layer(S.RUN_CONFIG, {"k": "2"}),
    ]
    entry = LayeredConfig(layers, ConfigDef().define("k", ConfigType.STRING, "0")).describe("k")

    assert entry.synonyms == (
        ConfigSynonym("k", "2", S.RUN_CONFIG, "run_config"),
        ConfigSynonym("k", "1", S.STATIC_FILE_CONFIG, "base.properties:7"),
        ConfigSynonym("k", "0", S.DEFAULT_CONFIG, "default"),
    )


def test_a_default_is_described_and_not_submitted():
    config = LayeredConfig([], ConfigDef().define("k", ConfigType.INT, 5))

    assert config.entries()["k"].value == "5"
    assert config.entries()["k"].source is S.DEFAULT_CONFIG
    assert config.settled == {}


def test_entries_can_leave_out_keys_that_have_only_their_default():
    definition = ConfigDef().define("k", ConfigType.INT, 5).define("set", ConfigType.INT, 5)

    found = LayeredConfig([layer(S.DAG_CONFIG, {"set": "6"})], definition).entries(defaults=False)

    assert {key: entry.value for key, entry in found.items()} == {"set": "6"}


def test_entries_have_every_key_once():
    layers = [layer(S.DAG_CONFIG, {"a": "1", "b": "1"}), layer(S.RUN_CONFIG, {"b": "2", "c": "2"})]

    assert sorted(LayeredConfig(layers).entries()) == ["a", "b", "c"]


def test_references_are_shown_and_not_fetched():
    assert LayeredConfig([layer(S.DAG_CONFIG, {"k": "${p:x}"})]).describe("k").value == "${p:x}"


def test_a_secret_that_is_written_out_is_not_shown_in_any_layer():
    definition = ConfigDef().define("k", ConfigType.PASSWORD, None)
    config = LayeredConfig([layer(S.DAG_CONFIG, {"k": "hunter2"}), layer(S.RUN_CONFIG, {"k": "${p:x}"})], definition)

    assert [s.value for s in config.describe("k").synonyms] == ["${p:x}", None]
    assert "hunter2" not in repr(config.describe("k"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("jdbc:x://u:c4nary@${vault:apps/db:host}/x", None),
        ("password=c4nary;host=${vault:apps/db:host}", None),
        ("jdbc:x://${vault:apps/db:login}:${vault:apps/db:password}@db", ...),
        ("user=u;password=${vault:apps/db:password};ssl=true", ...),
    ],
)
def test_a_secret_beside_a_reference_is_not_shown(text, shown):
    config = LayeredConfig([layer(S.DAG_CONFIG, {"k": text})], spark_definition())

    assert config.describe("k").value == (text if shown is ... else shown)


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        pytest.param("k", "hunter2", None, id="a secret"),
        pytest.param("k", "", "", id="nothing"),
        pytest.param("k", "${v:k}", "${v:k}", id="a reference"),
        pytest.param("k", "${", None, id="an open reference"),
        pytest.param("other", "hunter2", "hunter2", id="no secret"),
    ],
)
def test_only_a_plaintext_under_a_key_that_is_a_password_is_not_shown(key, text, shown):
    config = LayeredConfig([layer(S.DAG_CONFIG, {key: text})], ConfigDef().define("k", ConfigType.PASSWORD, None))

    assert config.describe(key).value == shown


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [(source, source not in {S.DYNAMIC_TASK_CONFIG, S.DYNAMIC_DAG_CONFIG, S.DYNAMIC_DEFAULT_CONFIG}) for source in S],
)
def test_a_key_that_is_too_long_is_refused_unless_it_was_stored_before(source, is_refused):
    found = layer_problems(layer(source, {"k" * LONGEST_KEY: "x", "l" * (LONGEST_KEY + 1): "x"}))

    assert [problem for problem in found if "Shorten it" in str(problem)] == found
    assert len(found) == is_refused


def test_each_value_that_is_no_text_is_refused():
    (problem,) = layer_problems(layer(S.DAG_CONFIG, {"k": "\ud800", "l": "\u00e9"}))

    assert "'k' in dag_config" in str(problem)


def test_an_entry_is_made_once():
    config = LayeredConfig([layer(S.DAG_CONFIG, {"k": "1"})])

    assert config.describe("k") is config.entries()["k"]


def test_an_unknown_key_is_an_error_with_the_nearest_name():
    config = LayeredConfig([layer(S.DAG_CONFIG, {"spark.executor.memory": "1g"})])

    with pytest.raises(ConfigException, match=r"did you mean 'spark.executor.memory'"):
        config.describe("spark.executor.memry")


def test_an_unknown_key_that_is_like_no_other_is_set_by_no_layer():
    with pytest.raises(ConfigException, match=r"Unknown configuration 'x'\. No layer sets it\."):
        LayeredConfig([layer(S.DAG_CONFIG, {"spark.executor.memory": "1g"})]).describe("x")


def test_an_entry_says_what_the_definition_says_of_its_key():
    definition = ConfigDef().define("k", ConfigType.INT, 1, doc="How many.", alterable_at=(ResourceType.DAG,))
    entry = LayeredConfig([], definition).describe("k")

    assert (entry.type, entry.documentation, entry.alterable_at) == ("INT", "How many.", (ResourceType.DAG,))
    assert not entry.is_read_only


@pytest.mark.parametrize(
    ("configs", "key"),
    [
        pytest.param({"k": 5}, "'k'", id="a number"),
        pytest.param({"k": None}, "'k'", id="nothing"),
        pytest.param({5: "v"}, "5", id="a number as key"),
    ],
)
def test_a_layer_with_a_key_or_a_value_that_is_no_text_names_it_and_itself(configs, key):
    with pytest.raises(ConfigException, match=f"base.properties: .*{key}"):
        ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base.properties", configs)


def test_a_layer_does_not_show_its_values():
    assert "hunter2" not in repr(layer(S.DAG_CONFIG, {"k": "hunter2"}))


def test_lines_say_what_counts_where_it_was_written_and_what_it_beat():
    layers = [
        layer(S.STATIC_FILE_CONFIG, {"k": "1g"}, "base", {"k": "base:7"}),
        layer(S.DAG_CONFIG, {"k": "${p:x}"}, "conf"),
        layer(S.DAG_CONFIG, {"a": "1"}, "conf"),
    ]

    assert LayeredConfig(layers).lines() == [
        "a = 1   # DAG_CONFIG, conf",
        "k = ${p:x}   # DAG_CONFIG, conf; beats STATIC_FILE_CONFIG base:7 = 1g",
    ]


def test_lines_do_not_say_that_a_default_was_beaten():
    definition = ConfigDef().define("k", ConfigType.STRING, "0")

    assert LayeredConfig([layer(S.DAG_CONFIG, {"k": "1"})], definition).lines() == ["k = 1   # DAG_CONFIG, dag_config"]


def test_attack_22_a_value_cannot_begin_a_new_line():
    found = LayeredConfig([layer(S.DAG_CONFIG, {"k": "a\nforged = 1\x1b[2J\r"})]).lines()

    assert found == ["k = a\\nforged = 1\\x1b[2J\\r   # DAG_CONFIG, dag_config"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("1g   # RUN_CONFIG, x", '"1g   # RUN_CONFIG, x"', id="an origin"),
        pytest.param("1; beats RUN_CONFIG x = 2", '"1; beats RUN_CONFIG x = 2"', id="a beaten value"),
        pytest.param('"1"   # RUN_CONFIG, "x"', r'"\"1\"   # RUN_CONFIG, \"x\""', id="an origin after a quoted value"),
        pytest.param("1  ", '"1  "', id="blanks at the end"),
        pytest.param(" 1", '" 1"', id="a blank at the beginning"),
        pytest.param('"1', r'"\"1"', id="a quote at the beginning"),
        pytest.param("\u202e   # x\n", r'"\u202e   # x\n"', id="with control characters"),
        pytest.param("", "", id="nothing"),
        pytest.param('-Da="b c" # d', '-Da="b c" # d', id="none of these"),
    ],
)
def test_attack_22_a_value_cannot_look_like_an_origin(text, shown):
    layers = [layer(S.DAG_CONFIG, {"k": text}), layer(S.STATIC_FILE_CONFIG, {"k": text})]

    beaten = f"beats STATIC_FILE_CONFIG static_file_config = {shown}"
    assert LayeredConfig(layers).lines() == [f"k = {shown}   # DAG_CONFIG, dag_config; {beaten}"]


class Renamed(ConfigDef):
    """A definition in which ``new`` was once called ``old``, and before that ``oldest``."""

    @property
    def older_names(self):
        return {"old": "new", "oldest": "old"}


RENAMED = Renamed().define("new", ConfigType.STRING, "default")


def settle(**configs):
    return LayeredConfig([layer(S[source], given) for source, given in configs.items()], RENAMED)


@pytest.mark.parametrize(
    ("weak", "strong", "expected"),
    [
        pytest.param({"new": "1"}, {"old": "2"}, {"old": "2"}, id="the older name in the stronger layer"),
        pytest.param({"old": "1"}, {"new": "2"}, {"new": "2"}, id="the current name in the stronger layer"),
        pytest.param({"old": "1"}, {"oldest": "2"}, {"oldest": "2"}, id="two older names"),
        pytest.param({}, {"old": "1", "new": "2"}, {"new": "2"}, id="both in one layer"),
        pytest.param({"old": "1"}, {"other": "2"}, {"old": "1", "other": "2"}, id="an older name alone"),
    ],
)
def test_only_one_name_of_a_configuration_wins(weak, strong, expected):
    assert settle(DAG_CONFIG=weak, RUN_CONFIG=strong).settled == expected


def test_the_other_names_are_synonyms_with_their_own_name():
    entry = settle(STATIC_FILE_CONFIG={"new": "1"}, DAG_CONFIG={"old": "2"}).describe("old")

    assert entry.synonyms == (
        ConfigSynonym("old", "2", S.DAG_CONFIG, "dag_config"),
        ConfigSynonym("new", "1", S.STATIC_FILE_CONFIG, "static_file_config"),
        ConfigSynonym("new", "default", S.DEFAULT_CONFIG, "default"),
    )


@pytest.mark.parametrize("name", ["new", "old"])
def test_each_name_finds_the_value_that_wins(name):
    entries = settle(STATIC_FILE_CONFIG={"new": "1"}, DAG_CONFIG={"old": "2"}).entries()

    assert (entries[name].name, entries[name].value, entries[name].origin) == (name, "2", "dag_config")


def test_a_configuration_with_two_names_is_listed_once():
    assert list(settle(STATIC_FILE_CONFIG={"new": "1"}, DAG_CONFIG={"old": "2"}).entries()) == ["old"]


def test_an_older_name_hides_the_default_of_the_current_one():
    assert list(settle(DAG_CONFIG={"old": "2"}).entries()) == ["old"]


def test_entries_without_defaults_list_the_name_that_won():
    entries = settle(STATIC_FILE_CONFIG={"new": "1"}, DAG_CONFIG={"old": "2"}).entries(defaults=False)

    assert (list(entries), entries["new"].value) == (["old"], "2")


def test_a_line_names_the_other_name():
    lines = settle(STATIC_FILE_CONFIG={"new": "1"}, DAG_CONFIG={"old": "2"}).lines()

    assert lines == ["old = 2   # DAG_CONFIG, dag_config; beats STATIC_FILE_CONFIG static_file_config new = 1"]


def test_a_secret_under_a_name_that_is_beaten_is_not_opened():
    sealed = ConfigLayer(S.DYNAMIC_DAG_CONFIG, "dynamic", {"new": "[hidden]"}, secrets={"new": lambda: "s"})

    assert LayeredConfig([sealed, layer(S.RUN_CONFIG, {"old": "2"})], RENAMED).secrets == {}


def test_no_definition_answers_like_one_without_keys() -> None:
    empty = ConfigDef()

    assert UNDEFINED.config_keys == empty.config_keys == {}
    assert UNDEFINED.older_names == empty.older_names == {}
    assert UNDEFINED.default_texts() == empty.default_texts() == {}
    assert UNDEFINED.default_text("k") is empty.default_text("k") is None
    assert UNDEFINED.is_sensitive("password") is empty.is_sensitive("password") is False
    assert UNDEFINED.is_secret("password", "x") is empty.is_secret("password", "x") is False
    assert UNDEFINED.alterable_at("k") == empty.alterable_at("k")
