"""Memory that is set in the options of a virtual machine: ``-XX:MaxHeapSize=64g``."""

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
"""What beats Spark's own ``-Xmx``; options for a share, such as ``-XX:MaxRAMPercentage``, do nothing beside that."""

_FILES: Final = ("@", "-XX:Flags=", "-XX:VMOptionsFile=")
"""What a word begins with that names a file of further options."""


def heap_settings(configs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each memory that options set, as its key and its size, in order."""
    found = {
        (key, _size(match[1]))
        for options, key in _MEMORY.items()
        for word in _words(configs.get(options, ""))
        if (match := re.fullmatch(_HEAP, word))
    }
    return sorted(found)


def heap_problems(configs: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """Return the problem with each of the options that may set the memory of ``keys`` to any size; by their name."""
    problems: dict[str, str] = {}
    for options in (options for options, key in _MEMORY.items() if key in keys):
        text = configs.get(options, "")
        if readings(text) is None:
            problems[options] = unreadable_problem(options)
        elif any(word.startswith(_FILES) for word in _words(text)):
            problems[options] = (
                f"'{printable(options)}' names a file of options, so memory cannot be checked. Write the options out."
            )
    return problems


def _words(text: str) -> set[str]:
    return {word for words in readings(text) or () for word in words}


def _size(text: str) -> str:
    """Return the size as Spark writes it; for the virtual machine a number without a unit counts bytes."""
    return f"{text}b" if text.isdecimal() else text
