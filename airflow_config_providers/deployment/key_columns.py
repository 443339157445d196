"""The columns of a description that say what Spark knows of a key, such as its unit and its successor."""

from __future__ import annotations

import math
from typing import Any, Final

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType, parse_type
from airflow_config_providers.core.java_text import SIZES, TIMES, read_quantity
from airflow_config_providers.core.text import is_template
from airflow_config_providers.core.variable import scan
from airflow_config_providers.deployment.rows import Row
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.expansion import is_substituted_by_spark
from airflow_config_providers.spark.key_notes import key_notes

KEY_COLUMNS: Final = (
    "typed",
    "default",
    "unit",
    "allowed_values",
    "documentation",
    "since",
    "deprecated",
    "removed",
    "successor",
)
"""Their names; only programs get them."""

_MICROSECONDS: Final = 1000
"""In one millisecond."""


def key_columns(key: str, value: Any, version: str | None = None) -> Row:
    """
    Return what Spark ``version`` says of ``key``, and ``value`` as a value of its type.

    :param version: such as ``3.5.8``; None for the newest in the catalogue
    """
    definition, notes = spark_definition(version), key_notes(key, version)
    return {
        "typed": typed(key, value, definition, unit=notes.unit) if isinstance(value, str) else None,
        "default": definition.default_texts().get(key),
        "unit": notes.unit,
        "allowed_values": list(notes.allowed_values),
        "documentation": " ".join(notes.documentation.split()),
        "since": notes.since,
        "deprecated": notes.deprecated,
        "removed": notes.removed,
        "successor": notes.successor,
    }


def typed(key: str, text: str, definition: ConfigDef, *, unit: str = "") -> Any:
    """
    Return ``text`` as a boolean, a number, a list or a string; a size in bytes, a duration in milliseconds.

    :param unit: the unit of a number without one
    :return: None if the type is unknown, the text does not fit it, or something in it is only known in a run
    """
    defined = definition.config_keys.get(key)
    if defined is None or scan(text) or is_substituted_by_spark(text) or is_template(text):
        return None
    if defined.type_name == "SIZE":
        return read_quantity(text, SIZES, default_unit=unit.lower())
    if defined.type_name == "DURATION":
        return _milliseconds(read_quantity(text, TIMES, default_unit=unit))
    return _parsed(key, text, defined.type)


def _milliseconds(microseconds: int | None) -> float | None:
    if microseconds is None or microseconds % _MICROSECONDS:
        return None if microseconds is None else microseconds / _MICROSECONDS
    return microseconds // _MICROSECONDS


def _parsed(key: str, text: str, kind: ConfigType) -> Any:
    try:
        found = parse_type(key, text, kind)
    except ConfigException:
        return None
    return None if isinstance(found, float) and not math.isfinite(found) else found  # JSON has no such numbers
