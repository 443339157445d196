"""A JSON schema of a file of policies, for editors."""

from __future__ import annotations

from typing import Any, Final

from airflow_config_providers.core.alter import ResourceType
from airflow_config_providers.core.entry_points import registered
from airflow_config_providers.core.policy import Moment
from airflow_config_providers.dynamic.policies.classes import ENTRY_POINT_GROUP, READY

Schema = dict[str, Any]

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_TEXT: Final = {"type": "string", "minLength": 1}


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
