"""Recognises YAML and JSON files, which would be misread as Java properties."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import PurePath
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException

_SUFFIXES: Final = {".json": "JSON", ".yaml": "YAML", ".yml": "YAML"}

_OPENS: Final = re.compile(r"[\w.\"'-]+:\s*(#.*)?")
"""A name with nothing after its colon."""

_BELOW: Final = re.compile(r"\s+(- |[\w.\"'-]+:(\s|$)).*")
"""An indented line below such a name: an item of a list, or another name."""


def refuse_other_format(text: str, *, name: str) -> None:
    """
    Refuse ``text`` that is not meant as Java properties.

    :param name: the name of the file
    :raises ConfigException: the text looks like YAML or JSON
    """
    if found := _format_of(text.replace("\r\n", "\n"), name):
        raise ConfigException(
            f"{printable(name)} looks like {found}, but is read as a Java properties file. Write one key and its value "
            f"on each line, such as spark.executor.memory=4g, and name the file .properties."
        )


def _format_of(text: str, name: str) -> str:
    if by_name := _SUFFIXES.get(PurePath(name).suffix.lower()):
        return by_name
    if text.lstrip("\ufeff \t\n").startswith(("{", "[")) and _is_json(text):
        return "JSON"
    return "YAML" if _is_yaml(text) else ""


def _is_yaml(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    is_nested = any(_OPENS.fullmatch(one) and _BELOW.fullmatch(below) for one, below in pairwise(lines))
    return bool(lines) and (lines[0].split() == ["---"] or is_nested)


def _is_json(text: str) -> bool:
    try:
        json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True
