"""Values that are completed later by our references, by Spark, or by Hadoop."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.dynamic.policies.key_names import names_of

_NAME: Final = r"\$\{([^${}]*)"
_NESTED: Final = r"\$\{[^}]*\$\{"


def is_known(text: str) -> bool:
    """Return whether ``text`` is what Spark will use, with no part that is hidden or completed later."""
    return "${" not in text and text != HIDDEN


def changed_through(changed: Collection[str], configs: Mapping[str, str]) -> Mapping[str, str]:
    """
    Return key -> changed key, for keys whose values change because the changed key becomes a part of them.

    Spark replaces ``${spark.app.x}`` and Hadoop ``${fs.x}`` with the value of that key. Hadoop completes a nested
    ``${a${b}}`` from the inside, so it could mean any key.
    """
    users = _users(configs)
    origins = {key: key for key in changed}
    waiting = list(changed)
    while waiting:
        key = waiting.pop()
        for name in (*names_of(key), _NESTED):
            for user in users.pop(name, ()):
                if user not in origins:
                    origins[user] = origins[key]
                    waiting.append(user)
    return {key: origin for key, origin in origins.items() if key != origin}


def _users(configs: Mapping[str, str]) -> dict[str, list[str]]:
    """Return name in a ``${...}`` -> the keys whose values contain it; nested ones are under ``_NESTED``."""
    found: dict[str, list[str]] = {}
    for key, text in configs.items():
        for name in _taken_in(text):
            found.setdefault(name, []).append(key)
    return found


def _taken_in(text: str) -> Iterator[str]:
    if "${" not in text:
        return
    if re.search(_NESTED, text):
        yield _NESTED
    for name in re.findall(_NAME, text):
        yield name
        yield f"spark.hadoop.{name}"
