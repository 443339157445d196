"""What Spark hides or guards stays so, whatever dynamic or run configuration sets."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.job.steered_layers import with_kept_authentication, with_kept_redaction
from airflow_config_providers.spark.catalogue import AUTHENTICATE_KEY
from airflow_config_providers.spark.redaction import DEFAULT_PATTERN

KEY = "spark.redaction.regex"


def settled(*layers: tuple[ConfigSource, dict[str, str]]) -> dict[str, str]:
    built = [ConfigLayer(source, source.name, configs) for source, configs in layers]
    return dict(LayeredConfig(with_kept_redaction(built)).settled)


@pytest.mark.parametrize(
    "source",
    [
        ConfigSource.RUN_CONFIG,
        ConfigSource.DYNAMIC_TASK_CONFIG,
        ConfigSource.DYNAMIC_DAG_CONFIG,
        ConfigSource.DYNAMIC_DEFAULT_CONFIG,
    ],
)
def test_a_pattern_extends_that_of_the_author(source):
    assert settled((source, {KEY: "run"}), (ConfigSource.DAG_CONFIG, {KEY: "dag"})) == {KEY: "dag|run"}


@pytest.mark.parametrize(
    ("key", "kept"), [(KEY, f"{DEFAULT_PATTERN}|"), ("spark.sql.redaction.options.regex", "(?i)url|")]
)
def test_a_pattern_extends_the_default_of_spark(key, kept):
    assert settled((ConfigSource.RUN_CONFIG, {key: "x^"})) == {key: f"{kept}x^"}


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        (r"mine|\Qx.y", r"mine|\Qx.y\E"),
        (r"\Qx\E|\Qy", r"\Qx\E|\Qy\E"),
        (r"\Q", r"\Q\E"),
        (r"\Qx\E", r"\Qx\E"),
        (r"\\Qx", r"\\Qx"),
        (r"\\\Qx", r"\\\Qx\E"),
    ],
)
def test_a_pattern_of_a_run_does_not_become_a_part_of_an_open_quotation(own: str, kept: str) -> None:
    assert settled((ConfigSource.RUN_CONFIG, {KEY: "x^"}), (ConfigSource.DAG_CONFIG, {KEY: own})) == {KEY: f"{kept}|x^"}


def test_a_pattern_for_the_texts_of_sql_extends_the_general_one():
    dag = {"spark.redaction.string.regex": "dag"}
    found = settled(
        (ConfigSource.RUN_CONFIG, {"spark.sql.redaction.string.regex": "run"}), (ConfigSource.DAG_CONFIG, dag)
    )

    assert found == {**dag, "spark.sql.redaction.string.regex": "dag|run"}


@pytest.mark.parametrize(
    "source", [ConfigSource.DAG_CONFIG, ConfigSource.STATIC_FILE_CONFIG, ConfigSource.ENVIRONMENT_CONFIG]
)
def test_the_author_and_the_owner_may_replace_a_pattern(source):
    assert settled((source, {KEY: "own"})) == {KEY: "own"}


def test_the_strongest_pattern_of_the_author_is_kept():
    layers = [(ConfigSource.RUN_CONFIG, {KEY: "run"}), (ConfigSource.DAG_CONFIG, {KEY: "dag"})]
    assert settled(*layers, (ConfigSource.STATIC_FILE_CONFIG, {KEY: "file"})) == {KEY: "dag|run"}


def test_the_same_pattern_is_not_repeated():
    assert settled((ConfigSource.RUN_CONFIG, {KEY: "dag"}), (ConfigSource.DAG_CONFIG, {KEY: "dag"})) == {KEY: "dag"}


STEERED = [source for source in ConfigSource if source.is_steered]


@pytest.mark.parametrize("source", STEERED)
@pytest.mark.parametrize("text", ["false", "", "${env:X}", "[hidden]"])
def test_attack_who_may_change_a_configuration_cannot_open_the_ports_of_a_driver(source, text):
    notes = []
    layer = ConfigLayer(
        source, "steered", {AUTHENTICATE_KEY: text, "spark.a": "1"}, secrets={AUTHENTICATE_KEY: lambda: "false"}
    )

    (kept,) = with_kept_authentication([layer], warn=notes.append)

    assert (kept.configs, kept.secrets) == ({"spark.a": "1"}, {})
    assert [note.partition(":")[0] for note in notes] == [f"{AUTHENTICATE_KEY} in steered has no effect"]


@pytest.mark.parametrize(
    ("source", "text"), [*((source, "True") for source in STEERED), (ConfigSource.DAG_CONFIG, "false")]
)
def test_what_closes_the_ports_of_a_driver_and_what_the_author_says_of_them_stays(source, text):
    notes = []
    layer = ConfigLayer(source, "any", {AUTHENTICATE_KEY: text})

    assert with_kept_authentication([layer], warn=notes.append) == [layer]
    assert notes == []
