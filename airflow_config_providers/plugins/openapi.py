"""The description of the REST interface for programs, in OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

PATH: Final = "/openapi.json"

_OPERATION: Final = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "op": {"enum": ["SET", "DELETE", "APPEND", "SUBTRACT"], "default": "SET"},
        "name": {"type": "string"},
        "value": {"type": ["string", "null"]},
    },
}


def _body(required: tuple[str, ...] = (), **fields: Any) -> Mapping[str, Any]:
    schema = {"type": "object", "required": list(required), "additionalProperties": False, "properties": fields}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_VALIDATE_ONLY: Final = {"type": "boolean", "default": False, "description": "Check everything, and change nothing."}
_IF_VERSION: Final = {"type": ["integer", "null"], "description": "Change only if the resource is at this version."}

_SETTING: Final = {"type": "string", "description": "KEY=VALUE, a key, a path of a file, or the name of a layer."}

BODIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "alter": _body(
        ("operations",),
        operations={"type": "array", "items": _OPERATION, "minItems": 1},
        validate_only=_VALIDATE_ONLY,
        if_version=_IF_VERSION,
    ),
    "rollback": _body(to_version={"type": ["integer", "null"]}, validate_only=_VALIDATE_ONLY, if_version=_IF_VERSION),
    "refresh": _body(),
    **dict.fromkeys(("why_not", "why_not_with_dry_run", "why_not_of_run"), _body(("setting",), setting=_SETTING)),
}
"""The bodies of requests, by the name of the function. They are read without FastAPI, whose errors quote them."""

_ROWS: Final = {"type": "array", "items": {"type": "object"}}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}


def _answer(description: str, **fields: Any) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object", "properties": fields}}}
    return {"description": description, "content": content}


ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: _answer(
        "The rows, with references in place of values, and notes for the reader.",
        resource={"type": "string"},
        rows=_ROWS,
        notes=_TEXTS,
    ),
    "default": _answer("The problems, without values.", kind={"type": "string"}, problems=_TEXTS, notes=_TEXTS),
}


def document(app: FastAPI, root_path: str) -> dict[str, Any]:
    """Return the description of ``app``, whose paths are below ``root_path``."""
    found = get_openapi(title=app.title, version=app.version, routes=app.routes, servers=[{"url": root_path}])
    for path in found["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)  # an answer to invalid input has the form of all other problems
    found.get("components", {}).pop("schemas", None)
    return found
