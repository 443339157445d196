"""Keys that are set in the options of the driver's Java virtual machine: ``-Dspark.executor.memory=64g``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.java_words import readings

_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
_PROPERTY: Final = "-Dspark."


def all_settings(configs: Mapping[str, str]) -> list[tuple[str, str]]:
    """
    Return each key with its value, in order, including those that the driver's options set as properties.

    Keys that ``unreadable`` options set are unknown, and missing here.
    """
    options = (configs.get(name, "") for name in _OPTIONS)
    return sorted([*configs.items(), *(setting for text in options for setting in _properties(text) or ())])


def unreadable(configs: Mapping[str, str]) -> dict[str, str]:
    """Return key of driver options -> problem, for options that cannot be read and so could set any key."""
    return {name: unreadable_problem(name) for name in _OPTIONS if _properties(configs.get(name, "")) is None}


def unreadable_problem(options: str) -> str:
    """Return the message for ``options`` that cannot be read."""
    return (
        f"'{printable(options)}' cannot be split into options unambiguously. Close each quote, and put backslashes and "
        f"unusual spaces into double quotes."
    )


def _properties(text: str) -> list[tuple[str, str]] | None:
    """Return the keys that ``text`` sets, with their values; None if its readers disagree about them."""
    found = readings(text)
    if found is None:
        return None
    by_launcher, by_spark = (list(_set_by(words)) for words in found)
    return by_launcher if by_launcher == by_spark else None


def _set_by(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        if word.startswith(_PROPERTY):
            key, _, value = word.removeprefix("-D").partition("=")
            yield key, value
