"""Strings that are allowed as keys of a configuration, and as their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Final

from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.provider_definition import CONFIG_PROVIDERS
from airflow_config_providers.core.registry import is_reserved
from airflow_config_providers.core.text import half_pair, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, ReservedKeyError

_UNSEEN: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef"
)
"""Invisible characters that ``str.isprintable`` accepts: fillers and variation selectors."""

_REFUSED: Final = f"[= {_UNSEEN}]"
"""An equals sign ends a key in the argument ``key=value``, and a space ends it in a line of a file."""


def key_problem(key: str, where: str) -> ConfigException | None:
    """
    Return the error for a key that is not allowed in a layer; None if it is allowed.

    :param where: what the message calls the key
    """
    if is_reserved(key):
        return ReservedKeyError(
            f"{where}: config.providers and all below it belong to the deployment. Define providers in the "
            f"config_providers connection, and remove the key here."
        )
    if not key:
        return ConfigException(f"{where}: a key is not empty. Give it a name.")
    if scan(key):
        return ConfigException(f"{where}: a key cannot hold a reference. Write the key out.")
    if (place := _refused_character(key)) is not None:
        return ConfigException(
            f"{where}: character {place + 1} of the key is {_named(key[place])}. A key has no equals sign, no blank, "
            f"and no control characters or others that cannot be seen. Rename it."
        )
    return None


def text_problem(text: str, where: str) -> ConfigException | None:
    """Return the error for a string that is not allowed as a value in a layer; None if it is allowed."""
    if (place := half_pair(text)) is None:
        return None
    return ConfigException(
        f"{where}: character {place + 1} of its value is half of a surrogate pair, which is no character. Correct it."
    )


def key_problems(keys: Collection[str], where: Callable[[str], str]) -> Iterator[ConfigException]:
    """
    Yield the error for each of ``keys`` that is not allowed in a layer.

    :param where: returns what the message says after a key, such as ``in base.properties:12``
    """
    if _are_ordinary(keys):
        return
    for key in keys:
        if problem := key_problem(key, f"'{printable(key)}' {where(key)}"):
            yield problem


def layer_problems(layer: ConfigLayer) -> Iterator[ConfigException]:
    """Yield the errors for the keys and values of ``layer`` that are not allowed."""
    yield from key_problems(layer.configs, lambda key: f"in {layer.origin(key)}")
    for key, text in layer.configs.items():
        if not text.isascii() and (problem := text_problem(text, f"'{printable(key)}' in {layer.origin(key)}")):
            yield problem


def _are_ordinary(keys: Collection[str]) -> bool:
    """Return whether all ``keys`` are surely allowed; faster than ``key_problem`` for each of them."""
    together = "".join(keys)
    is_free = "${" not in together and CONFIG_PROVIDERS not in together and "" not in keys
    return is_free and together.isprintable() and re.search(_REFUSED, together) is None


def _refused_character(key: str) -> int | None:
    return next((i for i, c in enumerate(key) if not c.isprintable() or re.match(_REFUSED, c)), None)


def _named(character: str) -> str:
    return {"=": "an equals sign", " ": "a blank"}.get(character, f"U+{ord(character):04X}")
