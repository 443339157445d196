"""The keys of a configuration: what is allowed as one and as its value, older names still read, and Hadoop's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from airflow_config_providers.core.sensitive import begins_as_path
from airflow_config_providers.core.text import grouped, half_pair, of_type, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, ReservedKeyError, refuse

CONFIG_PROVIDERS: Final = "config.providers"
"""The key that lists the providers. Those below it define them."""

LONGEST_KEY: Final = 1000
"""The most characters of a key. Without a limit, one fills a history, and comparing it with all keys takes seconds."""

_AFTER_A_KEY: Final = "=: \t\n"
"""What separates a key from its value in a file of properties or in JSON, or a line from the next one."""

_UNSEEN: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef"
)
"""Invisible characters that ``str.isprintable`` accepts: fillers and variation selectors."""

_REFUSED: Final = f"[= {_UNSEEN}]"
"""An equals sign ends a key in the argument ``key=value``, and a space ends it in a line of a file."""


def is_reserved(key: str) -> bool:
    """Return whether ``key`` defines providers: such keys belong to the deployment."""
    return key == CONFIG_PROVIDERS or key.startswith(f"{CONFIG_PROVIDERS}.")


def holds_definitions(text: str) -> bool:
    """Return whether ``text``, which should be the path of a file of definitions, holds definitions itself."""
    return CONFIG_PROVIDERS in text and not begins_as_path(text) and any(sign in text for sign in _AFTER_A_KEY)


def key_problem(key: str, where: str, *, is_stored: bool = False) -> ConfigException | None:
    """
    Return the error for a key that is not allowed in a layer; None if it is allowed.

    :param where: what the message calls the key
    :param is_stored: whether its length was checked when it was stored, perhaps by a version with another limit
    """
    if is_reserved(key):
        return ReservedKeyError(
            f"{where}: config.providers and the keys below it belong to the deployment. Define providers in the "
            f"config_providers connection, and remove the key here."
        )
    if not key:
        return ConfigException(f"{where}: a key must not be empty. Give it a name.")
    if len(key) > LONGEST_KEY and not is_stored:
        return ConfigException(f"{where}: a key has more than {LONGEST_KEY} characters. Shorten it.")
    if scan(key):
        return ConfigException(f"{where}: a key cannot contain a reference. Write the key itself.")
    if (place := _refused_character(key)) is not None:
        return ConfigException(
            f"{where}: character {place + 1} of the key is {_named(key[place])}. A key cannot contain an equals "
            f"sign, spaces, control characters or invisible characters. Rename it."
        )
    return None


def text_problem(text: str, where: str) -> ConfigException | None:
    """Return the error for a string that is not allowed as a value in a layer; None if it is allowed."""
    if (place := half_pair(text)) is None:
        return None
    return ConfigException(
        f"{where}: character {place + 1} of its value is half of a surrogate pair, which is no character. Correct it."
    )


def key_problems(
    keys: Collection[str], where: Callable[[str], str], *, is_stored: bool = False
) -> list[ConfigException]:
    """
    Return the error for each of ``keys`` that is not allowed in a layer.

    :param where: returns what the message says after a key, such as ``in base.properties:12``
    :param is_stored: as for ``key_problem``
    """
    if _are_ordinary(keys):
        return []
    problems = (key_problem(key, f"'{printable(key)}' {where(key)}", is_stored=is_stored) for key in keys)
    return [problem for problem in problems if problem]


def key_type_problem(key: object) -> str | None:
    """Return what is wrong with a key that is not a string; None if it is one."""
    return None if isinstance(key, str) else f"The key {printable(repr(key))} is {of_type(key)}. Write it as a string."


def value_type_problem(key: str, value: object) -> str | None:
    """Return what is wrong with the value of ``key`` if it is neither a string nor None; otherwise None."""
    if value is None or isinstance(value, str):
        return None
    return f"'{printable(key)}': the value is {of_type(value)}. Write it as a string."


def type_problems(configs: Mapping[Any, Any]) -> Iterator[str]:
    """Yield a problem for each key that is not a string, or whose value is neither a string nor None; no values."""
    for key, value in configs.items():
        if problem := key_type_problem(key) or value_type_problem(key, value):
            yield problem


def require_texts(configs: Mapping[Any, Any], *, where: str = "", is_none_allowed: bool = False) -> None:
    """
    Refuse keys and values that are not strings.

    :param where: put before each problem
    :raises ConfigException: some are not strings; names all of them
    """
    allowed = {str, type(None)} if is_none_allowed else {str}
    if allowed.issuperset(map(type, configs.values())) and {str}.issuperset(map(type, configs)):
        return
    nothing = (f"'{printable(str(key))}': there is no value." for key, value in configs.items() if value is None)
    problems = (*type_problems(configs), *(() if is_none_allowed else nothing))
    refuse(ConfigException, (f"{where}{problem}" for problem in problems))


def _are_ordinary(keys: Collection[str]) -> bool:
    """Return whether all ``keys`` are surely allowed; faster than ``key_problem`` for each of them."""
    text = "".join(keys)
    if len(text) > LONGEST_KEY and max(map(len, keys)) > LONGEST_KEY:
        return False
    is_free = "=" not in text and " " not in text and "${" not in text and CONFIG_PROVIDERS not in text
    return is_free and "" not in keys and text.isascii() and text.isprintable()


def _refused_character(key: str) -> int | None:
    return next((i for i, c in enumerate(key) if not c.isprintable() or re.match(_REFUSED, c)), None)


def _named(character: str) -> str:
    return {"=": "an equals sign", " ": "a blank"}.get(character, f"U+{ord(character):04X}")


def spellings(used: Iterable[str], older: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """
    Return name -> all names of its configuration that matter: the current one first, then the older ones in ``used``.

    Configurations of which no older name is used are left out.

    :param older: older name -> the name that took its place, which can be an older name itself
    """
    groups = grouped((current_name(name, older), name) for name in sorted(older.keys() & set(used)))
    names = {current: (current, *others) for current, others in groups.items()}
    return {name: group for group in names.values() for name in group}


@cache
def older_names() -> Mapping[str, str]:
    """Return each name that Spark or Hadoop still reads, but has replaced -> the name that took its place."""
    import json  # noqa: PLC0415 - few processes look for older names
    from pkgutil import get_data  # noqa: PLC0415 - slow to import; it works in a zip, too

    found: dict[str, str] = json.loads(get_data(__package__, "older_names.json") or b"")
    return found


def current_name(name: str, older: Mapping[str, str]) -> str:
    """Return the name that is current for ``name``, also if it was renamed several times."""
    seen = set()
    while name in older and name not in seen:
        seen.add(name)
        name = older[name]
    return name


HADOOP_PREFIX: Final = "spark.hadoop."
"""The prefix of Hadoop's keys, which Hadoop names without it."""
HIVE_PREFIX: Final = "spark.hive."
"""Another prefix of Hive's keys, of which Hadoop's name begins with ``hive.``."""


def hadoop_name(key: str) -> str | None:
    """
    Return the name under which Hadoop reads the string of ``key``; None if it does not.

    A Hadoop key can also be written without its prefix, because Spark SQL passes all keys of a session to Hadoop.
    """
    if key.startswith(HIVE_PREFIX):
        return key.removeprefix("spark.")
    if key.startswith("spark.") and not key.startswith(HADOOP_PREFIX):
        return None
    return key.removeprefix(HADOOP_PREFIX)
