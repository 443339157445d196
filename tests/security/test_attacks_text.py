"""Rows of the list of attacks that concern texts: what is logged, raised and shown."""

from __future__ import annotations

import base64
import html
import json
import pprint
import re
import reprlib
import shlex
import textwrap
import traceback
import tracemalloc
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape as xml_escape

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_config_providers.core import properties
from airflow_config_providers.core.reversal.reverse import COMMON_WORDS, UNCHECKED, ReverseTransformer, reverse_object
from airflow_config_providers.core.reversal.stream import StreamReverser, reverse_lines
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


@pytest.mark.slow
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
    """Return the length of the longest common substring."""
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


@settings(max_examples=3 * settings.default.max_examples)
@given(value=_SECRETS, before=st.text(max_size=6), after=st.text(max_size=6))
def test_attack_26_no_value_survives_in_any_encoding_and_any_text(value, before, after):
    reverser = _reverser(value)  # for all encodings, as it takes longer to make than to use
    shown = {name: reverser.reverse_text(encode(before + value + after)) for name, encode in ENCODERS.items()}

    assert [name for name, text in shown.items() if "${v:k0}" not in text] == []
    assert [name for name, text in shown.items() if in_full(name, value, text.replace("${v:k0}", ""))] == []


def in_full(encoding, value, text):
    return ENCODERS[encoding](value).strip("\"'") in text


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


class Failing(ReverseTransformer):
    @property
    def finder(self):
        raise RuntimeError("broken")


def test_attack_51_a_failure_inside_the_search_hides_the_text():
    assert Failing({}, {ConfigVariable("v", "", "k"): CANARY}).reverse_text(f"x {CANARY}") == UNCHECKED


def test_attack_51_a_failure_inside_a_stream_hides_the_line_and_not_the_next_ones():
    stream = StreamReverser()

    assert stream.feed(f"x {CANARY}\n".encode(), (Failing({}, {}),)) == f"{UNCHECKED}\n".encode()
    assert stream.feed(f"x {CANARY}\n".encode(), (_reverser(CANARY),)) == b"x ${v:k0}\n"


# --- 59: parts, and what programs write between characters -------------------------------------------

LONG = "Zq8-s3cr3t/val+1=Xk29&Qp7'm"
NAME = "Zq8 s3cr3t/é+1-ключ-Xk29"


@pytest.mark.parametrize("before", [9, 10, 64, 128])
@pytest.mark.parametrize("after", [0, 128])
def test_attack_59_a_value_with_blanks_before_the_line_end_that_breaks_it_is_hidden(before, after):
    lines = [f"is {LONG[:12]}{' ' * before}\n", f"{' ' * after}{LONG[12:]}.\n"]

    assert _reverser(LONG).reverse_text("".join(lines)) == "is ${v:k0}.\n"
    assert "".join(reverse_lines(lines, (_reverser(LONG),))) == "is ${v:k0}.\n"


def _shown_in_a_table(text, width=20):
    """Return ``text`` as ``df.show()`` prints it."""
    cell = text if len(text) <= width else f"{text[: width - 3]}..."
    return f"+{'-' * width}+\n|{cell:>{width}}|\n+{'-' * width}+"


def _with_a_short_repr(text, length):
    short = reprlib.Repr()
    short.maxstring = length
    return short.repr(text)


CUTS = [
    pytest.param(_shown_in_a_table, id="spark-show"),
    pytest.param(lambda text: _shown_in_a_table(f"password={text}"), id="spark-show-after-a-name"),
    pytest.param(lambda text: f"Project [{text[:10]}...", id="spark-plan"),
    pytest.param(lambda text: f"{text[:10]}\u2026", id="ellipsis"),
    pytest.param(lambda text: json.dumps(f"{text[:10]}\u2026"), id="ellipsis-in-json"),
    pytest.param(lambda text: textwrap.shorten(f"{text[:9]} and more words", 15), id="textwrap-shorten"),
    pytest.param(lambda text: _with_a_short_repr(text, 24), id="reprlib"),
    pytest.param(lambda text: f"...{text[-9:]}", id="the-end"),
    pytest.param(lambda text: _shown_in_a_table(text.encode().hex()), id="hex"),
    pytest.param(lambda text: _shown_in_a_table(base64.b64encode(text.encode()).decode()), id="base64"),
    pytest.param(lambda text: _shown_in_a_table(quote(text, safe="")), id="url"),
]


@pytest.mark.parametrize("cut", CUTS)
def test_attack_59_a_value_that_is_cut_off_is_hidden(cut):
    value = "Zq8-s3cr3t/val+1=Xk29+Qp7m"
    shown = _reverser(value).reverse_text(cut(value))

    assert "${v:k0}" in shown
    for form in (value, value.encode().hex(), base64.b64encode(value.encode()).decode(), quote(value, safe="")):
        assert _longest_common_run(form, shown.replace("${v:k0}", "\0")) < 8


@pytest.mark.parametrize("text", ["Zq8-s3c...", "Zq8-s3cr and so on", "s3cr3t/v..."])
def test_attack_59_few_characters_are_left_alone(text):
    assert _reverser(LONG).reverse_text(text) == text


@pytest.mark.parametrize("first", range(len(LONG) - 16 + 1))
@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(lambda text: text, id="plain"),
        pytest.param(lambda text: quote(text, safe=""), id="url"),
        pytest.param(lambda text: text.encode().hex(), id="hex"),
        pytest.param(json.dumps, id="json"),
    ],
)
def test_attack_59_a_part_of_a_value_is_hidden(encode, first):
    shown = _reverser(LONG).reverse_text(f"near '{encode(LONG[first : first + 16])}': syntax error")

    assert "${v:k0}" in shown
    assert _longest_common_run(LONG, shown.replace("${v:k0}", "\0")) < 8


@pytest.mark.parametrize("mark", ["\x1b[01;31m\x1b[K", "\x1b[m\x1b[K", "\x1b]8;;http://x\x1b\\", "\x1b(B", "\\x1b[31m"])
@pytest.mark.parametrize("place", [1, 5, 9, 20])
def test_attack_59_a_value_with_colours_in_it_is_hidden(mark, place):
    text = f"is {LONG[:place]}{mark}{LONG[place : place + 4]}{mark}{LONG[place + 4 :]} so\n"

    assert _reverser(LONG).reverse_text(text) == "is ${v:k0} so\n"
    assert "".join(reverse_lines([text], (_reverser(LONG),))) == "is ${v:k0} so\n"


def test_attack_59_colours_around_a_value_stay():
    text = f"\x1b[31m{LONG}\x1b[0m and \x1b[32mmore\x1b[0m"

    assert _reverser(LONG).reverse_text(text) == text.replace(LONG, "${v:k0}")


def test_attack_59_a_coloured_line_that_ends_as_a_value_begins_waits_for_the_next():
    lines = [f"\x1b[31m{LONG[:9]}\x1b[0m\n", f"\x1b[31m{LONG[9:]}\x1b[0m\n"]

    assert "".join(reverse_lines(lines, (_reverser(LONG),))) == "\x1b[31m${v:k0}\x1b[0m\n"


@pytest.mark.parametrize("mark", ["\x1b[m\x1b[K", "\x1b[0m"])
@pytest.mark.parametrize("rest", ["...", "\u2026", " [...]", "'..."])
def test_attack_59_a_coloured_value_that_is_cut_off_is_hidden(mark, rest):
    before, after = f"\x1b[01;31m\x1b[K{LONG[:9]}{mark}{rest}", f"...\x1b[01;31m\x1b[K{LONG[-9:]}{mark}"

    assert _reverser(LONG).reverse_text(before) == before.replace(LONG[:9], "${v:k0}")
    assert _reverser(LONG).reverse_text(after) == after.replace(LONG[-9:], "${v:k0}")
    assert "".join(reverse_lines([f"{before}\n"], (_reverser(LONG),))) == before.replace(LONG[:9], "${v:k0}") + "\n"


@pytest.mark.parametrize("place", range(1, 11))
def test_attack_59_a_cut_off_value_with_colours_in_it_is_hidden(place):
    text = f"is {LONG[:place]}\x1b[31m{LONG[place:10]}\x1b[0m...\n"

    assert _reverser(LONG).reverse_text(text) in {"is ${v:k0}\x1b[0m...\n", "is ${v:k0}\x1b[31m\x1b[0m...\n"}


def _gson(text, marks="<>&='", case=str.lower):
    for mark in marks:
        text = text.replace(mark, rf"\u{case(f'{ord(mark):04x}')}")
    return text


def _references(text, form):
    return "".join(character if character.isalnum() else form.format(ord(character)) for character in text)


WRITTEN = [
    pytest.param(_gson, id="gson"),
    pytest.param(lambda text: _gson(text, case=str.upper), id="gson-upper-case"),
    pytest.param(lambda text: _gson(text, "<>&"), id="go"),
    pytest.param(lambda text: _gson(json.dumps(text)[1:-1], "<>&'"), id="jinja-tojson"),
    pytest.param(lambda text: _gson(text, "+\"<>&'", str.upper), id="dotnet"),
    pytest.param(lambda text: _references(text, "&#{:d};"), id="html-decimal"),
    pytest.param(lambda text: _references(text, "&#x{:x};"), id="html-hexadecimal"),
    pytest.param(lambda text: _references(text, "&#x{:04X};"), id="html-hexadecimal-upper-case"),
    pytest.param(lambda text: html.escape(text).replace("=", "&#61;").replace("+", "&#43;"), id="html-and-more"),
    pytest.param(lambda text: xml_escape(text, {"'": "&apos;", '"': "&quot;", "/": "&#47;"}), id="xml-and-more"),
    pytest.param(lambda text: "".join(f"&#{ord(c)};" for c in text), id="html-all"),
    pytest.param(lambda text: html.escape(html.escape(text).replace("=", "&#61;")), id="html-twice"),
    pytest.param(lambda text: text.replace("'", "''"), id="sql"),
    pytest.param(lambda text: text.replace('"', '""'), id="csv"),
    pytest.param(re.escape, id="re-escape"),
    pytest.param(lambda text: text.encode().hex(" "), id="hex-blanks"),
    pytest.param(lambda text: text.encode().hex(":").upper(), id="hex-colons"),
    pytest.param(lambda text: text.encode().hex(" ", 1).replace(" 2", "  2", 1), id="hex-two-blanks"),
    pytest.param(lambda text: "".join(f"\\x{octet:02x}" for octet in text.encode()), id="hex-x"),
    pytest.param(lambda text: "".join(f"\\x{octet:02X}" for octet in text.encode()), id="hex-x-upper-case"),
    pytest.param(lambda text: ", ".join(f"0x{octet:02X}" for octet in text.encode()), id="hex-0x"),
]


@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize("value", [LONG, LONG + '"x', "Zq8s3cr3t", "47110815", LONG.lower()])
def test_attack_59_a_value_in_the_spelling_of_a_tool_is_hidden(write, value):
    assert _reverser(value).reverse_text(f"k: {write(value)}!") == "k: ${v:k0}!"


def _octets_as(charset):
    return lambda text: text.encode().decode(charset, "replace")


MOJIBAKE = [
    pytest.param(lambda text: text.encode("ascii", "replace").decode(), id="question-marks"),
    pytest.param(lambda text: text.encode("latin-1", "replace").decode("latin-1"), id="question-marks-latin-1"),
    pytest.param(lambda text: text.encode().decode("ascii", "replace"), id="replacement-characters"),
    pytest.param(lambda text: re.sub("[^ -~]+", lambda odd: "?" * len(odd[0].encode()), text), id="a-mark-an-octet"),
    pytest.param(lambda text: text.encode("latin-1", "replace").decode("utf-8", "replace"), id="latin-1-as-utf-8"),
    pytest.param(_octets_as("latin-1"), id="latin-1"),
    pytest.param(_octets_as("cp1252"), id="cp1252"),
]


@pytest.mark.parametrize("garble", MOJIBAKE)
def test_attack_59_a_value_that_lost_its_letters_is_hidden(garble):
    assert _reverser(NAME).reverse_text(f"k: {garble(NAME)}!") == "k: ${v:k0}!"


@pytest.mark.parametrize("value", ["пароль", "ключ-к-базе-7", "日本語日本語日本語", "é" * 12])
def test_attack_59_question_marks_alone_are_left_alone(value):
    text = f"why???????????????? {value.encode('ascii', 'replace').decode()}"

    assert _reverser(value).reverse_text(text) == text


REAL_PEM = (
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n-----END PRIVATE KEY-----\n"
)
VALUES_WITH_NAMES = [
    "jdbc:postgresql://db-prod.c9akciq32rtm.eu-west-1.rds.amazonaws.com:5432/app?user=svc_etl&sslmode=require",
    "jdbc:sqlserver://sql01.corp.example.com:1433;databaseName=warehouse;encrypt=true;trustServerCertificate=false",
    "postgresql+psycopg2://svc_etl:hunter2@db.example.com:5432/warehouse",
    "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    "arn:aws:iam::123456789012:role/spark-prod-writer",
    "s3a://warehouse-prod-eu1/tables/orders/2026/11/22",
    "spark-runner@analytics-prod-123456.iam.gserviceaccount.com",
    "/opt/spark/jars/hadoop-aws-3.4.1.jar:/opt/spark/jars/postgresql-42.7.3.jar",
    "correct-horse-battery-staple",
    "svc_airflow_production",
    "2026-11-22T10:18:00.123Z",
    REAL_PEM,
    json.dumps(
        {"type": "service_account", "private_key": REAL_PEM, "token_uri": "https://oauth2.example.com/v1/token"}
    ),
]
INNOCENT = [
    "Connecting to db-prod.c9akciq32rtm.eu-west-1.rds.amazonaws.com:5432...",
    "jdbc:postgresql://db-prod.c9akciq32rtm.eu-west-1.rds.amazonaws.com:5432/other?sslmode=require",
    "jdbc:postgresql://...",
    "jdbc:sqlserver://sql01.corp.example.com:1433;databaseName=...;trustServerCertificate=true",
    "postgresql+psycopg2://other@db.example.com:5432/warehouse_two",
    "at org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTable.schema(JDBCTable.scala:41)",
    "arn:aws:iam::123456789012:role/spark-prod-reader cannot be assumed",
    "Reading s3a://warehouse-prod-eu1/tables/orders/2026/11/21...",
    "other@analytics-prod-123456.iam.gserviceaccount.com",
    "/opt/spark/jars/hadoop-aws-3.4.1.jar was added",
    "correct-horse is a test, svc_airflow_prod...",
    "2026-11-22T10:18:00.456Z INFO all is well",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDother",
    '{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----...", "token_uri": "https://oauth2..."}',
]


@pytest.mark.parametrize("text", INNOCENT)
def test_attack_59_names_that_a_value_shares_with_a_log_are_left_alone(text):
    assert _reverser(*VALUES_WITH_NAMES).reverse_text(text) == text
