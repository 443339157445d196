"""JSON documents as places where values stand."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.document import (
    MOST_VALUES,
    as_text,
    has_too_many_values,
    loaded,
    parse,
    parse_object,
    read_all,
    read_key,
    read_keys,
)
from airflow_config_providers.exceptions import ConfigException

DOCUMENT = {
    "password": "hunter2",
    "empty": "",
    "nothing": None,
    "port": 5432,
    "tls": True,
    "credentials": {"password": "nested", "a.b": "dotted"},
    "credentials.login": "exact",
    "users": [{"name": "ann"}, {"name": "bob"}],
    "shadow.x": None,
    "shadow": {"x": "below"},
    "key": b"\x00\xff",
    "": "no name",
}
NUMBERS = ["1e5", "1E+5", "1.10", "0", "-0", "0.0", "-0.0", "12345678901234567890123", "1" * 5000, "0.1e-9"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4)
"""For documents of several, which take as long to make."""


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("password", "hunter2", id="text as it is"),
        pytest.param("empty", "", id="an empty text is a value"),
        pytest.param("nothing", None, id="null is missing"),
        pytest.param("absent", None, id="absent"),
        pytest.param("port", "5432", id="number"),
        pytest.param("tls", "true", id="truth"),
        pytest.param("credentials.password", "nested", id="nested"),
        pytest.param("credentials.a.b", "dotted", id="exact below"),
        pytest.param("credentials.login", "exact", id="exact before nested"),
        pytest.param("shadow.x", None, id="an exact null hides what is nested"),
        pytest.param("credentials", '{"password":"nested","a.b":"dotted"}', id="object"),
        pytest.param("users.1.name", "bob", id="index"),
        pytest.param("users.2.name", None, id="index past the end"),
        pytest.param("users.-1.name", None, id="no negative index"),
        pytest.param("users.01.name", None, id="an index has no leading zero"),
        pytest.param("users.\u0661.name", None, id="an index has ASCII digits"),
        pytest.param("users.9999999999.name", None, id="huge index"),
        pytest.param("users", '[{"name":"ann"},{"name":"bob"}]', id="list"),
        pytest.param("password.x", None, id="nothing is below a text"),
        pytest.param("key", "AP8=", id="octets in base64"),
        pytest.param("", "no name", id="empty key"),
        pytest.param("credentials.", None, id="empty last part"),
        pytest.param(".", None, id="only a dot"),
    ],
)
def test_a_key_is_read(key: str, expected: str | None) -> None:
    assert read_key(DOCUMENT, key) == expected


def test_all_keys_at_the_top_are_read_and_null_is_left_out() -> None:
    assert read_all({"a": "x", "b": None, "c": [1], "d": {}}) == {"a": "x", "c": "[1]", "d": "{}"}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:25])
def test_a_number_stays_as_it_is_written(number: str) -> None:
    document = parse(f'{{"n": {number}, "list": [{number}]}}')
    assert read_all(document) == {"n": number, "list": f"[{number}]"}


def test_a_written_number_is_a_number() -> None:
    assert parse("[1.5, 7]") == [1.5, 7]


@pytest.mark.parametrize("text", ["0123", "yes", "1e", "NaN", "[Infinity]", "", "'x'", '{"a": 1,}', "hunter2"])
def test_what_is_no_json_is_told_without_the_text(text: str) -> None:
    with pytest.raises(ConfigException) as caught:
        parse(text)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000])
def test_deep_nesting_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(ConfigException):
        parse(text)


def test_nesting_too_deep_to_be_written_is_an_error_of_ours() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ConfigException, match="too deep"):
        as_text(value)


def test_what_json_does_not_have_is_told_by_its_type() -> None:
    with pytest.raises(ConfigException) as caught:
        as_text([object()])
    assert str(caught.value) == "A value cannot be written as text. Its type is object."
    assert caught.value.__context__ is None


@given(st.text())
def test_text_is_never_changed(text: str) -> None:
    assert as_text(text) == text
    assert read_key({"k": text}, "k") == text


@given(st.binary())
def test_octets_come_back(octets: bytes) -> None:
    assert base64.b64decode(as_text(octets), validate=True) == octets


@given(DOCUMENTS.filter(lambda value: not isinstance(value, str)))
def test_what_is_written_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(as_text(value)) == value


@given(DOCUMENTS)
def test_reading_and_writing_again_changes_nothing(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(value, str):
        assert as_text(parse(text)) == text


@given(st.lists(st.text(st.characters(exclude_characters=".")), min_size=1, max_size=6), st.text())
def test_every_path_leads_to_its_value(parts: list[str], value: str) -> None:
    document: object = value
    for part in reversed(parts):
        document = {part: document}
    assert isinstance(document, dict)
    assert read_key(document, ".".join(parts)) == value


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.data())
def test_a_key_is_text_or_missing(document: dict[str, object], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([*document, *data.draw(st.lists(st.text(), min_size=1, max_size=1))]))

    found = read_key(document, key)

    assert isinstance(found, str | None)
    assert key not in document or (found is None) is (document[key] is None)


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_all_keys_are_what_each_key_is(document: dict[str, object]) -> None:
    assert read_all(document) == {key: text for key in document if (text := read_key(document, key)) is not None}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param(["password", "users.0.name", "absent", "nothing"], ["password", "users.0.name"], id="some"),
        pytest.param([], [], id="none"),
    ],
)
def test_keys_that_are_missing_are_left_out(keys: list[str], expected: list[str]) -> None:
    assert read_keys(DOCUMENT, keys) == {key: read_key(DOCUMENT, key) for key in expected}


def test_without_keys_everything_at_the_top_is_read() -> None:
    assert read_keys(DOCUMENT, None) == read_all(DOCUMENT)


@pytest.mark.parametrize("text", ["", "{", "[1]", '"text"', "1", "null", '{"a": NaN}', "{'a': 1}", "[" * 100_000])
def test_what_is_no_object_is_none(text):
    assert parse_object(text) is None


def test_an_object_keeps_its_numbers_as_they_are_written():
    assert as_text(parse_object('{"a": 1.10}')) == '{"a":1.10}'


FULL = f"[{'1,' * (MOST_VALUES - 1)}1]"
"""The most values, with the list itself in place of its last item."""
MORE = f"{FULL[:-1]},1]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(FULL, False, id="the most"),
        pytest.param(MORE, True, id="one more"),
        pytest.param('{"a":",","b":' + FULL[:-5] + "]}", False, id="the most, and one in a string"),
        pytest.param(MORE.encode(), True, id="bytes"),
        pytest.param(rf'["\"",{MORE}]'.encode("utf-16"), True, id="bytes of another encoding"),
        pytest.param(b"\xff" * (MOST_VALUES + 1), False, id="bytes that are no text"),
        pytest.param("{" + '"a":[],' * MOST_VALUES + '"b":1}', True, id="objects"),
        pytest.param('["' + "[{," * MOST_VALUES + '"]', False, id="in a string"),
        pytest.param('"' + r",\"" * (MOST_VALUES + 1) + '"', False, id="behind an escaped quote"),
        pytest.param(r'"\\",' + FULL, True, id="behind an escaped backslash"),
        pytest.param('"' + "," * (MOST_VALUES + 1), False, id="in a string without an end"),
    ],
)
def test_values_are_counted_outside_of_strings(text: str | bytes, expected: bool) -> None:
    assert has_too_many_values(text) is expected


def test_a_document_of_too_many_values_is_refused() -> None:
    with pytest.raises(ConfigException, match="it has more than 1,000,000 values"):
        parse(MORE)
    assert loaded(MORE, "otherwise") == "otherwise"
