"""A string that holds a JSON object."""

from __future__ import annotations

from collections.abc import Collection

from airflow_config_providers.core.document import parse_object, read_all, read_key
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


def read_json(text: str | None, keys: Collection[str] | None, *, what: str) -> dict[str, str]:
    """
    Return the values of ``keys`` in the JSON object ``text``; ``keys=None`` means all at its top.

    :param text: None if there is none, and so no key
    :param what: what holds the string, for the message
    :raises ConfigException: ``text`` is not a JSON object
    """
    if text is None:
        return {}
    document = parse_object(text)
    if document is None:
        raise ConfigException(
            f"The {printable(what)} is not a JSON object, so it has no keys. Refer to it as a whole, or correct it."
        )
    if keys is None:
        return read_all(document)
    found = {key: read_key(document, key) for key in keys}
    return {key: value for key, value in found.items() if value is not None}
