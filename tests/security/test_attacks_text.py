"""Rows of the list of attacks that concern texts: what is logged, raised and shown."""

from __future__ import annotations

import base64
import html
import json
import pprint
import re
import shlex
import textwrap
import traceback
import tracemalloc
from urllib.parse import quote, quote_plus

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core import properties
from airflow_config_providers.core.reverse import COMMON_WORDS, UNCHECKED, ReverseTransformer, reverse_object
from airflow_config_providers.core.stream import StreamReverser, reverse_lines
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.exceptions import reverse_exception

CANARY = "Zq8 s3cr3t/é+'1\"=\\&<$~x"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n\tAQEFAASCBKcwggSjAgEAAo\n-----END PRIVATE KEY-----\n"
JSON = json.dumps({"type": "service_account", "private_key": PEM, "id": "4711"}, indent=2)
_SECRETS = st.text(min_size=8, max_size=30).filter(
    lambda text: text.strip() == text and text.casefold() not in COMMON_WORDS
)


def _reverser(*values):
    return ReverseTransformer({}, {ConfigVariable("v", "", f"k{i}"): value for i, value in enumerate(values)})


# --- 19: exceptions ---------------------------------------------------------------------------------


def test_attack_19_an_exception_and_all_it_came_from_show_references():
    def submit(value):
        try:
            raise KeyError(value)
        except KeyError as error:
            error.add_note(f"note {value}")
            raise OSError(1, f"cannot start with {value}", f"/tmp/{value}") from error

    try:
        try:
            submit(CANARY)
        finally:
            raise RuntimeError({"conf": [CANARY]})
    except RuntimeError as caught:
        exception = caught

    reverse_exception(exception, _reverser(CANARY))

    shown = "".join(traceback.TracebackException.from_exception(exception, capture_locals=True).format())
    assert "s3cr3t" not in shown.replace(repr(CANARY), "")  # the local variable of this test, which still runs
    assert shown.count("${v:k0}") >= 4


def test_attack_19_local_variables_of_the_failed_frames_are_gone():
    def submit(value):
        command = ["spark-submit", f"--conf=x={value}"]
        raise OSError(len(command))

    try:
        submit("".join(["Zq8-", "s3cr3t"]))
    except OSError as caught:
        exception = caught

    reverse_exception(exception, _reverser("Zq8-s3cr3t"))

    shown = "".join(traceback.TracebackException.from_exception(exception, capture_locals=True).format())
    assert "Zq8-s3cr3t" not in shown


# --- 22: control characters -------------------------------------------------------------------------


@pytest.mark.parametrize("control", ["\r", "\x1b[2K", "\n2026-01-01 INFO all is well\n", "\0"], ids=repr)
def test_attack_22_a_value_cannot_write_lines_of_its_own_into_a_log(control):
    value = f"Zq8s3{control}cr3t1"

    assert _reverser(value).reverse_text(f"password is {value}!") == "password is ${v:k0}!"


def test_attack_22_a_reference_cannot_write_lines_of_its_own_into_a_log():
    reference = ConfigVariable("v", "a\n2026-01-01 INFO all is well", "\x1b[2Kk")
    reverser = ReverseTransformer({}, {reference: CANARY})

    for text in (CANARY, str(reference)):
        assert reverser.reverse_text(text) == "${v:a\\n2026-01-01 INFO all is well:\\x1b[2Kk}"


# --- 23: several lines ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [PEM, PEM.replace("\n", "\r\n"), JSON], ids=["pem", "pem-crlf", "json"])
def test_attack_23_a_value_of_several_lines_is_hidden_when_it_comes_line_by_line(value):
    reverser = _reverser(value)

    seen = "\n".join(reverser.reverse_text(f"{number} {line}") for number, line in enumerate(value.splitlines()))

    assert "MIIEvQIBADANBgkqhkiG9w0" not in seen
    assert "AQEFAASCBKcwggSjAgEAAo" not in seen


def test_attack_23_a_value_of_several_lines_is_hidden_as_one_when_it_comes_whole():
    assert _reverser(PEM).reverse_text(f"key={PEM}!") == "key=${v:k0}!"


@pytest.mark.parametrize("line", ["{", "}", "  },", "", "-----BEGIN PRIVATE KEY-----", '"id": [', "======"])
def test_attack_23_lines_that_say_nothing_are_left_alone(line):
    assert _reverser(PEM, f"{JSON}\n{line}\n======\n").reverse_text(line) == line


BROKEN = [
    pytest.param(lambda text: text, id="plain"),
    pytest.param(lambda text: json.dumps(text)[1:-1], id="json"),
    pytest.param(lambda text: repr(text)[1:-1], id="repr"),
    pytest.param(lambda text: quote(text, safe=""), id="url"),
    pytest.param(lambda text: base64.b64encode(f"user:{text}".encode()).decode(), id="base64"),
    pytest.param(lambda text: text.encode().hex(), id="hex"),
    pytest.param(lambda text: f"jdbc:postgresql://h/d?user=u&password={text}&ssl=1", id="jdbc"),
]


@pytest.mark.parametrize("encode", BROKEN)
@pytest.mark.parametrize("width", [12, 20, 76])
def test_attack_23_a_value_that_is_wrapped_is_hidden(encode, width):
    value = "Zq8-s3cr3t/val+1=" * 3
    encoded = encode(value)
    lines = [encoded[place : place + width] for place in range(0, len(encoded), width)]
    middle = encoded[len(encoded) // 2 - 8 : len(encoded) // 2 + 8]

    for shown in (
        _reverser(value).reverse_text("\n".join(lines)),
        _reverser(value).reverse_text("\n    ".join(lines)),
        "\n".join(reverse_lines(lines, (_reverser(value),))),
    ):
        assert "${v:k0}" in shown
        assert middle not in re.sub(r"\n *", "", shown)


@pytest.mark.parametrize("wrap", [textwrap.fill, pprint.pformat, lambda text: yaml.safe_dump({"k": text})])
def test_attack_23_a_value_that_a_printer_wraps_is_hidden(wrap):
    value = " ".join(f"w0rd{number}" for number in range(30))

    assert "w0rd1" not in _reverser(value).reverse_text(wrap(value))


@given(value=st.text("abcdefgh-/+=\u00e9", min_size=10, max_size=60), data=st.data())
def test_attack_23_a_value_is_hidden_wherever_it_is_broken(value, data):
    place = data.draw(st.integers(1, len(value) - 1))
    before, after = data.draw(st.text("xyz \n", max_size=9)), data.draw(st.text("xyz \n", max_size=9))
    line_break = data.draw(st.sampled_from(["\n", "\r\n", "\n  ", "'\n '"]))
    text = f"{before}{value[:place]}{line_break}{value[place:]}{after}"

    assert _reverser(value).reverse_text(text) == f"{before}${{v:k0}}{after}"


def test_attack_23_a_letter_before_a_quote_is_not_taken_for_that_of_octets():
    assert _reverser("b=========").reverse_text("\nb'\n '=========") == "\n${v:k0}"


# --- 24: overlap ------------------------------------------------------------------------------------

OVERLAPS = [
    pytest.param(["produ", "produ-9x77"], "produ-9x77", id="prefix"),
    pytest.param(["produ-9x77", "-9x77"], "produ-9x77", id="suffix"),
    pytest.param(["produ-9x77", "du-9x"], "produ-9x77", id="inside"),
    pytest.param(["produ-9x77", "9x77-tail1"], "produ-9x77-tail1", id="shared-tail"),
    pytest.param(["aaaaa", "aaaaaa"], "aaaaaaaaaaaaa", id="repeated"),
]


@pytest.mark.parametrize(("values", "text"), OVERLAPS)
def test_attack_24_no_part_of_overlapping_values_is_left_whatever_their_order(values, text):
    for ordered in (values, values[::-1]):
        shown = _reverser(*ordered).reverse_text(f"<{text}>")

        assert shown.removeprefix("<${v:k").removesuffix("}>") in ("0", "1")


def test_attack_24_the_longest_value_names_what_overlaps_whatever_their_order():
    short, long = ConfigVariable("v", "", "short"), ConfigVariable("v", "", "long")

    for values in ({short: "produ", long: "produ-9x77"}, {long: "produ-9x77", short: "produ"}):
        assert ReverseTransformer({}, values).reverse_text("produ-9x77") == "${v:long}"


@given(
    st.text("ab", min_size=5, max_size=12), st.text("ab", min_size=5, max_size=12), st.integers(0, 12), st.booleans()
)
def test_attack_24_no_part_of_any_two_values_that_overlap_is_left(one, other, shared, is_turned):
    common = next(size for size in range(min(shared, len(one), len(other)), -1, -1) if one.endswith(other[:size]))
    values = [other, one] if is_turned else [one, other]

    shown = _reverser(*values).reverse_text(f"<{one}{other[common:]}>")

    assert shown.replace("${v:k0}", "").replace("${v:k1}", "") == "<>"


@pytest.mark.parametrize("count", [10, 200])
def test_attack_24_values_that_end_in_each_other_take_no_more_memory_than_a_few(count):
    reverser = _reverser(*("a" * length for length in range(5, 5 + count)))
    reverser.reverse_text("a" * 100)

    tracemalloc.start()
    shown = reverser.reverse_text("a" * 50_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert "aaaaa" not in shown
    assert most < 100_000_000


# --- 25: short, common and empty values -------------------------------------------------------------


@pytest.mark.parametrize("value", ["", "a", "4711", "true", "    ", "      ", "password", "Localhost"])
def test_attack_25_short_common_and_empty_values_do_not_shred_texts(value):
    text = "a true password: 4711      on Localhost"

    assert _reverser(value).reverse_text(text) == text


@pytest.mark.parametrize("value", ["a", "4711", "true", "password", "Localhost"])
def test_attack_25_short_and_common_values_are_reversed_by_place(value):
    assert _reverser(value).reverse({"spark.copied": value}) == {"spark.copied": "${v:k0}"}


def test_attack_25_five_characters_are_searched_for():
    assert _reverser("47110").reverse_text("pin 47110") == "pin ${v:k0}"


def test_attack_25_common_words_are_few():
    assert len(COMMON_WORDS) < 25


# --- 26: encoded forms ------------------------------------------------------------------------------

ENCODED = [
    pytest.param(lambda text: text, id="plain"),
    pytest.param(json.dumps, id="json-ascii"),
    pytest.param(lambda text: json.dumps({"k": [text]}, ensure_ascii=False), id="json"),
    pytest.param(repr, id="repr"),
    pytest.param(lambda text: str(text.encode()), id="str-of-bytes"),
    pytest.param(quote, id="url-quote"),
    pytest.param(quote_plus, id="url-quote-plus"),
    pytest.param(lambda text: f"jdbc:postgresql://h/d?user=u&password={text}&ssl=1", id="jdbc"),
    pytest.param(lambda text: f"jdbc:postgresql://h/d?user=u&password={quote(text, safe='')}&ssl=1", id="jdbc-quoted"),
    pytest.param(lambda text: base64.b64encode(text.encode()).decode(), id="base64"),
    pytest.param(lambda text: base64.b64encode(f"u:{text}:x".encode()).decode(), id="base64-basic-auth"),
    pytest.param(lambda text: base64.urlsafe_b64encode(f"u{text}x".encode()).decode(), id="base64-url"),
    pytest.param(lambda text: text.encode().hex(), id="hex"),
    pytest.param(lambda text: text.encode().hex().upper(), id="hex-upper-case"),
    pytest.param(html.escape, id="html"),
    pytest.param(shlex.quote, id="shell"),
    pytest.param(lambda text: properties.dump({"k": text}), id="java-properties"),
    pytest.param(lambda text: {text: 1}, id="mapping-key"),
    pytest.param(lambda text: [{"k": (text.encode(),)}], id="nested-bytes"),
]


def _longest_common_run(one, other):
    """Give the length of the longest text that is in both."""
    return max(
        (end - start for start in range(len(one)) for end in range(start + 1, len(one) + 1) if one[start:end] in other),
        default=0,
    )


@pytest.mark.parametrize("encode", ENCODED)
def test_attack_26_every_encoded_form_is_hidden(encode):
    encoded = encode(CANARY)

    shown = reverse_object(encoded, (_reverser(CANARY),))

    assert "${v:k0}" in str(shown)
    assert _longest_common_run(CANARY, str(shown).replace("${v:k0}", "\0")) < 3
    assert "s3cr3t" not in str(shown)


@given(value=st.text(min_size=12, max_size=40).filter(str.strip), before=st.text(max_size=5), after=st.text(max_size=5))
def test_attack_26_any_value_inside_any_text_is_hidden_in_base64(value, before, after):
    encoded = base64.b64encode((before + value + after).encode()).decode()

    assert "${v:k0}" in _reverser(value).reverse_text(encoded)


ENCODERS = {
    "JSON": json.dumps,
    "repr": repr,
    "repr-of-octets": lambda text: str(text.encode()),
    "URL": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "hex": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "HTML": html.escape,
    "shell": shlex.quote,
    "properties": lambda text: properties.dump({"k": text}),
}


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS.keys())
@given(value=_SECRETS, before=st.text(max_size=6), after=st.text(max_size=6))
def test_attack_26_no_value_survives_in_any_encoding_and_any_text(encode, value, before, after):
    shown = _reverser(value).reverse_text(encode(before + value + after))

    assert "${v:k0}" in shown
    assert encode(value).strip("\"'") not in shown.replace("${v:k0}", "")


# --- 49: mapping keys -------------------------------------------------------------------------------


def test_attack_49_a_value_in_a_key_is_hidden():
    reverser = _reverser(CANARY)

    assert reverser.reverse({f"spark.{CANARY}": "1"}) == {"spark.${v:k0}": "1"}
    assert reverser.reverse({"spark.x": {CANARY: {CANARY: 1}}}) == {"spark.x": {"${v:k0}": {"${v:k0}": 1}}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({CANARY.encode(): 1}, {b"${v:k0}": 1}, id="octets"),
        pytest.param(f"/tmp/{CANARY}.csv", "/tmp/${v:k0}.csv", id="file-name"),
        pytest.param(f"https://h/{quote(CANARY, safe='')}?x=1", "https://h/${v:k0}?x=1", id="url"),
        pytest.param({"User-Agent": f"spark {CANARY}"}, {"User-Agent": "spark ${v:k0}"}, id="user-agent"),
    ],
)
def test_attack_49_a_value_in_a_name_is_hidden(value, expected):
    assert reverse_object(value, (_reverser(CANARY),)) == expected


# --- 51: odd objects --------------------------------------------------------------------------------


class Hostile:
    def __init__(self, error):
        self.error = error

    def __repr__(self):
        raise self.error


class HostileMapping(dict):
    def items(self):
        raise ValueError(CANARY)


class Opaque:
    def __repr__(self):
        return "<Opaque>"

    def __str__(self):
        return CANARY


def _circle():
    circle = {"k": CANARY}
    circle["circle"] = circle
    return circle


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(Hostile(ValueError(CANARY)), id="failing-repr"),
        pytest.param(Hostile(RecursionError()), id="endless-repr"),
        pytest.param(Hostile(MemoryError()), id="huge-repr"),
        pytest.param(HostileMapping(k=CANARY), id="failing-mapping"),
        pytest.param(_circle(), id="circle"),
    ],
)
def test_attack_51_what_cannot_be_checked_is_hidden(value):
    assert reverse_object(value, (_reverser(CANARY),)) == UNCHECKED


def test_attack_51_a_text_form_that_differs_from_the_repr_is_checked():
    assert reverse_object(Opaque(), (_reverser(CANARY),)) == "${v:k0}"


def test_attack_51_a_failure_inside_the_search_hides_the_text():
    class Failing(ReverseTransformer):
        def find(self, data):
            raise RuntimeError("broken")

    assert Failing({}, {ConfigVariable("v", "", "k"): CANARY}).reverse_text(f"x {CANARY}") == UNCHECKED


def test_attack_51_a_failure_inside_a_stream_hides_the_line_and_not_the_next_ones():
    class Failing(ReverseTransformer):
        def is_clear(self, data):
            raise RuntimeError("broken")

    stream = StreamReverser()

    assert stream.feed(f"x {CANARY}\n".encode(), (Failing({}, {}),)) == f"{UNCHECKED}\n".encode()
    assert stream.feed(f"x {CANARY}\n".encode(), (_reverser(CANARY),)) == b"x ${v:k0}\n"
