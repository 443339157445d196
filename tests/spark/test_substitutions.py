from __future__ import annotations

import time

import pytest

from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.spark.substitutions import (
    ANY_KEY,
    Substitutions,
    hadoop_expands_value,
    is_substituted,
    is_substituted_by_spark,
    spark_expands_value,
)


@pytest.mark.parametrize("text", ["${env:HOME}", "a${system:user.name}b", "${spark.app.name}"])
def test_spark_substitutes(text: str) -> None:
    assert is_substituted_by_spark(text)
    assert spark_expands_value(text, written="${vault:a:b}")


@pytest.mark.parametrize("text", ["", "$HOME", "${x}", "${vault:a:b}", "$env:HOME", "${env.HOME}", "${ env:HOME}"])
def test_spark_leaves_alone(text: str) -> None:
    assert not is_substituted_by_spark(text)
    assert not spark_expands_value(text, written="${vault:a:b}")


@pytest.mark.parametrize("text", ["${user.name}", "${env.HOME}", "${env.NO:-x}", "$${fs.key}", "${${a}}", "${a:b}"])
def test_hadoop_may_expand(text: str) -> None:
    assert hadoop_expands_value(text, written="${vault:a:b}")


@pytest.mark.parametrize("text", ["", "${}", "${a b}", "${$x}", "${user.name", "$user.name", "{user.name}"])
def test_hadoop_leaves_alone(text: str) -> None:
    assert not hadoop_expands_value(text, written="${vault:a:b}")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("${user.name}", "${user.name}", id="nothing but the author's"),
        pytest.param("${vault:a:b}@${user.name}", "pw@${user.name}", id="beside a reference"),
        pytest.param("${vault:a:b}@${env:HOME}", "pw@${env:HOME}", id="a reference that nobody answered"),
    ],
)
def test_what_the_author_wrote_may_be_expanded(written: str, value: str) -> None:
    assert not hadoop_expands_value(value, written=written)
    assert not spark_expands_value(value, written=written)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("${vault:a:b}@${env:A}", "${env:A}@${env:A}", id="once more than the author's"),
        pytest.param("${env:TOKEN}", "pw${env:HOME}", id="a value of our own provider of that name"),
        pytest.param("$${vault:a:b}", "${env:HOME}", id="half of it the author's"),
    ],
)
def test_attack_12_what_a_reference_brought_may_not(written: str, value: str) -> None:
    assert hadoop_expands_value(value, written=written)
    assert spark_expands_value(value, written=written)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["${", "${a", "${env:", "$", "${a:b}"])
def test_attack_14_time_is_linear_in_the_length(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part))
        start = time.thread_time()
        hadoop_expands_value(text, written=text + "x")
        spark_expands_value(text, written=text + "x")
        Substitutions({}).keys_in("spark.hadoop.x", f"{text} }}")
        is_substituted("spark.x", text)
        return time.thread_time() - start

    short = min(seconds(50_000) for _ in range(3))

    assert seconds(800_000) < 100 * short + 0.05


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        pytest.param("spark.x", "a ${spark.a} b", {"spark.a", "spark.b"}, id="also through another key"),
        pytest.param("spark.x", "${system:spark.b}", {"spark.b"}, id="a property of Java"),
        pytest.param("spark.x", "${spark.c}", {"spark.c", "spark.d"}, id="a circle"),
        pytest.param("spark.x", "${vault:A} ${a} ${spark. b} $spark.a ${spark.a", set(), id="nothing of Spark's"),
        pytest.param("spark.x", "${env:A}", {"env:A"}, id="an environment variable"),
        pytest.param("spark.hadoop.x", "${fs.key}", {"spark.hadoop.fs.key"}, id="a key of Hadoop's"),
        pytest.param("spark.hive.x", "${fs.key}", {"spark.hadoop.fs.key"}, id="a key of Hive's"),
        pytest.param("spark.hive.x", "${hive.y}", {"spark.hadoop.hive.y", "spark.hive.y"}, id="Hive's other prefix"),
        pytest.param("spark.x", "${spark.$${a}", {"spark.$${a"}, id="a key with a dollar sign and a brace"),
        pytest.param("spark.x", "${a ${system:spark.$}", {"spark.$"}, id="after a blank"),
        pytest.param(
            "spark.hadoop.x",
            "${env.A:-b}",
            {"env:A", "spark.hadoop.env.A:-b"},
            id="a variable, by Hadoop",
        ),
        pytest.param(
            "spark.hadoop.x",
            "${fs.default.name}",
            {"spark.hadoop.fs.default.name", "spark.hadoop.fs.defaultFS"},
            id="the current name of Hadoop's",
        ),
        pytest.param(
            "spark.hadoop.x",
            "${fs.s3a.secret.key}",
            {"spark.hadoop.fs.s3a.secret.key", "env:AWS_SECRET_ACCESS_KEY"},
            id="a variable that Spark gives to Hadoop",
        ),
        pytest.param(
            "spark.hadoop.x",
            "${spark.e}",
            {"spark.e", "spark.hadoop.spark.e", "spark.hadoop.fs.key"},
            id="Hadoop's names in a string of Spark's",
        ),
    ],
)
def test_the_keys_whose_values_are_put_into_a_value(key: str, text: str, found: set[str]) -> None:
    configs = {
        "spark.a": "${spark.b}",
        "spark.c": "${spark.d}",
        "spark.d": "${spark.c}",
        "spark.e": "${fs.key}",
    }

    assert Substitutions(configs).keys_in(key, text) == found


@pytest.mark.parametrize("text", ["${a.${n}.b}", "${p}{fs.key}", "$${q}", "${env.A${n}}", "${${n}}", "${h}"])
def test_a_name_that_hadoop_puts_together_can_be_that_of_any_key(text: str) -> None:
    configs = {"spark.hadoop.p": "$", "spark.hadoop.q": "{fs.key}", "spark.hadoop.h": "${a${n}}"}

    assert ANY_KEY in Substitutions(configs).keys_in("spark.hadoop.x", text)
    assert ANY_KEY not in Substitutions(configs).keys_in("spark.x", text.replace("${h}", ""))


@pytest.mark.parametrize("text", ["$a ${fs.key}", "${fs.key}/$x", "a$b", "${a", "${vault:a:b}-${fs.key}", "${d}"])
def test_other_names_of_hadoop_are_whole(text: str) -> None:
    assert ANY_KEY not in Substitutions({"spark.hadoop.d": "US$5"}).keys_in("spark.hadoop.x", text)


def test_names_are_followed_up_to_a_limit() -> None:
    keys = [f"spark.k{number}" for number in range(400)]
    text = "".join(f"${{{key}}}" for key in keys)
    put_in = Substitutions(dict.fromkeys(keys, text))

    with pytest.raises(ExposedValueError, match=r"so many names in '\$\{' that it cannot be checked"):
        [put_in.keys_in(key, text) for key in keys]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param("spark.app.x", "a${spark.app.y}", id="a key of Spark's"),
        pytest.param("spark.app.x", "${env.A}", id="an environment variable, by Hadoop"),
        pytest.param("spark.app.x", "${system:a}", id="a property of Java"),
        pytest.param("spark.app.x", "a${b${spark.c}", id="inside another one"),
        pytest.param("spark.hadoop.x", "${user.home}", id="a name of any kind, by Hadoop"),
        pytest.param("spark.hive.x", "${a}", id="under a key of Hive's"),
        pytest.param("spark.app.x", "{{secrets/scope/key}}", id="a secret of Databricks"),
    ],
)
def test_a_string_that_is_replaced_later(key: str, text: str) -> None:
    assert is_substituted(key, text)


@pytest.mark.parametrize("text", ["${name}", "$spark.x", "{{ ds }}", "${sparkling}", "spark.x"])
def test_a_string_that_stays(text: str) -> None:
    assert not is_substituted("spark.app.x", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("${spark.a} ${spark.z}", {"spark.a"}, id="keys that the configuration has"),
        pytest.param("${a${b}}", {"spark.a", "spark.b"}, id="any, if a name is put together"),
        pytest.param("a", set(), id="none"),
    ],
)
def test_the_keys_of_a_configuration_that_are_put_into_a_text(text: str, found: set[str]) -> None:
    put_in = Substitutions({"spark.a": "x", "spark.b": "y"})

    assert {*put_in.configured_in("spark.hadoop.x", text)} == found
