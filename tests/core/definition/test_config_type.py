"""Texts and objects become typed values as Kafka makes them, or a refusal that does not quote them."""

from __future__ import annotations

import math
import traceback
from collections import OrderedDict
from secrets import token_hex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.definition.config_type import ConfigType, convert_to_string, parse_type
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.exceptions import ConfigException

BOOLEAN, STRING, INT, SHORT, LONG = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
    ConfigType.LONG,
)
DOUBLE, LIST, CLASS, PASSWORD = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.CLASS, ConfigType.PASSWORD


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        pytest.param(BOOLEAN, "true", True, id="boolean-true"),
        pytest.param(BOOLEAN, " FaLsE\n", False, id="boolean-any-case-trimmed"),
        pytest.param(BOOLEAN, "fal\u017fe", False, id="boolean-long-s-is-an-s"),
        pytest.param(BOOLEAN, True, True, id="boolean-object"),
        pytest.param(STRING, "\x00\t a b \x1f", "a b", id="string-trims-up-to-space"),
        pytest.param(STRING, "\u00a0a\u2003", "\u00a0a\u2003", id="string-keeps-other-blanks"),
        pytest.param(STRING, "", "", id="string-empty-is-a-value"),
        pytest.param(PASSWORD, " secret ", Password("secret"), id="password-trimmed"),
        pytest.param(PASSWORD, Password(" s "), Password(" s "), id="password-object-untouched"),
        pytest.param(INT, "+12", 12, id="int-plus"),
        pytest.param(INT, " -2147483648 ", -(2**31), id="int-smallest"),
        pytest.param(INT, "2147483647", 2**31 - 1, id="int-greatest"),
        pytest.param(INT, "\u0661\u0662", 12, id="int-arabic-digits"),
        pytest.param(INT, "0" * 100 + "7", 7, id="int-leading-zeros"),
        pytest.param(SHORT, "-32768", -32768, id="short-smallest"),
        pytest.param(LONG, "9223372036854775807", 2**63 - 1, id="long-greatest"),
        pytest.param(LONG, 5, 5, id="long-object"),
        pytest.param(DOUBLE, "1d", 1.0, id="double-suffix"),
        pytest.param(DOUBLE, ".5e1F", 5.0, id="double-no-leading-digit"),
        pytest.param(DOUBLE, "5.", 5.0, id="double-no-fraction"),
        pytest.param(DOUBLE, "-0x1.8p3D", -12.0, id="double-hexadecimal"),
        pytest.param(DOUBLE, "0x1p99999", math.inf, id="double-hexadecimal-too-great"),
        pytest.param(DOUBLE, "-0x1p99999", -math.inf, id="double-hexadecimal-too-small"),
        pytest.param(DOUBLE, "1e999", math.inf, id="double-too-great"),
        pytest.param(DOUBLE, "-Infinity", -math.inf, id="double-infinity"),
        pytest.param(DOUBLE, 3, 3.0, id="double-from-int"),
        pytest.param(LIST, "a , b,,c ,", ["a", "b", "", "c", ""], id="list-keeps-empty-parts"),
        pytest.param(LIST, "  ", [], id="list-empty"),
        pytest.param(LIST, "a\u00a0,b", ["a\u00a0", "b"], id="list-keeps-other-blanks"),
        pytest.param(LIST, ("a", "b"), ["a", "b"], id="list-object"),
        pytest.param(CLASS, "collections.OrderedDict", OrderedDict, id="class-path"),
        pytest.param(CLASS, OrderedDict, OrderedDict, id="class-object"),
    ],
)
def test_value_is_taken(type_: ConfigType, value: object, expected: object) -> None:
    parsed = parse_type("k", value, type_)

    assert (expected, type(expected)) == (parsed, type(parsed))


def test_nan_is_a_double() -> None:
    assert math.isnan(parse_type("k", "+NaN", DOUBLE))


@pytest.mark.parametrize("type_", list(ConfigType), ids=lambda t: t.value)
def test_none_stays_none(type_: ConfigType) -> None:
    assert parse_type("k", None, type_) is None


@pytest.mark.parametrize(
    ("type_", "value", "reason"),
    [
        pytest.param(BOOLEAN, "yes", "Expected value to be either true or false", id="boolean-yes"),
        pytest.param(BOOLEAN, 1, "Expected value to be either true or false", id="boolean-number"),
        pytest.param(STRING, 1, "Expected value to be a string, but it was of type int", id="string-number"),
        pytest.param(PASSWORD, 1, "Expected value to be a string, but it was of type int", id="password-number"),
        pytest.param(INT, "2147483648", "Not a number of type INT", id="int-too-great"),
        pytest.param(INT, "1_0", "Not a number of type INT", id="int-underscore"),
        pytest.param(INT, "1 0", "Not a number of type INT", id="int-blank-inside"),
        pytest.param(INT, "", "Not a number of type INT", id="int-empty"),
        pytest.param(INT, "+", "Not a number of type INT", id="int-sign-only"),
        pytest.param(INT, "+-1", "Not a number of type INT", id="int-two-signs"),
        pytest.param(INT, "0x10", "Not a number of type INT", id="int-hexadecimal"),
        pytest.param(INT, "\U0001d7cf", "Not a number of type INT", id="int-digit-beyond-basic-plane"),
        pytest.param(INT, "\u00b2", "Not a number of type INT", id="int-superscript"),
        pytest.param(INT, "9" * 10_000, "Not a number of type INT", id="int-very-long"),
        pytest.param(INT, True, "Expected value to be a 32-bit integer, but it was of type bool", id="int-boolean"),
        pytest.param(INT, 1.0, "Expected value to be a 32-bit integer, but it was of type float", id="int-float"),
        pytest.param(INT, 2**31, "Not a number of type INT", id="int-object-too-great"),
        pytest.param(SHORT, "32768", "Not a number of type SHORT", id="short-too-great"),
        pytest.param(LONG, "9223372036854775808", "Not a number of type LONG", id="long-too-great"),
        pytest.param(DOUBLE, "nan", "Not a number of type DOUBLE", id="double-python-nan"),
        pytest.param(DOUBLE, "inf", "Not a number of type DOUBLE", id="double-python-inf"),
        pytest.param(DOUBLE, "1_0", "Not a number of type DOUBLE", id="double-underscore"),
        pytest.param(DOUBLE, "0x1", "Not a number of type DOUBLE", id="double-hexadecimal-without-exponent"),
        pytest.param(DOUBLE, "\u0661", "Not a number of type DOUBLE", id="double-arabic-digit"),
        pytest.param(DOUBLE, 10**400, "Not a number of type DOUBLE", id="double-object-too-great"),
        pytest.param(DOUBLE, True, "Expected value to be a double, but it was of type bool", id="double-boolean"),
        pytest.param(LIST, 5, "Expected a comma separated list", id="list-number"),
        pytest.param(CLASS, "no.such.Thing", "Class could not be found", id="class-unknown"),
        pytest.param(CLASS, "os.path.join", "Class could not be found", id="class-is-a-function"),
        pytest.param(CLASS, "", "Class could not be found", id="class-empty"),
        pytest.param(CLASS, 5, "Expected a class or the dotted path of one", id="class-number"),
    ],
)
def test_value_is_refused(type_: ConfigType, value: object, reason: str) -> None:
    with pytest.raises(ConfigException, match=f"^Invalid value for configuration k: {reason}"):
        parse_type("k", value, type_)


@pytest.mark.parametrize("type_", [BOOLEAN, INT, SHORT, LONG, DOUBLE, CLASS], ids=lambda t: t.value)
def test_a_refusal_does_not_hold_the_value(type_: ConfigType) -> None:
    secret = f"x{token_hex()}.y"

    with pytest.raises(ConfigException) as caught:
        parse_type("k", secret, type_)

    error = caught.value
    assert secret not in "".join(traceback.format_exception(error)) + repr((error.args, error.__context__))


@pytest.mark.parametrize("type_", [SHORT, INT, LONG], ids=lambda t: t.value)
def test_difference_a_whole_number_in_range_has_each_integer_type(type_: ConfigType) -> None:
    assert parse_type("k", -32768, type_) == -32768


@pytest.mark.parametrize("fails", ["raise RuntimeError('at import')", "raise SystemExit(3)"], ids=["error", "end"])
def test_class_of_a_module_that_fails_to_import_is_refused(
    fails: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_module.py").write_text(fails)
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ConfigException, match="Class could not be found"):
        parse_type("k", "failing_module.Thing", CLASS)


def test_reading_a_list_of_blanks_takes_linear_time() -> None:
    assert parse_type("k", "a" + " " * 1_000_000 + "b", LIST) == ["a" + " " * 1_000_000 + "b"]


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        pytest.param(None, INT, None, id="none"),
        pytest.param(True, BOOLEAN, "true", id="boolean"),
        pytest.param(-5, INT, "-5", id="int"),
        pytest.param(0.0, DOUBLE, "0.0", id="zero"),
        pytest.param(-0.0, DOUBLE, "-0.0", id="minus-zero"),
        pytest.param(100.0, DOUBLE, "100.0", id="double"),
        pytest.param(1e7, DOUBLE, "1.0E7", id="double-great"),
        pytest.param(12345678.9, DOUBLE, "1.23456789E7", id="double-great-with-fraction"),
        pytest.param(1e-4, DOUBLE, "1.0E-4", id="double-small"),
        pytest.param(-5e-324, DOUBLE, "-5.0E-324", id="double-smallest"),
        pytest.param(math.nan, DOUBLE, "NaN", id="nan"),
        pytest.param(-math.inf, DOUBLE, "-Infinity", id="infinity"),
        pytest.param(["a,b", "c"], LIST, "a,b,c", id="list-without-escaping"),
        pytest.param(OrderedDict, CLASS, "collections.OrderedDict", id="class"),
        pytest.param(Password("secret"), PASSWORD, "[hidden]", id="password"),
    ],
)
def test_value_is_written(value: object, type_: ConfigType, text: str | None) -> None:
    assert text == convert_to_string(value, type_)


@given(st.floats(allow_nan=False))
def test_written_double_reads_back(value: float) -> None:
    assert value == parse_type("k", convert_to_string(value, DOUBLE), DOUBLE)


@given(st.integers(-(2**63), 2**63 - 1))
def test_written_long_reads_back(value: int) -> None:
    assert value == parse_type("k", convert_to_string(value, LONG), LONG)
