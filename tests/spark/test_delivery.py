from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core import properties
from airflow_config_providers.exceptions import UndeliverableValueError
from airflow_config_providers.spark.delivery import plan, survives_command, survives_file, value_problems
from airflow_config_providers.spark.processes.child_process import size
from airflow_config_providers.spark.redaction import DEFAULT_PATTERN, PATTERN_KEYS, redacting

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
    assert list(value_problems("spark.app.password", value, written=REFERENCE)) == []
    assert survives_file("spark.app.password", value)


@pytest.mark.parametrize("code", [c for c in range(0x21) if chr(c) not in "\r\n"])
@pytest.mark.parametrize("pattern", ["{}x", "x{}", "\n{}"])
def test_attack_12_what_spark_cuts_off_is_refused(code: int, pattern: str) -> None:
    (problem,) = value_problems("spark.app.password", pattern.format(chr(code)), written=REFERENCE)

    assert problem.startswith("spark.app.password: its value begins or ends with a space")


def test_attack_12_half_a_surrogate_pair_is_refused() -> None:
    (problem,) = value_problems("spark.app.password", "canary\ud800", written=REFERENCE)

    assert "surrogate" in problem


def test_attack_12_a_key_that_spark_submit_ignores_is_refused() -> None:
    (problem,) = value_problems("app.password", "canary", written=REFERENCE)

    assert problem == (
        "app.password: spark-submit ignores keys that do not begin with 'spark.'. Choose a name that does."
    )


@pytest.mark.parametrize("key", ["spark.hadoop.fs.s3a.secret.key", "spark.hive.password"])
@pytest.mark.parametrize("value", ["${user.name}", "x${env.HOME}y", "${spark.a}"])
def test_attack_12_what_hadoop_would_expand_is_refused(key: str, value: str) -> None:
    (problem,) = value_problems(key, value, written=REFERENCE)

    assert "Hadoop" in problem


@pytest.mark.parametrize("value", ["${env:HOME}", "x${system:user.name}", "${spark.app.name}"])
def test_attack_12_what_spark_would_expand_is_refused_under_its_own_keys(value: str) -> None:
    (problem,) = value_problems("spark.authenticate.secret", value, written=REFERENCE)

    assert "which Spark would replace" in problem


@pytest.mark.parametrize(
    ("key", "text"),
    [("spark.hadoop.x.password", "${env.HOME}"), ("spark.authenticate.secret", "${env:HOME}"), ("my.password", "x")],
)
def test_what_the_author_wrote_out_is_left_to_spark(key: str, text: str) -> None:
    assert list(value_problems(key, text, written=text)) == []


def test_blanks_around_options_of_java_may_be_lost() -> None:
    key, options = "spark.driver.extraJavaOptions", " -Dx.password=hunter2 -Xss4m "

    assert list(value_problems(key, options, written=options)) == []
    assert survives_file(key, options)


def test_all_problems_of_a_value_are_found() -> None:
    assert len(list(value_problems("spark.hadoop.key", " ${a}\ud800", written=REFERENCE))) == 3


@pytest.mark.parametrize(
    "value", [" canary-7f3a", "canary-7f3a\ud800", "canary-7f3a${user.name}", "canary-7f3a${env:HOME} "]
)
def test_attack_19_no_problem_shows_the_value(value: str) -> None:
    found = [problem for key in ("spark.hadoop.k", "k") for problem in value_problems(key, value, written=REFERENCE)]

    assert found
    assert "canary" not in "".join(found)


def test_attack_22_a_key_is_named_without_control_characters() -> None:
    (problem,) = value_problems("app\x1b[31m\n", "v", written=REFERENCE)

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


CANARY = "canary-7f3a"
KEY = "spark.redaction.regex"
PATTERNS = redacting({}, {"spark.b.password"})
"""Both patterns, if Spark's default hides all keys."""


def test_plain_keys_go_to_the_command_and_sensitive_ones_to_the_file() -> None:
    delivery = plan({"spark.a": "1", "spark.b.password": CANARY}, sensitive={"spark.b.password"})

    assert delivery.plain == {"spark.a": "1"}
    assert delivery.private == {"spark.b.password": CANARY, **PATTERNS}


def test_nothing_sensitive_needs_no_file() -> None:
    assert plan({"spark.a": "1"}, sensitive=()).private == {}


@pytest.mark.parametrize("value", ["a\rb", "\u00e9", "x" * 200_000, "a\0b"])
def test_a_plain_value_that_the_command_would_change_goes_to_the_file(value: str) -> None:
    assert plan({"spark.a": value}, sensitive=()).private == {"spark.a": value}


@pytest.mark.parametrize(("key", "value"), [("spark.a", " a "), ("spark.a", "a\t"), ("a", "x")])
def test_a_plain_value_that_the_file_would_change_stays_in_the_command(key: str, value: str) -> None:
    assert plan({key: value}, sensitive=()).plain == {key: value}


LOST = [
    pytest.param("spark.redaction.regex=zzz", "1 ", id="a key that a command would split"),
    pytest.param("spark.driver.extraJavaOptions=-Dx", "1 -Dz=1 ", id="a key with an option of Java"),
    pytest.param("spark.a", " \r", id="carriage return"),
    pytest.param("spark.a", "\u00e9 ", id="not ASCII"),
    pytest.param("spark.a", "a\0 ", id="NUL"),
    pytest.param("spark.a", "x" * 200_000 + " ", id="too long"),
    pytest.param("spark.a", "\ud800", id="half of a surrogate pair"),
    pytest.param("a", "\r", id="a key that spark-submit leaves out"),
]


@pytest.mark.parametrize(("key", "value"), LOST)
def test_attack_68_what_no_way_is_faithful_to_is_refused_and_never_in_the_command(key: str, value: str) -> None:
    with pytest.raises(UndeliverableValueError, match=f"^{key}: ") as error:
        plan({key: value, "spark.b": "1"}, sensitive=())

    assert value not in str(error.value)


@pytest.mark.parametrize(
    ("key", "value", "arrives"),
    [
        pytest.param("spark.a", "\u00e9 ", True, id="changed by the command, corrected afterwards"),
        pytest.param("my.title", "\u00dcber", True, id="left out of the command, set afterwards"),
        pytest.param("spark.a", "a\0 ", False, id="NUL"),
        pytest.param("spark.a=b", "1 ", False, id="a key that a command would split"),
        pytest.param("spark.a", "\u00e9" * 70_000 + " ", False, id="too long"),
    ],
)
def test_what_python_sets_once_more_needs_only_to_fit_into_a_command(key: str, value: str, arrives: bool) -> None:
    if arrives:
        assert plan({key: value}, sensitive=(), in_process=True).plain == {key: value}
    else:
        with pytest.raises(UndeliverableValueError):
            plan({key: value}, sensitive=(), in_process=True)


MANY = {f"spark.app.key{n:06}": "x" for n in range(100_000)}


def test_plain_keys_that_fit_stay_in_the_command() -> None:
    few = {"spark.a": "1"}

    assert plan(few, sensitive=(), room=size(few)).plain == few


def test_plain_keys_that_are_too_many_for_a_command_go_to_the_file() -> None:
    kept = {"spark.app.name": "job", "spark.master": "local[1]", "spark.app.end": "a "}

    delivery = plan({**MANY, **kept}, sensitive=(), room=100_000)

    assert delivery.plain == kept
    assert delivery.private == MANY


def test_keys_that_fit_neither_into_the_command_nor_the_file_are_refused() -> None:
    with pytest.raises(UndeliverableValueError, match=r"^3 keys are together too long for a command line") as error:
        plan({f"spark.app.k{n}": "canary " for n in range(3)}, sensitive=(), room=100)

    assert "canary" not in str(error.value)


@given(st.dictionaries(st.text(), st.text()), st.sets(st.text()), st.integers(0, 200))
def test_attack_68_whatever_is_given_each_way_is_faithful_to_what_it_gets(
    configs: dict[str, str], sensitive: set[str], room: int
) -> None:
    try:
        delivery = plan(configs, sensitive=sensitive, room=room)
    except UndeliverableValueError:
        return

    assert all(survives_command(key, value) for key, value in delivery.plain.items())
    assert size(delivery.plain) <= room
    others = {key: value for key, value in delivery.private.items() if key not in {*sensitive, *PATTERN_KEYS}}
    assert all(survives_file(key, value) for key, value in others.items())


def test_what_stood_in_a_file_stays_in_one() -> None:
    delivery = plan({"spark.a": "1", "spark.b": "2"}, sensitive=(), filed={"spark.b"})

    assert delivery.plain == {"spark.a": "1"}
    assert delivery.private == {"spark.b": "2"}


def test_attack_31_the_pattern_is_widened_in_the_file_by_keys_that_need_it() -> None:
    delivery = plan({"spark.a": CANARY, "spark.b.password": CANARY}, sensitive=["spark.a", "spark.b.password"])

    assert delivery.private[KEY] == f"^spark[.]a$|{DEFAULT_PATTERN}"


def test_attack_31_the_users_own_pattern_leaves_the_command_and_still_counts() -> None:
    delivery = plan({"spark.a": CANARY, KEY: "theirs"}, sensitive=["spark.a"])

    assert delivery.private[KEY] == "^spark[.]a$|theirs"
    assert KEY not in delivery.plain


def test_options_of_data_sources_are_hidden_too_and_the_users_own_pattern_still_counts() -> None:
    key = "spark.sql.redaction.options.regex"

    delivery = plan({"spark.a": CANARY, key: "theirs"}, sensitive=["spark.a"])

    assert delivery.private[key].endswith("|theirs")
    assert key not in delivery.plain


def test_the_users_own_pattern_is_left_alone_where_nothing_is_sensitive() -> None:
    assert plan({KEY: "theirs"}, sensitive=()).plain == {KEY: "theirs"}


def test_a_name_that_is_no_key_is_hidden_too() -> None:
    hidden = f"^sun[.]java[.]command$|{DEFAULT_PATTERN}"

    assert plan({}, sensitive=["sun.java.command"]).private == {**PATTERNS, KEY: hidden}


def test_attack_12_all_values_that_would_change_are_reported_at_once() -> None:
    configs = {"spark.a": f" {CANARY}", "b": CANARY, "spark.hadoop.c": f"{CANARY}${{user.name}}", "spark.d": CANARY}

    with pytest.raises(UndeliverableValueError) as error:
        plan(configs, sensitive=configs)

    assert [problem.partition(":")[0] for problem in error.value.problems] == ["spark.a", "b", "spark.hadoop.c"]
    assert CANARY not in str(error.value)
    assert error.value.__context__ is None


def test_what_the_author_wrote_out_is_spark_s_to_expand() -> None:
    text = "${env.AWS_SECRET}"

    delivery = plan({"spark.hadoop.k": text}, sensitive=["spark.hadoop.k"], written={"spark.hadoop.k": text})

    assert delivery.private["spark.hadoop.k"] == text


def test_a_secret_written_out_in_a_file_is_read_as_spark_reads_the_file() -> None:
    configs = {"spark.password": "trailing blank ", "other.password": "x"}

    delivery = plan(configs, sensitive=configs, written=configs, filed=configs)

    assert delivery.private == {**configs, **PATTERNS}


def test_a_secret_written_out_elsewhere_must_not_change() -> None:
    configs = {"spark.password": "trailing blank "}

    with pytest.raises(UndeliverableValueError):
        plan(configs, sensitive=configs, written=configs)


def test_the_given_configuration_is_not_changed() -> None:
    configs = {"spark.a": CANARY}

    plan(configs, sensitive=["spark.a"])

    assert configs == {"spark.a": CANARY}


def test_attack_19_a_delivery_shows_no_value() -> None:
    delivery = plan({"spark.a": CANARY, "spark.b": CANARY}, sensitive=["spark.a"])

    assert CANARY not in f"{delivery} {delivery!r}"


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps])
def test_attack_30_a_delivery_does_not_leave_the_process(leave: Callable[[object], object]) -> None:
    with pytest.raises(TypeError) as error:
        leave(plan({"spark.a": CANARY}, sensitive=["spark.a"]))

    assert CANARY not in str(error.value)


keys = st.from_regex(r"spark\.[a-z.=: #!\n\\]{1,12}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: survives_file("spark.k", text))


@given(st.dictionaries(keys, values), st.data())
def test_every_key_travels_on_exactly_one_way(configs: dict[str, str], data: st.DataObject) -> None:
    sensitive = data.draw(st.sets(st.sampled_from(sorted(configs)))) if configs else set()

    delivery = plan(configs, sensitive=sensitive, written=configs)

    patterns = dict.fromkeys(PATTERN_KEYS, "")
    assert {**delivery.configs, **patterns} == {**configs, **patterns}
    assert not delivery.plain.keys() & delivery.private.keys()
    assert sensitive <= delivery.private.keys()


@given(st.dictionaries(keys, values))
def test_attack_38_a_value_in_the_file_makes_no_key(configs: dict[str, str]) -> None:
    private = plan(configs, sensitive=configs, written=configs).private

    entries = properties.parse(properties.dump(private), name="file")

    assert {entry.key: entry.value for entry in entries} == private
    assert len(entries) == len(private)
