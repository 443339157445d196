"""What is wrong with a text that should define a connection of Airflow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from airflow_config_providers.core.document import parse, parse_object
from airflow_config_providers.core.text import nearest, printable, whole_number
from airflow_config_providers.exceptions import ConfigException

_FIELDS: Final = frozenset({"conn_type", "description", "extra", "host", "login", "password", "port", "schema", "uri"})


def mistake(text: str) -> str:
    """Return what is wrong with a text of which Airflow cannot make a connection, and how to correct it, without it."""
    if not text.lstrip().startswith("{"):
        return "Airflow cannot read it as a URI. Correct it, or write a JSON object."
    try:
        fields = parse(text)
    except ConfigException as error:
        return f"{error} Correct the variable."
    return " ".join(_mistakes(fields)) or extra_mistake(text) or "Airflow cannot read its fields. Correct the variable."


def extra_mistake(text: str) -> str | None:
    """Return what is wrong with the extra of a JSON object, if it is a string; None if nothing is wrong."""
    extra = (parse_object(text) or {}).get("extra")
    if not extra or not isinstance(extra, str):
        return None
    try:
        content = parse(extra)
    except ConfigException as error:
        return f"Its extra is not a JSON object. {error} Correct it."
    return None if isinstance(content, Mapping) else "Its extra is not a JSON object. Correct it."


def unknown_fields(written: Iterable[object], known: Collection[str]) -> list[str]:
    """Return a sentence for each name that is no field of a connection."""
    return [
        f"'{printable(str(name))}' is not a field{nearest(str(name), known) or '.'} Correct its name, or move it to "
        f"extra."
        for name in written
        if name not in known
    ]


def _mistakes(fields: Mapping[str, object]) -> list[str]:
    found = unknown_fields(fields.keys() - {"conn_id"}, _FIELDS)
    if "conn_id" in fields:
        found.append("Its id is in the name of the variable. Remove conn_id.")
    if fields.get("port") and whole_number(fields["port"]) is None:
        found.append("Its port is not a number. Correct it.")
    return sorted(found)
