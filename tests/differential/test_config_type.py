"""Each type reads and writes what Kafka's reads and writes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.definition.config_type import ConfigType, convert_to_string, parse_type
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import ConfigException

cases = settings(max_examples=400, derandomize=True, deadline=None)

TYPES = [t for t in ConfigType if t is not ConfigType.CLASS]
BLANKS = st.text(alphabet="\x00\t\n\v\f\r\x1c\x1f \x85\xa0\u2003\u2028\u3000\ufeff", max_size=3)
CHARACTERS = st.characters(exclude_categories=["Cs"])
SIGNS = st.integers(-1, 1)
INTEGERS = st.one_of(
    st.integers().map(str),
    st.sampled_from([2**15, 2**31, 2**63])
    .flatmap(lambda n: st.integers(-n - 2, -n + 2) | st.integers(n - 2, n + 2))
    .map(str),
    st.text(alphabet="+-0129_ .\u0661\u0967\uff15\U0001d7cf\u00b2\u2167", max_size=6),
)
DOUBLES = st.one_of(
    st.floats().map(repr),
    st.floats().map(float.hex),
    st.text(alphabet="+-.0159eEdDfFpPxXaAnN_iI", max_size=10),
    st.from_regex(r"[+-]?(0[xX])?[0-9a-f]{0,4}\.?[0-9a-f]{0,3}([eEpP][+-]?[0-9]{1,4})?[fFdD]?", fullmatch=True),
    st.sampled_from(["NaN", "-NaN", "Infinity", "+Infinity", "nan", "inf", "0x1p-1080", "1e400", "4.9e-325"]),
)
OTHER = st.one_of(
    st.text(alphabet=CHARACTERS, max_size=12),
    st.text(alphabet=", \t\x0b\x1c\xa0ab", max_size=12),
    st.sampled_from(["true", "TRUE", "fal\u017fe", "FAL\u017fE", "tr\xfce", "\u0131", "false\x00", "yes", "on", "1"]),
)
TEXTS = st.tuples(BLANKS, st.one_of(INTEGERS, DOUBLES, OTHER), BLANKS).map("".join)


@pytest.mark.parametrize("type_", TYPES, ids=lambda t: t.value)
@cases
@given(text=TEXTS)
@example(text="")
@example(text="a,\v\xa0,\x1c,b")
@example(text="0x1.fffffffffffff8p1023")
def test_same_value_or_refusal_of_text(kafka: Any, type_: ConfigType, text: str) -> None:
    expected, error = kafka.run(lambda: kafka.definition.parseType("k", text, kafka.type(type_.value)))

    assert _ours(type_, text) == (_comparable(expected), _reason(error, text))


# SHORT is not asked: Python has one type of whole numbers, and an int is no Short in Java.
@pytest.mark.parametrize("type_", [t for t in TYPES if t is not ConfigType.SHORT], ids=lambda t: t.value)
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="none"),
        pytest.param(True, id="boolean"),
        pytest.param(7, id="int"),
        pytest.param(1 << 40, id="long"),
        pytest.param(0.5, id="double"),
        pytest.param(["a", "b"], id="list"),
        pytest.param({"a": "b"}, id="map"),
    ],
)
def test_same_objects_are_taken(kafka: Any, type_: ConfigType, value: object) -> None:
    _, error = kafka.run(lambda: kafka.definition.parseType("k", value, kafka.type(type_.value)))

    assert (_ours(type_, value)[1] is None) == (error is None)


def test_same_class_or_refusal(kafka: Any) -> None:
    _, error = kafka.run(lambda: kafka.definition.parseType("k", "no.such.Thing", kafka.type("CLASS")))

    assert (_ours(ConfigType.CLASS, "no.such.Thing")[1] is None) == (error is None)


@cases
@given(value=st.floats(allow_nan=False))
@example(value=1e7)
@example(value=1e-3)
@example(value=9999999.999999998)
def test_same_notation_of_a_double(kafka: Any, value: float) -> None:
    theirs = kafka.definition.convertToString(value, kafka.type("DOUBLE"))
    ours = convert_to_string(value, ConfigType.DOUBLE)

    # Before Java 19 some doubles get more digits than they need, so what counts is the value and the notation.
    assert (float(ours), "E" in ours) == (float(theirs), "E" in theirs)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        pytest.param(True, "BOOLEAN", id="boolean"),
        pytest.param(-7, "INT", id="int"),
        pytest.param(math.nan, "DOUBLE", id="nan"),
        pytest.param(-math.inf, "DOUBLE", id="infinity"),
        pytest.param(1.5e300, "DOUBLE", id="great"),
        pytest.param(-1e-5, "DOUBLE", id="small"),
        pytest.param(["a,b", ""], "LIST", id="list"),
        pytest.param([], "LIST", id="empty-list"),
        pytest.param(None, "STRING", id="none"),
    ],
)
def test_same_text_of_a_value(kafka: Any, value: object, name: str) -> None:
    assert convert_to_string(value, ConfigType(name)) == kafka.definition.convertToString(value, kafka.type(name))


def _ours(type_: ConfigType, value: object) -> tuple[object, str | None]:
    try:
        return _comparable(parse_type("k", value, type_)), None
    except ConfigException as error:
        return None, str(error).removeprefix("Invalid value for configuration k: ").partition(". ")[0]


def _comparable(value: object) -> object:
    if isinstance(value, Password):
        return {"password": value.value}
    return repr(value) if isinstance(value, float) else value


def _reason(error: str | None, text: str) -> str | None:
    if error is None:
        return None
    prefix = f"org.apache.kafka.common.config.ConfigException: Invalid value {text} for configuration k: "
    return error.removeprefix(prefix).removesuffix(".")
