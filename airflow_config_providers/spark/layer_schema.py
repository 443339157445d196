"""A JSON schema of layer files in YAML, for editors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from airflow_config_providers.core.java_text import SIZES, TIMES
from airflow_config_providers.core.keys import CONFIG_PROVIDERS, LONGEST_KEY
from airflow_config_providers.spark.catalogue_file import catalogued, rows
from airflow_config_providers.spark.driver_providers import FILE_KEY, PREFIX
from airflow_config_providers.spark.key_notes import KeyNotes, key_notes

Schema = dict[str, Any]

DRAFT: Final = "http://json-schema.org/draft-07/schema#"

_FILLED_IN: Final = {"type": "string", "pattern": r"\$\{|\{\{|\{%"}
"""A value that a reference or a template completes."""

_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_ANY: Final = {"anyOf": [_SCALAR, {"$ref": "#/definitions/map"}]}
_NAME: Final = {
    "pattern": r"^[^\u0000-\u0020=\u007f-\u00a0]+$",
    "not": {"pattern": r"\$\{[^{}]*:[^{}]*\}"},
    "maxLength": LONGEST_KEY,
}
"""A key, or the part of one that is written in a map. Of rarer invisible characters, only the package knows."""
_MAP: Final = {"type": "object", "propertyNames": _NAME, "additionalProperties": {"$ref": "#/definitions/any"}}

_OF_DEPLOYMENT: Final = {CONFIG_PROVIDERS: r"(\.|$)", f"{PREFIX}{CONFIG_PROVIDERS}": r"(\.|$)", FILE_KEY: "$"}
"""Key that defines providers, which no layer may set -> a pattern for how it ends, or goes on."""


def layer_schema(version: str | None = None) -> Schema:
    """
    Return the schema of a layer file for Spark ``version``; it also accepts keys that Spark does not know.

    :param version: such as ``3.5.8``; None for the newest in the catalogue
    """
    found = rows(catalogued(version))
    kinds = {name: row.partition(" ")[0] for name, row in {**found.public, **found.older}.items()}
    keys = {f"key {name}": _key(name, kind, version) for name, kind in kinds.items()}
    prefixes = {**{prefix: {} for prefix in _above(_OF_DEPLOYMENT)}, **_prefixes(kinds)}
    maps = {f"map {prefix}": _map(prefix, suffixes) for prefix, suffixes in prefixes.items()}
    return {
        "$schema": DRAFT,
        "title": f"Layer file of airflow-config-providers, for Spark {found.version}",
        **maps.pop("map "),
        "definitions": {"any": _ANY, "map": _MAP, **keys, **maps},
    }


def _prefixes(names: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Return each prefix of ``names`` -> what can be written below it -> the definitions that it can have."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in names:
        parts = name.split(".")
        for start in range(len(parts)):
            below = found.setdefault(".".join(parts[:start]), {})
            for end in range(start + 1, len(parts)):
                maps = below.setdefault(".".join(parts[start:end]), [])
                if (definition := f"map {'.'.join(parts[:end])}") not in maps:
                    maps.append(definition)
            below.setdefault(".".join(parts[start:]), []).append(f"key {name}")
    return found


def _above(names: Iterable[str]) -> set[str]:
    """Return all prefixes of ``names`` that end before a dot."""
    return {name[: dot.start()] for name in names for dot in re.finditer(r"\.", name)}


def _map(prefix: str, suffixes: Mapping[str, list[str]]) -> Schema:
    properties = {suffix: _one_of(definitions) for suffix, definitions in suffixes.items()}
    patterns = _of_deployment(f"{prefix}." if prefix else "", properties)
    return {"properties": properties, **({"patternProperties": patterns} if patterns else {}), **_MAP}


def _of_deployment(beginning: str, known: Iterable[str]) -> Schema:
    """
    Return pattern -> schema for what leads to definitions of providers in a map.

    :param beginning: that of each key that is written in the map
    :param known: the names in the map that have a schema
    """
    below = {name.removeprefix(beginning): end for name, end in _OF_DEPLOYMENT.items() if name.startswith(beginning)}
    maps = {name: {"$ref": f"#/definitions/map {beginning}{name}"} for name in sorted(_above(below) - {*known})}
    return {
        **{f"^{re.escape(name)}{end}": False for name, end in below.items()},
        **{f"^{re.escape(name)}$": {"anyOf": [_SCALAR, one]} for name, one in maps.items()},
    }


def _one_of(definitions: Iterable[str]) -> Schema:
    found: list[Schema] = [{"$ref": f"#/definitions/{definition}"} for definition in definitions]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _key(name: str, kind: str, version: str | None) -> Schema:
    notes = key_notes(name, version)
    schema: Schema = {"description": _described(notes)} if _described(notes) else {}
    if notes.deprecated or notes.successor:
        instead = f"Use {notes.successor} instead." if notes.successor else notes.reason
        schema |= {"deprecationMessage": instead or "It is deprecated.", "doNotSuggest": True}
    return schema | _values(kind, notes.allowed_values)


def _described(notes: KeyNotes) -> str:
    unit = f"Without a unit: {notes.unit}." if notes.unit else ""
    since = f"Since Spark {notes.since}." if notes.since else ""
    return " ".join(part for part in (notes.documentation, unit, since) if part)


def _values(kind: str, allowed: Iterable[str]) -> Schema:
    if names := [*allowed]:
        return {"anyOf": [{"enum": names}, _matching("|".join(map(_in_any_case, names))), _FILLED_IN]}
    return {"anyOf": [*_KINDS[kind], _FILLED_IN]} if kind in _KINDS else _SCALAR


def _matching(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^\\s*(?:{pattern})\\s*$"}


def _in_any_case(text: str) -> str:
    """Return a pattern for ``text`` in upper or lower case: JSON Schema has no flag for that."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.lower() != c.upper() else re.escape(c) for c in text)


def _quantity(units: Iterable[str]) -> Schema:
    return _matching(rf"-?[0-9]+(?:{'|'.join(map(_in_any_case, units))})?")


_WHOLE: Final = [{"type": "integer"}, _matching("[+-]?[0-9]+")]
_KINDS: Final[Mapping[str, list[Schema]]] = {
    "BOOLEAN": [{"type": "boolean"}, _matching(f"{_in_any_case('true')}|{_in_any_case('false')}")],
    "INT": _WHOLE,
    "LONG": _WHOLE,
    "DOUBLE": [{"type": "number"}, _matching(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?")],
    "SIZE": [{"type": "integer"}, _quantity(SIZES)],
    "TIME": [{"type": "integer"}, _quantity(TIMES)],
}
"""Type in the catalogue -> what may be written; any other type takes every string, number and boolean."""
