from __future__ import annotations

import base64
import html
import json
import math
import re
import shlex
import string
from html.entities import codepoint2name
from importlib.util import find_spec
from urllib.parse import quote, quote_plus, urlencode
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core import properties
from airflow_config_providers.core.reversal.encodings import (
    ENCODINGS,
    EVEN,
    Copy,
    decoded,
    dereferenced,
    forms,
    octets,
    spaced,
    uncoloured,
    unescaped,
)


def _upper(escape):
    return escape[0][:2] + escape[0][2:].upper()


def protobuf():
    return pytest.importorskip("google.protobuf.text_encoding")


def named(markup):
    return "".join(
        f"&{name};" if (name := codepoint2name.get(ord(mark))) and ord(mark) > 126 else mark for mark in markup
    )


def in_yaml(text, **options):
    return yaml.safe_dump({"k": text}, default_style='"', width=math.inf, **options)


def in_json(content):
    return json.dumps(content, ensure_ascii=False)


def of_yarn(text):
    """As Spark's ``escapeForShell`` does it, in the script that starts a container."""
    return "".join({"$": r"\$", '"': r"\"", "'": r"'\''"}.get(mark, mark) for mark in text)


VALUE = "Zq8 s3cr3t/é+'1\"=\\&<$%\n~x*"

TOOLS = [
    pytest.param(lambda text: text, id="plain"),
    pytest.param(lambda text: json.dumps({"k": text}, ensure_ascii=False), id="json"),
    pytest.param(lambda text: json.dumps({"k": text}), id="json-ascii"),
    pytest.param(lambda text: json.dumps(json.dumps({"k": text})), id="json-in-json-ascii"),
    pytest.param(lambda text: in_json(in_json({"k": text})), id="json-in-json"),
    pytest.param(lambda text: json.dumps(json.dumps(json.dumps({"k": text}))), id="json-three-times-ascii"),
    pytest.param(lambda text: in_json(in_json(in_json({"k": text}))), id="json-three-times"),
    pytest.param(lambda text: shlex.quote("'" + in_json({"k": text})), id="json-in-shell"),
    pytest.param(lambda text: in_json({"k": text}).replace("'", r"'\''"), id="json-in-shell-trace"),
    pytest.param(lambda text: re.sub(r'([$`"\\])', r"\\\1", in_json({"k": text})), id="json-in-shell-double-quotes"),
    pytest.param(lambda text: of_yarn(in_json({"k": text})), id="json-in-yarn"),
    pytest.param(lambda text: repr(json.dumps({"k": text})), id="json-in-repr"),
    pytest.param(lambda text: in_json({"k": text}).replace("\\", r"\\"), id="json-in-properties"),
    pytest.param(lambda text: in_json(repr([text])), id="repr-in-json"),
    pytest.param(lambda text: json.dumps(text).replace("/", r"\/"), id="json-slashes"),
    pytest.param(lambda text: re.sub(r"\\(?:\\|u....)", _upper, json.dumps(text)), id="json-upper-case"),
    pytest.param(lambda text: repr([text]), id="repr"),
    pytest.param(ascii, id="ascii"),
    pytest.param(lambda text: str(text.encode("utf-8", "surrogatepass")), id="str-of-bytes"),
    pytest.param(lambda text: quote(octets(text)), id="url-path"),
    pytest.param(lambda text: quote(octets(text), safe=""), id="url-component"),
    pytest.param(lambda text: quote_plus(octets(text)), id="url-form"),
    pytest.param(lambda text: urlencode({"password": octets(text)}), id="url-query"),
    pytest.param(lambda text: quote(octets(text), safe="!*'()"), id="url-javascript"),
    pytest.param(lambda text: quote(octets(text), safe="!*'();,/?:@&=+$#"), id="url-javascript-whole"),
    pytest.param(lambda text: quote_plus(octets(text), safe="*").replace("~", "%7E"), id="url-java"),
    pytest.param(lambda text: octets(text).hex(), id="hex"),
    pytest.param(lambda text: octets(text).hex().upper(), id="hex-upper-case"),
    pytest.param(lambda text: base64.b64encode(octets(text)).decode().rstrip("="), id="base64"),
    pytest.param(lambda text: base64.urlsafe_b64encode(octets(text)).decode().rstrip("="), id="base64-url"),
    pytest.param(html.escape, id="html"),
    pytest.param(lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"), id="html-jinja"),
    pytest.param(lambda text: named(html.escape(text)), id="html-named"),
    pytest.param(
        lambda text: named(html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")), id="html-php"
    ),
    pytest.param(xml_escape, id="xml"),
    pytest.param(lambda text: f'"{quoteattr(chr(39) + chr(34) + text)[7:-1]}"', id="xml-attribute"),
    pytest.param(lambda text: "'" + shlex.quote("'" + text)[6:], id="shell"),
    pytest.param(lambda text: "'" + text.replace("'", r"'\''") + "'", id="shell-trace"),
    pytest.param(lambda text: f"'-Dk={of_yarn(text)}'", id="yarn"),
    pytest.param(lambda text: properties.dump({"k": text}), id="java-properties"),
    pytest.param(lambda text: text.replace("%", "%%"), id="ini"),
    pytest.param(in_yaml, id="yaml"),
    pytest.param(lambda text: in_yaml(text, allow_unicode=True), id="yaml-unicode"),
    pytest.param(lambda text: protobuf().CEscape(text, as_utf8=True), id="protobuf"),
    pytest.param(lambda text: protobuf().CEscape(text, as_utf8=False), id="protobuf-ascii"),
]
HAS_PROTOBUF = find_spec("google") and find_spec("google.protobuf")
INSTALLED = [tool for tool in TOOLS if HAS_PROTOBUF or not tool.id.startswith("protobuf")]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_form_covers_the_whole_of_what_a_tool_writes(tool):
    written, around = octets(tool(VALUE)), octets(tool(""))

    assert any(written.replace(form, b"") == around for form in forms(VALUE))


@example(text="000\x08\x7f")
@example(text="00\\u\x1f\\u00ab")
@example(text="000\x01\xa0\xff\u0100\ufffd")
@example(text="000\uffff\U00010000\U0010ffff")
@settings(max_examples=3 * settings.default.max_examples)
@given(text=st.text(min_size=5))
def test_any_text_has_a_form_in_what_each_tool_writes(text):
    found = forms(text)  # for all tools, as this takes longer than to look for them

    assert [tool.id for tool in INSTALLED if not any(form in octets(tool.values[0](text)) for form in found)] == []


@given(before=st.binary(max_size=7), text=st.text(min_size=5), after=st.binary(max_size=7))
def test_base64_of_a_longer_text_holds_a_form_at_every_offset(before, text, after):
    encoded = base64.b64encode(before + octets(text) + after)

    assert any(form in encoded for form in forms(text))


@pytest.mark.parametrize("length", range(5, 12))
@pytest.mark.parametrize("offset", range(3))
def test_base64_leaves_one_mixed_character_at_either_end(length, offset):
    text = "Zq8-s3cr3t/val"[:length]
    encoded = base64.b64encode(b"x" * offset + text.encode() + b"yyy")
    touched = -(-(offset + length) * 8 // 6) - offset * 8 // 6

    assert max(len(form) for form in forms(text) if form in encoded) >= touched - 2


@given(text=st.text(min_size=5))
def test_forms_are_distinct_and_none_is_shorter_than_the_text(text):
    found = forms(text)

    assert len(found) == len(set(found))
    assert min(map(len, found)) >= len(text)


def test_the_plain_form_is_the_first():
    assert forms(VALUE)[0] == VALUE.encode()


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name not in EVEN])
def test_letters_digits_and_three_marks_stay_unchanged(name):
    text = string.ascii_letters + string.digits + "_.-"

    assert set(ENCODINGS[name](text)) <= {text}
    assert forms(text, (name,)) == [text.encode()]


@given(text=st.text(alphabet=string.ascii_letters + string.digits + "_.-", min_size=5))
def test_a_text_that_stays_unchanged_still_has_its_even_forms(text):
    assert forms(text) == list(dict.fromkeys([text.encode(), *forms(text, EVEN)]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(b"a\x1b[01;31m\x1b[Kb\x1b[m\x1b[Kc", b"abc", id="grep"),
        pytest.param(b"\x1b[38;2;1;2;3ma\x1b[0m", b"a", id="24-bit-colour"),
        pytest.param(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", b"ab", id="title-and-link"),
        pytest.param(b"\x1b(Ba\x1b=b\x1b7c", b"abc", id="other-sequences"),
        pytest.param(b"a\x1b[31", b"a\x1b[31", id="no-end"),
        pytest.param(b"no colours", b"no colours", id="nothing"),
    ],
)
def test_colours_are_taken_out(text, shown):
    assert uncoloured(text).data == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(rb"a\u003d\u0026\u003D", b"a=&=", id="gson"),
        pytest.param(rb"\u0022\u005c", rb"\"\\", id="quotes-as-json-has-them"),
        pytest.param(rb"\u00e9\u20ac", rb"\u00e9\u20ac", id="letters-stay-as-json-has-them"),
        pytest.param(rb"\x5a\xc3\xa9", "Zé".encode(), id="octets"),
        pytest.param(rb"a\-b\.c\/d\\\"", rb"a-b.c/d\\\"", id="marks"),
        pytest.param(rb"\n\t\1", rb"\n\t\1", id="others-stay"),
    ],
)
def test_escapes_are_what_they_stand_for(text, shown):
    assert unescaped(text).data == shown


@pytest.mark.parametrize(
    "text",
    [b"5a:71:38:2d:73", b"5A 71 38 2D 73", b"0x5a, 0x71, 0x38,0x2d 0x73", b"5a-71-38-2d-73", b"5a 71  38 2d 73"],
)
def test_octets_in_hexadecimal_are_decoded(text):
    (copy,) = decoded(b"is " + text + b".", 0, len(text) + 4)

    assert copy.data == b"Zq8-s"
    assert copy.range(0, 5) == (3, 3 + len(text))


@pytest.mark.parametrize(
    ("text", "content"),
    [
        pytest.param(b"5a71 382d 7333", b"Zq8-s3", id="twos"),
        pytest.param(b"5A71 382D 73", b"Zq8-s", id="an-incomplete-group"),
        pytest.param(b"5a71382d 73336372 3374", b"Zq8-s3cr3t", id="fours"),
    ],
)
def test_groups_of_octets_are_decoded(text, content):
    (copy,) = decoded(b"0000: " + text + b"  x", 0, len(text) + 9)

    assert copy.data == content
    assert copy.range(0, len(content)) == (6, 6 + len(text))


@pytest.mark.parametrize("text", [b"5a:71:38:2d", b"12:31:45", b"a5a:71:38:2d:73", b"5a 71 xx 2d 73 74 75"])
def test_few_octets_are_left_alone(text):
    assert not list(decoded(text, 0, len(text)))


@given(st.binary(min_size=5, max_size=30), st.sampled_from([" ", ":"]), st.booleans())
def test_a_text_in_hexadecimal_has_what_is_looked_for(text, separator, is_upper):
    written = text.hex(separator)
    written = written.upper() if is_upper else written

    assert any(found.decode() in written for found in spaced([text]))


@given(st.binary(max_size=4), st.binary(min_size=6, max_size=30), st.sampled_from([2, 4]), st.booleans())
def test_a_text_in_groups_has_what_is_looked_for_wherever_they_begin(before, text, size, is_upper):
    written = (before + text).hex(" ", -size)
    written = written.upper() if is_upper else written

    assert any(found.decode() in written for found in spaced([text]))


def test_what_is_looked_for_starts_with_an_octet_that_ends_in_a_letter():
    lower = {b"5a 7", b"5a:7", b"2d 7", b"2d:7", b"71 38", b"38 2d"}

    assert spaced([b"Zq8-w"]) == lower | {found.upper() for found in lower}


def test_more_is_looked_for_of_a_text_in_which_no_octet_ends_in_a_letter():
    in_groups = {b"30 31", b"31 32", b"32 33", b"33 34"}

    assert spaced([b"012345"]) == in_groups | {b"30 31 32 33", b"30:31:32:33"}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param(rb"ab\u003dcd", [0, 1, 2, 8, 9, 10], id="in-the-middle"),
        pytest.param(rb"\x3da", [0, 4, 5], id="first"),
        pytest.param(rb"a\u003d", [0, 1, 7], id="last"),
    ],
)
def test_a_character_of_a_copy_has_the_place_at_which_it_begins_in_the_text(text, places):
    copy = unescaped(text)

    assert [copy.place(place) for place in range(len(copy.data) + 1)] == places


@given(st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=2)), max_size=8), st.data())
def test_a_place_in_a_copy_has_its_place_in_the_text(parts, data):
    pieces, size = [], 0
    for before, kept in parts:
        is_same = len(before) == len(kept)
        pieces.append((size, size + len(before), before if is_same else kept))
        size += len(before)
    copy = Copy(pieces)
    assume_end = len(copy.data)
    if not assume_end:
        return
    start = data.draw(st.integers(0, assume_end - 1))
    end = data.draw(st.integers(start + 1, assume_end))

    first, last = copy.range(start, end)

    assert 0 <= first <= last <= size
    assert copy.range(0, assume_end)[0] <= first
    assert last <= copy.range(0, assume_end)[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(b"a&#61;b&#x3D;c&#X3d;d", b"a=b=c=d", id="numbers"),
        pytest.param(b"&lt;&gt;&amp;&quot;&apos;", b"<>&\"'", id="names"),
        pytest.param(b"&#233;&#x1f600;", "é\N{GRINNING FACE}".encode(), id="letters"),
        pytest.param(b"&#55296;&#9999999;&#x;&#;&nbsp;a&b;&lt", b"&#55296;&#9999999;&#x;&#;&nbsp;a&b;&lt", id="none"),
    ],
)
def test_references_of_xml_are_what_they_stand_for(text, shown):
    assert dereferenced(text).data == shown
