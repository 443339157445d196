from __future__ import annotations

import pytest

from airflow_config_providers.spark.value_changes import problems, survives_command, survives_file

REFERENCE = "${vault:a:b}"

ARRIVES = [
    pytest.param("", id="empty"),
    pytest.param("a b", id="blank inside"),
    pytest.param("a\tb", id="tab inside"),
    pytest.param("a\nb", id="newline"),
    pytest.param("\r\na\r\n", id="line ends at the ends"),
    pytest.param("a\0b", id="NUL inside"),
    pytest.param("a\\b\\", id="backslashes"),
    pytest.param("p\u00e4ssw\u00f6rd \U0001f600", id="unicode"),
    pytest.param("\u00a0a\u2003", id="wide blanks at the ends"),
    pytest.param("$HOME $(id) %s {{ x }} ${x}", id="foreign syntax"),
    pytest.param("${env:HOME}", id="text that only a key of Spark's own expands"),
    pytest.param("x" * 200_000, id="200 KB"),
]


@pytest.mark.parametrize("value", ARRIVES)
def test_a_value_that_arrives_has_no_problem(value: str) -> None:
    assert list(problems("spark.app.password", value, written=REFERENCE)) == []
    assert survives_file("spark.app.password", value)


@pytest.mark.parametrize("code", [c for c in range(0x21) if chr(c) not in "\r\n"])
@pytest.mark.parametrize("pattern", ["{}x", "x{}", "\n{}"])
def test_attack_12_what_spark_cuts_off_is_refused(code: int, pattern: str) -> None:
    (problem,) = problems("spark.app.password", pattern.format(chr(code)), written=REFERENCE)

    assert problem.startswith("spark.app.password: its value begins or ends with a space")


def test_attack_12_half_a_surrogate_pair_is_refused() -> None:
    (problem,) = problems("spark.app.password", "canary\ud800", written=REFERENCE)

    assert "surrogate" in problem


def test_attack_12_a_key_that_spark_submit_ignores_is_refused() -> None:
    (problem,) = problems("app.password", "canary", written=REFERENCE)

    assert problem == (
        "app.password: spark-submit ignores keys that do not begin with 'spark.'. Choose a name that does."
    )


@pytest.mark.parametrize("key", ["spark.hadoop.fs.s3a.secret.key", "spark.hive.password"])
@pytest.mark.parametrize("value", ["${user.name}", "x${env.HOME}y", "${spark.a}"])
def test_attack_12_what_hadoop_would_expand_is_refused(key: str, value: str) -> None:
    (problem,) = problems(key, value, written=REFERENCE)

    assert "Hadoop" in problem


@pytest.mark.parametrize("value", ["${env:HOME}", "x${system:user.name}", "${spark.app.name}"])
def test_attack_12_what_spark_would_expand_is_refused_under_its_own_keys(value: str) -> None:
    (problem,) = problems("spark.authenticate.secret", value, written=REFERENCE)

    assert "which Spark would replace" in problem


@pytest.mark.parametrize(
    ("key", "text"),
    [("spark.hadoop.x.password", "${env.HOME}"), ("spark.authenticate.secret", "${env:HOME}"), ("my.password", "x")],
)
def test_what_the_author_wrote_out_is_left_to_spark(key: str, text: str) -> None:
    assert list(problems(key, text, written=text)) == []


def test_all_problems_of_a_value_are_found() -> None:
    assert len(list(problems("spark.hadoop.key", " ${a}\ud800", written=REFERENCE))) == 3


@pytest.mark.parametrize(
    "value", [" canary-7f3a", "canary-7f3a\ud800", "canary-7f3a${user.name}", "canary-7f3a${env:HOME} "]
)
def test_attack_19_no_problem_shows_the_value(value: str) -> None:
    found = [problem for key in ("spark.hadoop.k", "k") for problem in problems(key, value, written=REFERENCE)]

    assert found
    assert "canary" not in "".join(found)


def test_attack_22_a_key_is_named_without_control_characters() -> None:
    (problem,) = problems("app\x1b[31m\n", "v", written=REFERENCE)

    assert problem.isprintable()


@pytest.mark.parametrize("value", ["", "a b", " a ", "a\nb", "a=b", "'\"`$!\\"])
def test_an_ordinary_text_survives_the_command(value: str) -> None:
    assert survives_command("spark.k", value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("spark.k", "a\rb", id="carriage return"),
        pytest.param("spark.k", "a\0b", id="NUL"),
        pytest.param("spark.k", "\u00e9", id="not ASCII: depends on the locale"),
        pytest.param("spark.k", "x" * 131_072, id="longer than an argument may be"),
        pytest.param("spark.a=b", "v", id="key with an equals sign"),
        pytest.param("spark.\u00e9", "v", id="key that is not ASCII"),
    ],
)
def test_a_command_would_change(key: str, value: str) -> None:
    assert not survives_command(key, value)


@pytest.mark.parametrize(("key", "value"), [("spark.k", " a"), ("spark.k", "a\ud800"), ("k", "a")])
def test_a_file_would_change(key: str, value: str) -> None:
    assert not survives_file(key, value)
