from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_config_providers.core.definition.abstract_config import AbstractConfig
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.keys import current_name, holds_definitions, key_problem, key_problems, spellings
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, layer_problems
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.exceptions import ConfigException, ReservedKeyError

ODD = {
    "an equals sign": "spark.a=b",
    "an equals sign at the end": "spark.a=",
    "an equals sign first": "=spark.a",
    "a blank": "spark.a b",
    "a blank at the end": "spark.a ",
    "a tab": "spark.a\tb",
    "a line end": "spark.a\n",
    "a carriage return": "spark.a\r",
    "a vertical tab": "spark.a\x0b",
    "NUL": "spark.a\0",
    "an escape": "spark.\x1b[31ma",
    "NEL": "spark.a\x85",
    "a no-break space": "spark.a\u00a0",
    "an ideographic space": "spark.a\u3000b",
    "a line separator": "spark.a\u2028b",
    "a zero-width space": "spark.a\u200bb",
    "a zero-width joiner": "spark.a\u200db",
    "a word joiner": "spark.a\u2060b",
    "a byte order mark": "\ufeffspark.a",
    "a soft hyphen": "spark.a\u00adb",
    "a bidi override": "spark.a\u202eb",
    "a bidi isolate": "spark.a\u2066b",
    "a tag": "spark.a\U000e0041",
    "a variation selector": "spark.a\ufe0f",
    "a variation selector of the supplement": "spark.a\U000e0100",
    "a Hangul filler": "spark.a\u3164",
    "a grapheme joiner": "spark.a\u034fb",
    "a braille blank": "spark.a\u2800",
    "half of a surrogate pair": "spark.a\ud800",
    "a character for private use": "spark.a\ue000",
    "a reference": "spark.${vault:a:b}",
    "nothing": "",
    "1,001 characters": "spark." + "k" * 995,
}

ORDINARY = [
    "spark.app.x",
    "a",
    "--conf",
    "-Dx",
    "spark.a:b",
    "spark.#!,\\",
    "spark.größe",
    "spark.ключ",
    "a-b_c/d",
    "k" * 1000,
]

odd = pytest.mark.parametrize("key", ODD.values(), ids=ODD)


@odd
def test_attack_68_an_odd_key_is_refused_and_not_echoed(key: str) -> None:
    problem = key_problem(key, "here")

    assert type(problem) is ConfigException
    assert str(problem).startswith("here: ")
    assert str(problem).isprintable()


@odd
def test_attack_68_an_odd_key_is_found_among_others(key: str) -> None:
    (problem,) = key_problems(["spark.x", key, "spark.y"], lambda found: f"in line {found == key}")

    assert "in line True: " in str(problem)


@pytest.mark.parametrize("key", ORDINARY)
def test_an_ordinary_key_is_taken(key: str) -> None:
    assert key_problem(key, "here") is None
    assert list(key_problems([key], lambda _: "here")) == []


@given(st.lists(st.text(), max_size=3))
@example([": "])
def test_many_keys_have_the_problems_that_each_has(keys: list[str]) -> None:
    each = [str(problem) for key in keys if (problem := key_problem(key, f"'{printable(key)}' here"))]

    assert [str(problem) for problem in key_problems(keys, lambda _: "here")] == each


def test_the_character_and_its_place_are_told() -> None:
    assert "character 8 of the key is U+200B" in str(key_problem("spark.a\u200b", "here"))


@pytest.mark.parametrize("key", ["config.providers", "config.providers.vault.class", "config.providers.x=y"])
def test_what_belongs_to_the_deployment_is_told_as_that(key: str) -> None:
    assert isinstance(key_problem(key, "here"), ReservedKeyError)


def test_a_key_of_the_deployment_is_found_among_others() -> None:
    (problem,) = key_problems(["spark.x", "config.providers.vault.class"], lambda _: "here")

    assert isinstance(problem, ReservedKeyError)


def test_a_layer_says_where_each_odd_key_stands() -> None:
    layer = ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base", {"a=b": "1", "c": "2"}, {"a=b": "base:7"})

    assert [str(problem)[:18] for problem in layer_problems(layer)] == ["'a=b' in base:7: c"]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        (ConfigSource.RUN_CONFIG, 1),
        (ConfigSource.DYNAMIC_TASK_CONFIG, 0),
        (ConfigSource.DYNAMIC_DAG_CONFIG, 0),
        (ConfigSource.DYNAMIC_DEFAULT_CONFIG, 0),
        (ConfigSource.ENVIRONMENT_CONFIG, 1),
        (ConfigSource.DAG_CONFIG, 1),
        (ConfigSource.STATIC_FILE_CONFIG, 1),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_key_that_was_stored_when_longer_ones_were_allowed_is_read(source: ConfigSource, count: int) -> None:
    assert len(layer_problems(ConfigLayer(source, "x", {"k" * 1001: "1"}))) == count


def test_an_odd_key_that_was_stored_is_refused() -> None:
    (problem,) = layer_problems(ConfigLayer(ConfigSource.DYNAMIC_DAG_CONFIG, "x", {"k" * 1001 + "=": "1"}))

    assert "character 1002 of the key is an equals sign" in str(problem)


def test_half_of_a_surrogate_pair_is_no_text_of_a_layer() -> None:
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.a": "x\ud800", "spark.b": "\U0001f600é"})

    (problem,) = layer_problems(layer)

    assert str(problem) == (
        "'spark.a' in conf: character 2 of its value is half of a surrogate pair, which is no character. Correct it."
    )


@odd
def test_the_classes_that_are_kafka_s_take_any_key(key: str) -> None:
    definition = ConfigDef().define(key, ConfigType.STRING, "x")

    assert ConfigTransformer({}).transform({key: "1"}).data == {key: "1"}
    assert AbstractConfig(definition, {key: "1"}, do_log=False).values() == {key: "1"}


OLDER = {"old": "new", "oldest": "old", "round": "about", "about": "round"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("old", "new", id="renamed once"),
        pytest.param("oldest", "new", id="renamed twice"),
        pytest.param("new", "new", id="current"),
        pytest.param("other", "other", id="unknown"),
        pytest.param("round", "round", id="in a circle"),
    ],
)
def test_the_current_name(name: str, expected: str) -> None:
    assert current_name(name, OLDER) == expected


def test_all_names_that_matter_are_found_by_each_of_them() -> None:
    group = ("new", "old", "oldest")

    assert spellings(["oldest", "old", "other"], OLDER) == dict.fromkeys(group, group)


def test_a_current_name_alone_is_no_group() -> None:
    assert spellings(["new", "other"], OLDER) == {}


@pytest.mark.parametrize(
    "text",
    [
        "config.providers=vault",
        "config.providers.vault.param.token: t",
        "config.providers vault",
        "# of the team\ndriver.config.providers=vault",
        '{"config.providers": "vault", "config.providers.vault.param.token": "t"}',
    ],
)
def test_definitions_in_the_place_of_their_file_are_known(text: str) -> None:
    assert holds_definitions(text)


@pytest.mark.parametrize("text", ["", "vault.properties", "config.providers.properties", "/etc/config.providers=/x"])
def test_the_path_of_a_file_holds_no_definitions(text: str) -> None:
    assert not holds_definitions(text)
