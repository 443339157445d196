"""
How a value may be written down.

Used by the job that prints and by the search for what it printed. It shares nothing with the package, so that one
mistake does not hide in both, and it imports nothing but Python, so that a job may have a copy of it.
"""

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

IN_PART = "in part"
SINGLE, DOUBLE = "'", '"'

WIDTH = 20
"""Characters of a cell that ``DataFrame.show`` prints."""


def printed(value: str) -> Iterator[tuple[str, str]]:
    """Return name -> text for each way in which a job can print ``value``."""
    yield "raw", value
    yield "JSON", json.dumps(value, ensure_ascii=False)
    yield "JSON in ASCII", json.dumps(value)
    yield "repr", repr(value)
    yield "URL", f"https://h/?p={quote(value, safe='')}"
    yield "URL form", f"p={quote_plus(value)}&q"
    for offset in range(3):
        yield f"base64 at {offset}", base64.b64encode(b"u:"[:offset] + value.encode() + b":end").decode()
    yield "hex", value.encode().hex()
    yield "XML", f"<p>{_xml(value)}</p>"
    yield "HTML", f'<p title="{html.escape(value)}">'
    yield "shell", f"export P={shlex.quote(value)}"
    yield "Java properties", f"p={_properties(value)}"
    yield "JDBC", f"jdbc:postgresql://h/db?user=u&password={value}&ssl=true"
    yield "bytes", repr(value.encode())
    yield "mapping's key", f"{ {value: 1} } {json.dumps({value: 1})}"
    yield "cut off", f"|{_cut_off(value)}|"
    yield "LANG=C", _in_ascii(value)
    yield "UTF-8 as Latin-1", value.encode().decode("latin-1")
    yield "Gson", f'{{"p":"{_gson(value)}"}}'
    yield "CSV", f'1,"{value.replace(DOUBLE, DOUBLE * 2)}",2'
    yield "SQL", f"select '{value.replace(SINGLE, SINGLE * 2)}'"
    yield "regular expression", re.escape(value)
    yield "hex in pairs", f"{value.encode().hex(':')} {value.encode().hex(' ')}"
    yield "coloured", _coloured(value)
    yield IN_PART, f"no viable alternative at input '{value[: len(value) // 2]}'"


def searched(value: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each form in which ``value`` can be found; of equal forms, the first one wins."""
    yield "raw", value.encode()
    yield "JSON", json.dumps(value, ensure_ascii=False)[1:-1].encode()
    yield "JSON in ASCII", json.dumps(value)[1:-1].encode()
    yield "repr", repr(value)[1:-1].encode()
    yield from (("URL", text.encode()) for text in _either_case(quote(value, safe=""), quote(value)))
    yield from (("URL form", text.encode()) for text in _either_case(quote_plus(value), quote_plus(value, safe="*")))
    for offset in range(3):
        yield from ((f"base64 at {offset}", text) for text in _base64(value.encode(), offset, (b"+/", b"-_")))
    yield from (("hex", digits.encode()) for digits in (value.encode().hex(), value.encode().hex().upper()))
    yield "XML", _xml(value).encode()
    yield from (("HTML", html.escape(value).replace("&#x27;", quoted).encode()) for quoted in ("&#x27;", "&#39;"))
    yield from (("shell", shlex.quote(text)[1:-1].encode()) for text in (value, f"{value} "[:-1]))
    yield "Java properties", _properties(value).encode()
    yield "JDBC", f"password={value}".encode()
    yield "bytes", repr(value.encode())[2:-1].encode()
    yield "mapping's key", f"{{{value!r}:".encode()
    yield "mapping's key", f"{{{json.dumps(value)}:".encode()
    yield from (("UTF-16", value.encode(code)) for code in ("utf-16-le", "utf-16-be"))
    yield "cut off", _cut_off(value).encode()
    yield "LANG=C", _in_ascii(value).encode()
    yield "UTF-8 as Latin-1", value.encode().decode("latin-1").encode()
    yield "Gson", _gson(value).encode()
    yield "CSV", value.replace(DOUBLE, DOUBLE * 2).encode()
    yield "SQL", value.replace(SINGLE, SINGLE * 2).encode()
    yield "regular expression", re.escape(value).encode()
    yield from (("hex in pairs", value.encode().hex(separator).encode()) for separator in ": ")
    yield "coloured", _coloured(value).encode()


def parts(value: str, shortest: int = 12) -> list[bytes]:
    """Return the sequences of letters and digits in ``value``, which no escaping changes."""
    return [part.encode() for part in re.findall(r"[A-Za-z0-9]+", value) if len(part) >= shortest]


def _cut_off(value: str) -> str:
    """Return what ``DataFrame.show`` prints of a long value."""
    return value[: WIDTH - 3] + "..."


def _in_ascii(value: str) -> str:
    """Return what a JVM prints where the locale has no other letters."""
    return value.encode("ascii", "replace").decode()


def _gson(value: str) -> str:
    """Return a string of JSON as Gson writes it by default."""
    body = json.dumps(value, ensure_ascii=False)[1:-1]
    return re.sub("[<>&=']", lambda mark: f"\\u{ord(mark[0]):04x}", body)


def _coloured(value: str) -> str:
    """Return what ``grep --color`` prints where a part of the value is what it was asked for."""
    third = len(value) // 3
    return f"{value[:third]}\x1b[01;31m\x1b[K{value[third:-third]}\x1b[m\x1b[K{value[-third:]}"


def _either_case(*quoted: str) -> Iterator[str]:
    for text in quoted:
        yield text
        yield re.sub("%..", lambda escape: escape[0].lower(), text)


def _base64(data: bytes, offset: int, alphabets: tuple[bytes, bytes]) -> Iterator[bytes]:
    """Return the letters that depend only on ``data`` if ``offset`` bytes precede it."""
    encoded = base64.b64encode(bytes(offset) + data + bytes(3))
    sure = encoded[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]
    yield sure
    yield sure.translate(bytes.maketrans(*alphabets))


def _xml(value: str) -> str:
    return html.escape(value, quote=False)


def _properties(value: str) -> str:
    escaped = re.sub(r"([=:#!\\])", r"\\\1", value).replace("\n", "\\n")
    return "".join(letter if letter < "\x7f" else f"\\u{ord(letter):04x}" for letter in escaped)
