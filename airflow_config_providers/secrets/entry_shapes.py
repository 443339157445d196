"""The shape of a variable or connection in a file: its content with references, and how to write it for Airflow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

from airflow_config_providers.core import document
from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, refuse, translating
from airflow_config_providers.providers.airflow_secrets import unknown_fields
from airflow_config_providers.secrets.answering import importing

_T = TypeVar("_T")

_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")

_TEXTS: Final = ("conn_type", "description", "host", "login", "password", "schema")
_EXTRAS: Final = ("extra", "extra_dejson")
_KNOWN: Final = frozenset({*_TEXTS, *_EXTRAS, "conn_id", "port", "team_name", "uri"})
_BESIDE_URI: Final = frozenset({"uri", "conn_id", "description", "team_name"})
_PARTS: Final = ("conn_type", "host", "login", "password", "schema", "port")
_SCHEME: Final = re.compile(r"[^:/?#]+://")
_AUTHORITY: Final = re.compile(
    r"([^:/?#]+://(?:[^:/?#@]+://)?(?:[^/?#]*@)?(?:\[[^]]*\]|[^/?#@:]*)):([a-z0-9]+)(?=[/?#]|$)"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """
    An entry whose strings can be replaced one by one without changing its structure.

    :param content: strings, and collections of strings
    :param written: returns the text for Airflow
    """

    content: Any = field(repr=False)
    written: Callable[[Any], str]


class WrongEntryError(ConfigException):
    """An entry of a file is wrong, so that nothing can be made of it."""


def checked(make: Callable[[], _T]) -> _T:
    """
    Return what ``make`` makes of an entry.

    :raises WrongEntryError: the entry is wrong
    """
    with translating(ConfigException, lambda error: WrongEntryError(*error.problems)):
        return make()


def variable_shape(definition: Any) -> Shape:
    """
    Return the shape of a variable's definition. JSON, as a collection or as a string, keeps its structure.

    :raises ConfigException: a reference in JSON is not in quotes
    """
    if not isinstance(definition, str):
        return Shape(definition, document.as_text)
    if not scan(definition) or definition.lstrip()[:1] not in ("{", "[", '"'):
        return Shape(definition, str)
    try:
        return Shape(document.parse(definition), _json)
    except ConfigException:
        with_numbers = _REFERENCE.sub("0", definition)  # in place of references
        if document.loaded(with_numbers, _REFERENCE) is _REFERENCE:  # it is no JSON even so
            return Shape(definition, str)
    raise ConfigException(
        'Values could change the structure of this JSON. Put each reference in quotes, as in {"port": "${env:PORT}"}, '
        "and remove NaN and Infinity."
    )


def object_text(name: str, text: str) -> Mapping[str, Any]:
    """
    Return the JSON object in ``text``.

    :raises ConfigException: ``text`` is not a JSON object
    """
    content = document.parse(text)
    if not isinstance(content, Mapping):
        raise ConfigException(f"{name} is not a JSON object. Write one; its values may be references.")
    return content


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) if isinstance(content, str) else document.as_text(content)


def connection_shape(conn_id: str, definition: Any) -> Shape:
    """
    Return the shape of a connection's definition: a URI, or its fields as a mapping or as a JSON object.

    :raises ConfigException: the definition is wrong; the message says how
    """
    return Shape(_fields(conn_id, _as_mapping(definition)), _written)


def team_of(definition: Any) -> str | None:
    """Return the team that a definition names; None if it is for all teams."""
    is_json = isinstance(definition, str) and definition.lstrip().startswith("{")
    fields = document.loaded(definition) if is_json else definition
    team = fields.get("team_name") if isinstance(fields, Mapping) else None
    return None if team is None or team == "" else str(team)


def _as_mapping(definition: Any) -> Mapping[str, Any]:
    if isinstance(definition, Mapping):
        return definition
    if not isinstance(definition, str):
        raise ConfigException(f"It is {type(definition).__name__}, not a string or a mapping. Write a URI or fields.")
    text = definition.strip()
    return object_text("It", text) if text.startswith("{") else {"uri": text}


def _fields(conn_id: str, written: Mapping[str, Any]) -> dict[str, Any]:
    _refuse_unfit(conn_id, written)
    if "uri" in written:
        return {**uri_fields(conn_id, str(written["uri"])), "description": written.get("description")}
    extra = next((written[name] for name in _EXTRAS if written.get(name) not in (None, "")), None)
    texts = {name: _text(name, written.get(name)) for name in _TEXTS}
    return {**texts, "port": written.get("port"), "extra": _object(extra)}


def _refuse_unfit(conn_id: str, written: Mapping[str, Any]) -> None:
    problems = unknown_fields(written, _KNOWN)
    if "uri" in written and written.keys() - _BESIDE_URI:
        problems.append("It has both a URI and fields. Keep one of the two.")
    if all(name in written for name in _EXTRAS):
        problems.append("It has both extra and extra_dejson. Keep one of the two.")
    if written.get("conn_id", conn_id) != conn_id:
        problems.append(f"Its conn_id is '{printable(str(written['conn_id']))}'. Remove it, or set it to its name.")
    refuse(ConfigException, problems)


def _text(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigException(f"The field {name} is {type(value).__name__}. Write a string, in quotes.")
    return document.as_text(value)


def _object(extra: Any) -> Mapping[str, Any] | None:
    if extra is None or isinstance(extra, Mapping):
        return extra
    if isinstance(extra, str):
        return object_text("Its extra", extra)
    raise ConfigException(f"Its extra is {type(extra).__name__}. Write a JSON object.")


def _written(fields: Mapping[str, Any]) -> str:
    """Return the fields as JSON, from which Airflow makes a connection. There, a value stays one string."""
    extra = fields.get("extra")
    whole = {**fields, "port": _port(fields.get("port")), "extra": None if extra is None else document.as_text(extra)}
    return json.dumps({name: value for name, value in whole.items() if value is not None})


def _port(port: Any) -> int | None:
    if port is None or port == "" or (isinstance(port, int) and not isinstance(port, bool)):
        return port or None
    if isinstance(port, str) and port.isascii() and port.isdigit() and len(port) <= 5:
        return int(port)
    raise ConfigException("Its port is not a number. Correct it, or the value of its reference.")


def uri_fields(conn_id: str, uri: str) -> dict[str, Any]:
    """
    Return the fields of the connection that ``uri`` describes, as Airflow reads it, with their references.

    In the URI, a reference is plain, or percent-encoded like the part around it. ``/``, ``:`` and ``@`` in a reference
    or in its value do not separate parts of the URI.

    :return: field -> string, number or None; ``extra`` is a mapping
    :raises ConfigException: Airflow cannot read the URI; the message quotes nothing of it
    """
    if [(start, end) for start, end, *_ in scan(uri)] == [(0, len(uri))]:
        raise ConfigException(
            "The whole URI is a single reference, but a value is never split into a connection's fields. Write the URI "
            "or the fields, and use references inside them."
        )
    held = _HeldReferences(uri)
    if held.text != uri and not _SCHEME.match(held.text):  # Airflow would read the host as a type, and cut references
        raise ConfigException("Its URI does not begin with the connection's type, as in postgresql://. Add it.")
    fields, extra = _parsed(conn_id, held)
    with suppress(RecursionError):
        return {**map_leaves(fields, held.restored), "extra": map_leaves(extra, held.restored)}  # type: ignore[dict-item]  # a mapping stays one
    raise ConfigException("A parameter of its URI is nested too deeply. Flatten it.")


class _HeldReferences:
    """A string whose references are replaced by placeholder words of lower-case letters and digits."""

    def __init__(self, text: str) -> None:
        self._stem = f"reference{token_hex(12)}x"  # lower case, as host names become
        self._references: list[str] = []
        self._word = re.compile(rf"{self._stem}(\d+)z")
        self.text = self._hold(text)

    def _hold(self, text: str) -> str:
        pieces: list[str] = []
        position = 0
        for start, end, *_ in scan(text):
            pieces += text[position:start], f"{self._stem}{len(self._references)}z"
            self._references.append(text[start:end])
            position = end
        return "".join([*pieces, text[position:]])

    def restored(self, leaf: object) -> object:
        """Return ``leaf`` with the references in place of placeholders if it is a string."""
        if not isinstance(leaf, str):
            return leaf
        return self._word.sub(lambda found: self._references[int(found[1])], leaf)

    def port(self) -> str | None:
        """Remove the port from the text if it is a reference, and return its placeholder."""
        found = _AUTHORITY.match(self.text)
        if found is None or not self._word.fullmatch(found[2]):
            return None
        self.text = found[1] + self.text[found.end() :]
        return found[2]


def _parsed(conn_id: str, held: _HeldReferences) -> tuple[dict[str, Any], Any]:
    with importing():
        from airflow.sdk import Connection  # noqa: PLC0415 - slow to import; only where a connection is asked for

    port = held.port()
    try:
        parsed = Connection.from_uri(held.text, conn_id=conn_id)
        query = dict(parse_qsl(urlsplit(held.text).query, keep_blank_values=True))
    except Exception as error:  # noqa: BLE001 - any error can quote the URI
        reason = type(error).__name__
    else:
        fields = {part: getattr(parsed, part) for part in _PARTS}
        return {**fields, "port": port or parsed.port}, _extra(query, Connection.EXTRA_KEY)
    raise ConfigException(f"Airflow cannot read its URI ({reason}). Correct it.")


def _extra(query: dict[str, str], whole: str) -> Any:
    if whole in query:
        return object_text(f"{whole} in its URI", query[whole])
    # A parameter that is JSON is parsed, as in ?verify=false.
    return {name: document.loaded(value, value) for name, value in query.items()} if query else None
