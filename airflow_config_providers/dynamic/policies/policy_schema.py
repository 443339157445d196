"""A JSON schema of a file of policies, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow_config_providers.core.alter import ResourceType
from airflow_config_providers.core.entry_points import registered
from airflow_config_providers.core.policy import Moment
from airflow_config_providers.dynamic.policies.classes import ENTRY_POINT_GROUP, READY

Schema = dict[str, Any]

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_TEXT: Final = {"type": "string", "minLength": 1}


def _texts(*, least: int = 0) -> Schema:
    """Return the schema of one string or a list of ``least`` strings and more."""
    return {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": least}]}


def _object(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": properties,
    }


def _mappings(item: Schema, *, most: int | None = None) -> Schema:
    """Return the schema of one or several mappings."""
    limit = {} if most is None else {"maxItems": most}
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1, **limit}]}


_LIMIT: Final = {"type": ["integer", "number", "string"]}
_FLAG: Final = {"type": "boolean"}
_CONDITION: Final = {"type": "object", "minProperties": 1}
_REFERENCES: Final = {name: _texts(least=1) for name in ("providers", "paths", "keys", "dags")}
_KEYS: Final = {"keys": _texts(least=1)}
_EXCEPT: Final = {"except": _texts()}

_PARAMS: Final[Mapping[str, Schema]] = {
    "allowed_references": _object({"allow": _mappings(_object(_REFERENCES, ("providers",)))}, ("allow",)),
    "bounds": {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            **_object({"min": _LIMIT, "max": _LIMIT, "unit": _TEXT, "references": _FLAG}),
            "anyOf": [{"required": ["min"]}, {"required": ["max"]}],
        },
    },
    "cel": _object({"expression": _TEXT, "message": {"type": "string"}}, ("expression",)),
    "code_loading_keys": _object({"also": _texts(), **_EXCEPT}),
    "dynamic_allocation": _object({}),
    "forbidden_keys": _object({**_KEYS, **_EXCEPT}, ("keys",)),
    "if_then": _object({"if": _mappings(_CONDITION, most=1), "then": _mappings(_CONDITION)}, ("if", "then")),
    "immutable_keys": _object({**_KEYS, **_EXCEPT, "deletable": _FLAG}, ("keys",)),
    "references_only": _object({**_KEYS, **_EXCEPT}),
    "required_keys": _object(_KEYS, ("keys",)),
}
"""Ready policy -> its parameters."""


def _params_of(name: str, params: Schema) -> Schema:
    """Return the condition that a policy of the class ``name`` has its parameters."""
    required = ["params"] if params.get("required") or params.get("minProperties") else []
    return {
        "if": {"required": ["class"], "properties": {"class": {"const": name}}},
        "then": {"required": required, "properties": {"params": params}},
    }


def policy_schema() -> Schema:
    """Return the schema of the file that ``[config_providers] policies_file`` names, with the installed policies."""
    return {
        "$schema": _DRAFT,
        "title": "Policies of airflow-config-providers",
        "type": "object",
        "required": ["policies"],
        "additionalProperties": False,
        "properties": {"policies": {"type": "array", "items": _policy()}},
    }


def _policy() -> Schema:
    return {
        "type": "object",
        "required": ["name"],
        "oneOf": [{"required": ["expression"]}, {"required": ["class"]}],
        "dependencies": {"message": ["expression"], "params": ["class"]},
        "allOf": [_params_of(name, params) for name, params in _PARAMS.items()],
        "additionalProperties": False,
        "properties": {
            "name": {**_TEXT, "description": "The policy's name in messages; each name once."},
            "match": _match(),
            "when": {**_TEXT, "description": "An expression in CEL; if it is false, the policy is not asked."},
            "expression": {**_TEXT, "description": "The rule, in CEL; it must be true."},
            "message": {**_TEXT, "description": "The message if the rule is not true."},
            "class": _class(),
            "params": {"type": "object", "description": "Parameters of the class."},
        },
    }


def _class() -> Schema:
    names = sorted({*READY, *(entry.name for entry in registered(ENTRY_POINT_GROUP))})
    return {
        "description": "A ready policy, one that an installed package registers, or an allowed path of a class.",
        "anyOf": [{"enum": names}, {"type": "string", "pattern": r"^\w+(\.\w+)+$"}],
    }


def _match() -> Schema:
    return {
        "type": "object",
        "description": "The changes that the policy is asked about; all by default.",
        "additionalProperties": False,
        "properties": {
            "resources": _some({"enum": [kind.name.lower() for kind in ResourceType]}),
            "dags": _some({"type": "string"}),
            "tasks": _some({"type": "string"}),
            "at": _some({"enum": [moment.value for moment in Moment]}),
        },
    }


def _some(item: Schema) -> Schema:
    """Return the schema of one or several of ``item``."""
    return {"anyOf": [item, {"type": "array", "items": item}]}
