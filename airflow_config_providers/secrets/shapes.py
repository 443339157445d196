"""The content of an entry, whose references can be replaced, and the way to write it for Airflow afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers.core import document
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException

_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Shape:
    """
    An entry whose strings can be replaced one by one without changing its structure.

    :param content: strings, and collections of strings
    :param written: returns the text for Airflow
    """

    content: Any = field(repr=False)
    written: Callable[[Any], str]


def variable_shape(definition: Any) -> Shape:
    """
    Return the shape of a variable's definition. JSON, as a collection or as a text, keeps its structure.

    :raises ConfigException: a reference in JSON is not in quotes
    """
    if not isinstance(definition, str):
        return Shape(definition, document.as_text)
    if not scan(definition) or definition.lstrip()[:1] not in ("{", "[", '"'):
        return Shape(definition, str)
    try:
        return Shape(document.parse(definition), _json)
    except ConfigException:
        if not _is_json_with_numbers(definition):
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


def _is_json_with_numbers(text: str) -> bool:
    """Return whether ``text`` would be JSON with numbers in place of its references."""
    try:
        json.loads(_REFERENCE.sub("0", text))
    except (ValueError, RecursionError):
        return False
    return True


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) if isinstance(content, str) else document.as_text(content)
