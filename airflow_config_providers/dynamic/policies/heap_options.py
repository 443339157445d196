"""Memory that is set in the options of a Java virtual machine: ``-XX:MaxHeapSize=64g``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.driver_options import unreadable_problem
from airflow_config_providers.dynamic.policies.java_words import readings

_MEMORY: Final[Mapping[str, str]] = {
    "spark.driver.defaultJavaOptions": "spark.driver.memory",
    "spark.driver.extraJavaOptions": "spark.driver.memory",
    "spark.executor.defaultJavaOptions": "spark.executor.memory",
    "spark.executor.extraJavaOptions": "spark.executor.memory",
    "spark.yarn.am.extraJavaOptions": "spark.yarn.am.memory",
}
"""Options -> the key of the memory that they can set."""

_HEAP: Final = r"(?s)-(?:X?mx|XX:MaxHeapSize=)(.*)"
"""Options that override Spark's own ``-Xmx``, which disables percentages such as ``-XX:MaxRAMPercentage``."""

_FILES: Final = ("@", "-XX:Flags=", "-XX:VMOptionsFile=")
"""Prefixes of a word that names a file with more options."""


def heap_settings(configs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each memory setting in options, as key and size, in order."""
    found = {
        (key, _size(match[1]))
        for options, key in _MEMORY.items()
        for word in _words(configs.get(options, ""))
        if (match := re.fullmatch(_HEAP, word))
    }
    return sorted(found)


def heap_problems(configs: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """Return key of options -> problem, for options that could set the memory of ``keys`` to any size."""
    problems: dict[str, str] = {}
    for options in (options for options, key in _MEMORY.items() if key in keys):
        text = configs.get(options, "")
        if readings(text) is None:
            problems[options] = unreadable_problem(options)
        elif any(word.startswith(_FILES) for word in _words(text)):
            problems[options] = (
                f"'{printable(options)}' names a file of options, so memory cannot be checked. Write the options here."
            )
    return problems


def _words(text: str) -> set[str]:
    return {word for words in readings(text) or () for word in words}


def _size(text: str) -> str:
    """Return the size as Spark writes it; in options of the virtual machine, the default unit is bytes."""
    return f"{text}b" if text.isdecimal() else text
