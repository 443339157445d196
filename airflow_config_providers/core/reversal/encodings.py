r"""
The forms that a text can have when a program prints, stores or sends it, and copies without what it inserted.

Each encoding yields the form of the text *inside* a longer text, so without surrounding quotes. Colours and the like
can be inserted anywhere, so no list of encoded forms can contain every case: they are searched for in a copy.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import octets
from airflow_config_providers.lazy import compiled_later

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.windows import Range

Encoding = Callable[[str], Iterator[str]]

ESCAPE: Final = b"\x1b"
ESCAPED: Final = (rb"\u00", rb"\x", *(b"\\%c" % mark for mark in rb" !#$%&'()*+,-./:;<=>?@[]^_`{|}~"))
PREFIX: Final = b"0x"
REFERENCES: Final = (b"&#", b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;")
MARKS: Final = (ESCAPE, *ESCAPED, *REFERENCES, PREFIX)
"""Byte strings in a text that make a copy necessary, in addition to those from ``spaced``."""

_SEPARATORS: Final = (" ", ":")
"""Separators between bytes in hexadecimal."""

_FEWEST: Final = 5
"""Fewest bytes in hexadecimal that are decoded."""

_GROUPS: Final = (2, 4)
"""The numbers of bytes between which ``xxd`` writes blanks, by default and as people set it."""

_sequence: Final = compiled_later(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^-~])"
)
"""What a terminal does not show (ECMA-48): colours and other styles, titles, links."""

_escaped: Final = compiled_later(rb"\\u00([0-7][0-9A-Fa-f])|\\x([0-9A-Fa-f]{2})|\\([ !#-/:-@\[\]-`{-~])")
_reference: Final = compiled_later(rb"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));")
_NAMED: Final = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_QUOTED: Final = {b'"': rb"\"", b"\\": rb"\\"}


def forms(text: str, encodings: Iterable[str] | None = None) -> list[bytes]:
    """
    Return each distinct form of ``text`` in ``encodings``, names from ``ENCODINGS``; None for all, plain first.

    If an encoding allows choices (quotes, case, characters to escape), there is a form for each choice that common
    tools make. Of nested encodings, only JSON inside a string, and Python inside JSON, have forms.
    """
    names = ENCODINGS if encodings is None else encodings
    if _UNCHANGED.issuperset(text):
        names = dict.fromkeys(name if name in EVEN else "plain" for name in names)
    elif _SIMPLE.issuperset(text):
        names = dict.fromkeys("plain" if name in _OF_QUOTES else name for name in names)
    return list(map(octets, dict.fromkeys(chain.from_iterable(ENCODINGS[name](text) for name in names))))


def _plain(text: str) -> Iterator[str]:
    yield text


_DELETE: Final = "\x7f"
"""The only character of ASCII that JSON in ASCII escapes, and other JSON does not."""


def _json(text: str) -> Iterator[str]:
    for body in _json_bodies(text):
        for form in (body, body.replace("/", r"\/")):
            yield form
            yield _upper_escapes(form)


def _json_bodies(text: str) -> Iterator[str]:
    as_it_is, in_ascii = _json_encoders()
    yield as_it_is(text)[1:-1]
    if not text.isascii() or _DELETE in text:
        yield in_ascii(text)[1:-1]


@cache
def _json_encoders() -> tuple[Callable[[str], str], Callable[[str], str]]:
    from json import JSONEncoder  # noqa: PLC0415 - slow to import, and few processes have a value that JSON changes

    return JSONEncoder(ensure_ascii=False).encode, JSONEncoder().encode


def _json_in_string(text: str) -> Iterator[str]:
    """
    Yield JSON inside a string of JSON, Python, a shell, or what escapes backslashes alone, and Python inside JSON.

    A line of a log that is JSON can be in the JSON of a container's log, so there is also a form of JSON three times.
    """
    if text.isascii() and text.isprintable() and _QUOTING.isdisjoint(text):
        yield text
        return
    for body in _json_bodies(text):
        doubled = body.replace("\\", r"\\")
        yield doubled
        yield doubled.replace("'", r"\'")
        yield (twice := doubled.replace('"', r"\""))
        yield twice.replace("\\", r"\\").replace('"', r"\"")
        yield from _quoted_for_shell(body)
    written = repr('"' + text)[2:-1]
    for body in (written, written.replace(r"\'", "'")):
        yield from _json_bodies(body)


def _python(text: str) -> Iterator[str]:
    for body in (repr('"' + text)[2:-1], ascii('"' + text)[2:-1], repr(b'"' + octets(text))[3:-1]):
        yield body
        yield body.replace(r"\'", "'")  # the form in double quotes; a double quote is never escaped


def _yaml(text: str) -> Iterator[str]:
    """Yield ``text`` in double quotes: in ASCII, and with the characters of 16 bits, or all, as they are."""
    body = text.translate(_YAML_ESCAPES)
    if body.isascii() and body.isprintable():
        yield body
        return
    for kept in ("", _OF_16_BITS, rf"{_OF_16_BITS}\U00010000-\U0010ffff"):
        yield re.sub(rf"[^ -~{kept}]", _yaml_escape, body)


def _yaml_escape(mark: re.Match[str]) -> str:
    code = ord(mark[0])
    if code == _HARD_BLANK:
        return r"\_"
    return rf"\x{code:02X}" if code < 0x100 else rf"\u{code:04X}" if code < 0x10000 else rf"\U{code:08X}"


def _url(text: str) -> Iterator[str]:
    data = octets(text)
    for digits in "Xx":
        escapes = _percent(digits)
        form = "".join(map(escapes.__getitem__, data))
        plus = form.replace("%20", "+")
        yield form
        yield form.replace(escapes[ord("/")], "/")  # in a path
        yield plus
        yield plus.replace(escapes[ord("*")], "*").replace("~", f"%{ord('~'):{digits}}")  # Java's
        yield (form := _unescaped(form, escapes, _UNESCAPED.intersection(text)))  # JavaScript's encodeURIComponent
        if digits == "X":
            yield _unescaped(form, escapes, _UNESCAPED_IN_URLS.intersection(text))  # and its encodeURI


def _unescaped(form: str, escapes: list[str], marks: Iterable[str]) -> str:
    for mark in marks:
        form = form.replace(escapes[ord(mark)], mark)
    return form


@cache
def _percent(digits: str) -> list[str]:
    """Return, for each byte, what represents it in a URL; ``digits`` is ``X`` for upper case, ``x`` for lower case."""
    return [chr(octet) if chr(octet) in _UNRESERVED else f"%{octet:02{digits}}" for octet in range(256)]


def _base64(text: str) -> Iterator[str]:
    """
    Yield the base64 characters that ``text`` determines, for each of the three alignments it can have.

    Characters that mix bits of ``text`` with adjacent bits are left out: at most one at either end.
    """
    data = octets(text)
    yield (form := b2a_base64(data, newline=False).decode().rstrip("="))
    yield form.replace("+", "-").replace("/", "_")
    for offset, mixed in ((0, 0), (1, 2), (2, 3)):
        form = b2a_base64(bytes(offset) + data, newline=False).decode()[mixed : (offset + len(data)) * 8 // 6]
        yield form
        yield form.replace("+", "-").replace("/", "_")


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
        if not attribute.isascii():
            yield attribute.translate(_named_references())


@cache
def _named_references() -> dict[int, str]:
    from html.entities import codepoint2name  # noqa: PLC0415 - few values have other characters than ASCII

    return {code: f"&{name};" for code, name in codepoint2name.items() if code > ord("~")}


def _shell(text: str) -> Iterator[str]:
    yield from _quoted_for_shell(text)
    yield text.translate(_IN_SHELL) if text.isascii() else re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)


def _quoted_for_shell(text: str) -> Iterator[str]:
    yield text.replace("'", "'\"'\"'")
    yield text.replace("'", r"'\''")
    yield text.translate(_IN_DOUBLE_QUOTES)
    yield text.translate(_FOR_YARN)


def _properties(text: str) -> Iterator[str]:
    body = text.translate(_PROPERTIES_ESCAPES)
    for form in (body, body.translate(_PROPERTIES_SEPARATORS)):
        yield form
        if not (form.isascii() and form.isprintable()):
            yield (escaped := re.sub(r"[^ -~]", _utf16_escapes, form))
            yield _upper_escapes(escaped)


def _quoted(text: str) -> Iterator[str]:
    """Yield ``text`` with its quotes or percent signs doubled, as in CSV, SQL and the files of ``configparser``."""
    for sign in "\"'%":
        yield text.replace(sign, 2 * sign)


def _lost(text: str) -> Iterator[str]:
    """
    Yield ``text`` as it looks after a program has used the wrong character set.

    A form with little left but replacement characters would match many texts, so it is left out.
    """
    if text.isascii():
        return
    data = octets(text)
    for form in (
        text.encode("ascii", "replace").decode(),
        text.encode("latin-1", "replace").decode("latin-1"),
        re.sub(r"[^\x00-\uffff]", "??", text).encode("ascii", "replace").decode(),
        data.decode("ascii", "replace"),
        data.decode("ascii", "replace").replace("\ufffd", "?"),
        text.encode("latin-1", "replace").decode("utf-8", "replace"),
    ):
        if sum(map(str.isalnum, form)) >= _FEWEST_KNOWN:  # or it would match many texts
            yield form
    yield data.decode("latin-1")
    yield data.decode("cp1252", "replace")
    yield "".join(bytes([octet]).decode("cp1252", "ignore") or chr(octet) for octet in data)  # as browsers do


def _c(text: str) -> Iterator[str]:
    body = text.translate(_C_ESCAPES)
    yield body
    if not body.isascii():
        yield "".join(chr(octet) if octet < 0x80 else rf"\{octet:03o}" for octet in octets(body))


_PRINTABLE: Final = frozenset(map(chr, range(ord(" "), 0x7F)))
_UNCHANGED: Final = frozenset("_.-").union(filter(str.isalnum, _PRINTABLE))
"""The characters that no encoding changes, except those of ``EVEN``."""

_QUOTING: Final = frozenset("\"'\\")
_SIMPLE: Final = _PRINTABLE - _QUOTING.union("<>&")
_OF_QUOTES: Final = ("JSON in a string", "Python", "XML and HTML", "YAML", "C and protobuf")
"""The encodings that change no text of ``_SIMPLE``."""

_UNRESERVED: Final = _UNCHANGED.union("~")  # RFC 3986
_UNESCAPED: Final = frozenset("!*'()")
_UNESCAPED_IN_URLS: Final = frozenset(";,/?:@&=+$#")


def _backslashed(marks: Iterable[str]) -> dict[int, str]:
    return str.maketrans({mark: "\\" + mark for mark in marks})


_FEWEST_KNOWN: Final = 5
"""The fewest letters and digits of a form in which other characters were lost."""
_IN_SHELL: Final = _backslashed({*map(chr, range(128))} - _UNCHANGED.union("@%+=:,/"))
_IN_DOUBLE_QUOTES: Final = _backslashed('$`"\\')
_FOR_YARN: Final = str.maketrans({"$": r"\$", '"': r"\"", "'": r"'\''"})
"""How Spark quotes an option of Java in the command of a container."""
_LINE_ENDS: Final = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_PROPERTIES_ESCAPES: Final = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f"})
_PROPERTIES_SEPARATORS: Final = _backslashed("=:#!")

_C_ESCAPES: Final = {
    **{code: rf"\{code:03o}" for code in (*range(0x20), 0x7F)},
    **str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "'": r"\'", '"': r"\""}),
}


_OF_16_BITS: Final = r"\xa0-\ud7ff\ue000-\ufffd"
_HARD_BLANK: Final = 0xA0
"""The code of the no-break space."""

_YAML_ESCAPES: Final = {
    **{code: "\\" + letter for code, letter in zip((0, *range(7, 14), 0x1B), "0abtnvfre", strict=True)},
    **str.maketrans({"\\": r"\\", '"': r"\"", "\x85": r"\N", "\u2028": r"\L", "\u2029": r"\P", "\ufeff": r"\uFEFF"}),
}


def _utf16_escapes(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(rf"\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _upper_escapes(text: str) -> str:
    if "\\u" not in text:
        return text
    return re.sub(r"\\(?:\\|u[0-9a-f]{4})", lambda escape: escape[0][:2] + escape[0][2:].upper(), text)


ENCODINGS: Final[Mapping[str, Encoding]] = {
    "plain": _plain,
    "JSON": _json,
    "JSON in a string": _json_in_string,
    "Python": _python,
    "URL": _url,
    "base64": _base64,
    "hex": _hex,
    "XML and HTML": _markup,
    "shell": _shell,
    "Java properties": _properties,
    "YAML": _yaml,
    "C and protobuf": _c,
    "CSV, SQL and INI": _quoted,
    "wrong character set": _lost,
}

EVEN: Final = ("base64", "hex")
"""The encodings in which each character encodes an equal share of the text."""


@cache
def _octets() -> re.Pattern[bytes]:
    octet = rb"[0-9A-Fa-f]{2}"
    one_by_one = rb"(?:0x)?%b(?:(?: {1,2}|:|-|, ?)(?:0x)?%b){%d,}" % (octet, octet, _FEWEST - 1)
    in_groups = (rb"(?:%b){%d}(?: (?:%b){%d})+(?: (?:%b){1,%d})?" % (octet, n, octet, n, octet, n) for n in _GROUPS)
    return re.compile(rb"(?<![0-9A-Za-z])(?:%b)(?![0-9A-Za-z])" % b"|".join((one_by_one, *in_groups)))


_OCTET: Final = re.compile(rb"(?:0x)?([0-9A-Fa-f]{2})")

Piece = tuple[int, int, bytes]
"""Start and end in the text, and the content of the copy; of the same length if unchanged."""


class Copy:
    """
    A copy of a text in which some parts are replaced.

    :param pieces: the parts of the copy, in order
    """

    __slots__ = ("_pieces", "_places", "data")

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = [piece for piece in pieces if piece[2]]
        self._places = [0, *accumulate(len(kept) for _, _, kept in self._pieces)]
        self.data = b"".join(kept for _, _, kept in self._pieces)

    def range(self, start: int, end: int) -> Range:
        """Return the range of the text from which the bytes from ``start`` to ``end`` of the copy were made."""
        first, last = bisect_right(self._places, start) - 1, bisect_right(self._places, end - 1) - 1
        begin, until, kept = self._pieces[first]
        if until - begin == len(kept):
            begin += start - self._places[first]
        origin, until, kept = self._pieces[last]
        if until - origin == len(kept):
            until = origin + end - self._places[last]
        return begin, until

    def place(self, place: int) -> int:
        """Return the position in the text for a position in the copy; its end is the end of the last piece."""
        return self.range(place, place + 1)[0] if place < len(self.data) else self.range(place - 1, place)[1]


def uncoloured(data: bytes) -> Copy:
    """Return ``data`` as a terminal shows it."""
    return Copy(_changed(data, _sequence(), lambda _: b""))


def unescaped(data: bytes) -> Copy:
    r"""
    Return ``data`` with the characters that ``\u0026``, ``\x26`` and ``\&`` represent.

    Double quotes and backslashes are escaped as in JSON, so that the copy contains a known form of every value.
    """
    return Copy(_changed(data, _escaped(), _character))


def dereferenced(data: bytes) -> Copy:
    """Return ``data`` with the characters that ``&#61;``, ``&#x3d;`` and ``&amp;`` represent in XML and HTML."""
    return Copy(_changed(data, _reference(), _referred))


def decoded(data: bytes, start: int, end: int) -> Iterator[Copy]:
    """Yield each text between ``start`` and ``end`` that is written in bytes, such as ``5a:71`` or ``0x5a, 0x71``."""
    for found in _octets().finditer(data, start, end):
        written = _OCTET.finditer(data, *found.span())
        yield Copy((octet.start(), octet.end(), bytes.fromhex(octet[1].decode())) for octet in written)


def spaced(texts: Iterable[bytes]) -> set[bytes]:
    """
    Return short strings, one of which each of ``texts`` contains if it is written in hexadecimal with blanks or colons.

    They start with a byte that ends in a letter, since few numbers in a log do; a text without one has a longer string.
    """
    pairs: set[tuple[int, int]] = set()
    longer: set[str] = set()
    grouped: set[str] = set()
    for text in texts:
        found = {(one, other >> 4) for one, other in pairwise(text) if one & 15 > 9}
        pairs |= found
        longer |= set() if found else {text[:4].hex(" ")}
        grouped.update(_between_groups(text))
    written = longer | {f"{one:02x} {other:x}" for one, other in pairs}
    marks = grouped | {one.replace(" ", separator) for one in written for separator in _SEPARATORS}
    return {case(mark).encode() for mark in marks for case in (str.lower, str.upper)}


def _between_groups(text: bytes) -> Iterator[str]:
    """Yield what is around a blank, for each place at which groups can begin and no pair of ``spaced`` is."""
    for size in _GROUPS:
        for first in range(1, min(size + 1, len(text))):
            ends = range(first, len(text), size)
            if not any(text[end - 1] & 15 > 9 for end in ends):
                yield text[first - 1 : first + 1].hex(" ")


def _changed(data: bytes, pattern: re.Pattern[bytes], change: Callable[[re.Match[bytes]], bytes]) -> Iterator[Piece]:
    place = 0
    for found in pattern.finditer(data):
        yield place, found.start(), data[place : found.start()]
        yield found.start(), found.end(), change(found)
        place = found.end()
    yield place, len(data), data[place:]


def _character(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        character = bytes.fromhex(escape[1].decode())
        return _QUOTED.get(character, character)
    return bytes.fromhex(escape[2].decode()) if escape[2] else escape[3]


def _referred(reference: re.Match[bytes]) -> bytes:
    if reference[3]:
        return _NAMED[reference[3]]
    try:
        return chr(int(reference[1]) if reference[1] else int(reference[2], 16)).encode()
    except ValueError:  # no character has this number
        return reference[0]
