"""The definitions of connections in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from airflow_config_providers.core import document
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.secrets.shapes import Shape, object_text
from airflow_config_providers.secrets.uris import uri_fields

_TEXTS: Final = ("conn_type", "description", "host", "login", "password", "schema")
_EXTRAS: Final = ("extra", "extra_dejson")
_KNOWN: Final = frozenset({*_TEXTS, *_EXTRAS, "conn_id", "port", "team_name", "uri"})
_BESIDE_URI: Final = frozenset({"uri", "conn_id", "description", "team_name"})


def connection_shape(conn_id: str, definition: Any) -> Shape:
    """
    Return the shape of a connection's definition: a URI, or its fields as a mapping or as a JSON object.

    :raises ConfigException: the definition is wrong; the message says how
    """
    return Shape(_fields(conn_id, _as_mapping(definition)), _written)


def team_of(definition: Any) -> str | None:
    """Return the team that a definition names; None if it is for all teams."""
    fields = definition
    if isinstance(definition, str) and definition.lstrip().startswith("{"):
        try:
            fields = json.loads(definition)
        except (ValueError, RecursionError):
            return None
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
    problems = [
        f"'{printable(str(name))}' is not a field{nearest(str(name), _KNOWN) or '.'} Correct its name, or move it to "
        f"extra."
        for name in written
        if name not in _KNOWN
    ]
    if "uri" in written and written.keys() - _BESIDE_URI:
        problems.append("It has both a URI and fields. Keep one of the two.")
    if all(name in written for name in _EXTRAS):
        problems.append("It has both extra and extra_dejson. Keep one of the two.")
    if written.get("conn_id", conn_id) != conn_id:
        problems.append(f"Its conn_id is '{printable(str(written['conn_id']))}'. Remove it, or set it to its name.")
    if problems:
        raise ConfigException(*problems)


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
