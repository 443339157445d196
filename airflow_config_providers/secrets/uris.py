"""Connections that are written as a URI with references."""

from __future__ import annotations

import json
import re
from secrets import token_hex
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from airflow_config_providers.core.nested import map_leaves
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.secrets.imports import importing
from airflow_config_providers.secrets.shapes import object_text

_PARTS: Final = ("conn_type", "host", "login", "password", "schema", "port")
_AUTHORITY: Final = re.compile(
    r"([^:/?#]+://(?:[^:/?#@]+://)?(?:[^/?#]*@)?(?:\[[^]]*\]|[^/?#@:]*)):([a-z0-9]+)(?=[/?#]|$)"
)


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
    fields, extra = _parsed(conn_id, held)
    try:
        return {**map_leaves(fields, held.restored), "extra": map_leaves(extra, held.restored)}  # type: ignore[dict-item]  # a mapping stays one
    except RecursionError:
        pass
    raise ConfigException("A parameter of its URI is nested too deeply. Flatten it.")


class _HeldReferences:
    """A text whose references are replaced by placeholder words of lower-case letters and digits."""

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
    return {name: _decoded(value) for name, value in query.items()} if query else None


def _decoded(value: str) -> Any:
    """Return the value of a parameter of the URI, parsed if it is JSON, as in ``?verify=false``."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
