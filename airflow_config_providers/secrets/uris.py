"""Connections that are written as a URI, with references in it."""

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
    Give the fields of the connection that ``uri`` describes, as Airflow reads it, with the references in them.

    A reference stands in the URI as it is, or percent-encoded as the part around it. What it has of ``/``, ``:`` or
    ``@`` means nothing there, and neither does what its value has.

    :return: field -> text, number or None; ``extra`` is a mapping
    :raises ConfigException: Airflow cannot read it; nothing of it is said
    """
    if [(start, end) for start, end, *_ in scan(uri)] == [(0, len(uri))]:
        raise ConfigException(
            "It is a reference as a whole, and a value never becomes a connection's fields. Write the URI out, or the "
            "fields, and put references in their places."
        )
    held = _HeldReferences(uri)
    fields, extra = _parsed(conn_id, held)
    try:
        return {**map_leaves(fields, held.restored), "extra": map_leaves(extra, held.restored)}  # type: ignore[dict-item]  # a mapping stays one
    except RecursionError:
        pass
    raise ConfigException("A parameter of its URI has collections that are nested too deep. Write it flat.")


class _HeldReferences:
    """A text in which words of lower-case letters and digits stand in place of the references."""

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
        """Put the references back into ``leaf`` where it is a text."""
        if not isinstance(leaf, str):
            return leaf
        return self._word.sub(lambda found: self._references[int(found[1])], leaf)

    def port(self) -> str | None:
        """Take a reference that stands in place of the port out of the text, and give the word for it."""
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
    except Exception as error:  # noqa: BLE001 - whatever it raises, its text has the URI in it
        reason = type(error).__name__
    else:
        fields = {part: getattr(parsed, part) for part in _PARTS}
        return {**fields, "port": port or parsed.port}, _extra(query, Connection.EXTRA_KEY)
    raise ConfigException(f"It is no URI that Airflow can read ({reason}). Correct it.")


def _extra(query: dict[str, str], whole: str) -> Any:
    if whole in query:
        return object_text(f"{whole} in its URI", query[whole])
    return {name: _decoded(value) for name, value in query.items()} if query else None


def _decoded(value: str) -> Any:
    """Give what a parameter of the URI means: JSON where it is JSON, as in ``?verify=false``."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
