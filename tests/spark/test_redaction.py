from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.spark.redaction import (
    DEFAULT_OPTIONS,
    DEFAULT_PATTERN,
    OPTIONS_KEY,
    REDACTION_KEY,
    is_hidden_by_spark,
    other_names,
    redacting,
    widened,
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("spark.authenticate.secret", True),
        ("spark.app.db.PassWord", True),
        ("spark.hadoop.fs.s3a.access.key", True),
        ("spark.app.accesskey", True),
        ("spark.app.token", True),
        ("spark.app.url", False),
        ("spark.hadoop.fs.azure.account.key.x", False),
        pytest.param("spark.app.to\u212aen", False, id="Kelvin sign for k: no match in Java"),
    ],
)
def test_a_key_is_hidden_by_spark_where_spark_hides_it(key: str, expected: bool) -> None:
    assert is_hidden_by_spark(key) is expected


def test_attack_31_the_default_is_set_even_for_keys_that_it_hides_so_that_no_system_property_replaces_it() -> None:
    assert widened(None, ["spark.app.password", "spark.hadoop.fs.s3a.secret.key"]) == DEFAULT_PATTERN


def test_no_key_needs_no_pattern() -> None:
    assert widened("(?i)mine", []) is None


def test_only_keys_that_need_it_are_added_to_the_default() -> None:
    assert widened(None, ["spark.app.url", "spark.app.password"]) == rf"^spark[.]app[.]url$|{DEFAULT_PATTERN}"


def test_a_key_that_only_the_newest_spark_hides_is_added() -> None:
    assert widened(None, ["spark.app.credential"]) == rf"^spark[.]app[.]credential$|{DEFAULT_PATTERN}"


def test_every_key_is_added_to_a_pattern_of_the_users_own() -> None:
    assert widened("mine", ["spark.b.password", "spark.a"]) == r"^spark[.]a$|^spark[.]b[.]password$|mine"


@pytest.mark.parametrize("own", [None, "mine"])
def test_options_of_data_sources_that_sound_secret_are_hidden_beside_those_of_the_pattern(own: str | None) -> None:
    pattern = redacting({} if own is None else {OPTIONS_KEY: own}, ["spark.app.password"])[OPTIONS_KEY]

    added, _, theirs = pattern.rpartition("|")
    assert theirs == (own or DEFAULT_OPTIONS)
    assert re.search(added, "kafka.sasl.jaas.config")


def test_a_pattern_of_options_that_was_extended_before_is_not_extended_again() -> None:
    before = redacting({OPTIONS_KEY: "mine"}, ["spark.app.password"])

    assert redacting(before, ["spark.app.password"])[OPTIONS_KEY] == before[OPTIONS_KEY]


def test_without_a_key_to_hide_no_pattern_is_set() -> None:
    assert redacting({REDACTION_KEY: "mine", OPTIONS_KEY: "mine"}, []) == {}


@pytest.mark.parametrize("theirs", [r"\Qopen quotation", "(?x) a # a comment", "(?i)flag", ""])
def test_the_users_pattern_cannot_swallow_what_is_added(theirs: str) -> None:
    assert widened(theirs, ["spark.a"]) == rf"^spark[.]a$|{theirs}"


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("spark.hadoop.fs.azure.key.x", "fs[.]azure[.]key[.]x"),
        ("spark.hive.zone", "hive[.]zone"),
        ("spark.metrics.conf.*.sink.x.url", r"\*[.]sink[.]x[.]url"),
        ("spark.sql.warehouse.dir", "hive[.]metastore[.]warehouse[.]dir"),
        ("spark.jars", "spark[.]repl[.]local[.]jars"),
        ("spark.hadoop.mapred.job.name", "mapreduce[.]job[.]name"),
        ("spark.hadoop.mapreduce.job.name", "mapred[.]job[.]name"),
        ("spark.hadoop.fs.s3a.server-side-encryption.key", r"fs[.]s3a[.]encryption[.]key"),
        ("spark.jars.packages", "spark[.]jars"),
        ("spark.files", "spark[.]app[.]initial[.]file[.]urls"),
        ("spark.yarn.keytab", "spark[.]kerberos[.]keytab"),
        ("spark.yarn.principal", "spark[.]kerberos[.]principal"),
    ],
)
def test_attack_31_58_a_key_is_hidden_under_its_other_name_too(key: str, shown: str) -> None:
    assert f"|^{shown}$|" in (widened(None, [key]) or "")


def test_the_order_does_not_depend_on_the_order_of_the_keys() -> None:
    assert widened(None, {"spark.a": 1, "spark.b": 2}) == widened(None, ["spark.b", "spark.a"])


@given(st.text(st.sampled_from(".*$\\") | st.characters(max_codepoint=0x7F), min_size=1), st.characters(), st.text())
def test_attack_31_the_pattern_matches_the_key_and_no_other(key: str, character: str, other: str) -> None:
    pattern = (widened("none", [key]) or "").removesuffix("$|none").removeprefix("^")
    changed = [key[:place] + character + key[place + 1 :] for place in range(len(key))]

    assert re.fullmatch(pattern, key)
    for one in [other, *changed, key + character, character + key]:
        assert (re.fullmatch(pattern, one) is not None) is (one == key)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("fs.default.name", {"fs.defaultFS"}, id="replaced"),
        pytest.param("fs.defaultFS", {"fs.default.name"}, id="replaces"),
        pytest.param("t.x", set(), id="unknown"),
        pytest.param("fs.s3a.encryption.key", {"fs.s3a.server-side-encryption.key"}, id="of a jar that PySpark lacks"),
    ],
)
def test_a_value_is_set_under_these_names_too(key: str, expected: set[str]) -> None:
    assert other_names(key) == expected
