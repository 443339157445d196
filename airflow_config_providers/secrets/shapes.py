"""What an entry of a file is made of, before its references are replaced, and how it is written afterwards."""

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
    An entry whose texts may be replaced one by one, and which keeps its form whatever is put in.

    :param content: texts, and collections that hold them
    :param written: gives the text for Airflow
    """

    content: Any = field(repr=False)
    written: Callable[[Any], str]


def variable_shape(definition: Any) -> Shape:
    """
    Take the definition of a variable. JSON, as a collection or as a text, stays the same JSON around its texts.

    :raises ConfigException: a reference in a JSON text stands outside of quotes
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
        'The text is JSON that a value could change. Write each reference in quotes, as in {"port": "${env:PORT}"}, '
        "and neither NaN nor Infinity."
    )


def object_text(name: str, text: str) -> Mapping[str, Any]:
    """
    Read a JSON object.

    :raises ConfigException: it is none
    """
    content = document.parse(text)
    if not isinstance(content, Mapping):
        raise ConfigException(f"{name} is no JSON object. Write one; each value in it may be a reference.")
    return content


def _is_json_with_numbers(text: str) -> bool:
    """Tell whether ``text`` would be JSON if numbers stood in place of its references."""
    try:
        json.loads(_REFERENCE.sub("0", text))
    except (ValueError, RecursionError):
        return False
    return True


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) if isinstance(content, str) else document.as_text(content)
