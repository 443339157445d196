r"""
The forms that a text takes when a program prints, stores or sends it.

Each encoding gives what stands for the text *inside* a longer text, so without the quotes around it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from airflow_config_providers.core.text import octets

Encoding = Callable[[str], Iterator[str]]


def forms(text: str, encodings: Iterable[str] | None = None) -> list[bytes]:
    """
    Give each distinct form of ``text`` in ``encodings``, names from ``ENCODINGS``; None for all, plain first.

    Where an encoding has a choice (which quotes, which case, which characters are escaped), each choice that
    common tools make is a form. Text that was encoded twice over has no form here.
    """
    names = ENCODINGS if encodings is None else encodings
    return [octets(form) for form in dict.fromkeys(form for name in names for form in ENCODINGS[name](text))]


def _plain(text: str) -> Iterator[str]:
    yield text


def _json(text: str) -> Iterator[str]:
    for ensure_ascii in (False, True):
        body = json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]
        for form in (body, body.replace("/", r"\/")):
            yield form
            yield _upper_escapes(form)


def _python(text: str) -> Iterator[str]:
    for body in (repr('"' + text)[2:-1], ascii('"' + text)[2:-1], repr(b'"' + octets(text))[3:-1]):
        yield body
        yield body.replace(r"\'", "'")  # as it stands between double quotes; a double quote is never escaped


def _url(text: str) -> Iterator[str]:
    strict = quote(octets(text), safe="")
    for form, case in ((strict, str.upper), (re.sub("%..", lambda escape: escape[0].lower(), strict), str.lower)):
        plus = form.replace("%20", "+")
        yield form
        yield form.replace(case("%2F"), "/")  # in a path
        yield plus
        yield plus.replace(case("%2A"), "*").replace("~", case("%7E"))  # Java's URLEncoder
        yield _unescaped(form, case)  # JavaScript's encodeURIComponent


def _unescaped(form: str, case: Callable[[str], str]) -> str:
    for mark in "!*'()":
        form = form.replace(case(f"%{ord(mark):02X}"), mark)
    return form


def _base64(text: str) -> Iterator[str]:
    """
    Give the base64 characters that ``text`` decides, for each of the three places where it can begin.

    A character that mixes bits of ``text`` with bits of its neighbour is left out: at most one at either end.
    """
    data = octets(text)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(data).decode().rstrip("=")
        for offset, mixed in ((0, 0), (1, 2), (2, 3)):
            yield encode(bytes(offset) + data).decode()[mixed : (offset + len(data)) * 8 // 6]


def _hex(text: str) -> Iterator[str]:
    digits = octets(text).hex()
    yield digits
    yield digits.upper()


def _markup(text: str) -> Iterator[str]:
    body = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield body
    for double, single in (("&quot;", "'"), ("&quot;", "&#x27;"), ("&quot;", "&apos;"), ("&#34;", "&#39;")):
        yield (attribute := body.replace('"', double).replace("'", single))
        if not attribute.isprintable():
            yield attribute.translate(_LINE_ENDS)


def _shell(text: str) -> Iterator[str]:
    yield text.replace("'", "'\"'\"'")
    yield text.replace("'", r"'\''")
    yield re.sub(r'([$`"\\])', r"\\\1", text)
    yield re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)


def _properties(text: str) -> Iterator[str]:
    body = text.translate(_PROPERTIES_ESCAPES)
    for form in (body, body.translate(_PROPERTIES_SEPARATORS)):
        yield form
        yield (escaped := re.sub(r"[^ -~]", _utf16_escapes, form))
        yield _upper_escapes(escaped)


def _c(text: str) -> Iterator[str]:
    body = text.translate(_C_ESCAPES)
    yield body
    yield "".join(chr(octet) if octet < 0x80 else rf"\{octet:03o}" for octet in octets(body))


_LINE_ENDS: Final = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_PROPERTIES_ESCAPES: Final = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f"})
_PROPERTIES_SEPARATORS: Final = str.maketrans({separator: "\\" + separator for separator in "=:#!"})

_C_ESCAPES: Final = {
    **{code: rf"\{code:03o}" for code in (*range(0x20), 0x7F)},
    **str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "'": r"\'", '"': r"\""}),
}


def _utf16_escapes(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(rf"\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _upper_escapes(text: str) -> str:
    return re.sub(r"\\u[0-9a-f]{4}", lambda escape: r"\u" + escape[0][2:].upper(), text)


ENCODINGS: Final[Mapping[str, Encoding]] = {
    "plain": _plain,
    "JSON": _json,
    "Python": _python,
    "URL": _url,
    "base64": _base64,
    "hex": _hex,
    "XML and HTML": _markup,
    "shell": _shell,
    "Java properties": _properties,
    "C and protobuf": _c,
}
