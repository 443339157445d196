"""The substitutions that Spark, Hadoop and Databricks make in a configuration value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from airflow_config_providers.core.variable import parse, variables

SUBSTITUTED_BY_SPARK: Final = frozenset({"env", "system", "spark", "sparkconf", "hiveconf", "hivevar"})
"""Prefixes of ``${prefix:name}`` that Spark itself replaces."""

# Strings that are not compiled at import: re compiles each once, and few values hold "${".
_SPARK: Final = r"\$\{(?:env:|system:|spark\.)"
"""What Spark replaces when it reads a key that it knows."""
_HADOOP: Final = r"\$\{[^}$ ]+\}"
"""What Hadoop replaces when it reads a key: an environment variable, a system property or another key."""

_UNDER_ANY_KEY: Final = r"\$\{(?:env[:.]|system:|spark\.)|\{\{\s?secrets/"
"""
What one of them can replace under any key, because a session of Spark SQL passes all its keys to Hadoop, and what
Databricks replaces by a secret of its own.
"""

_WHOLE: Final = r"\$\{[^}]*\}?|\{\{\s?secrets/[^}]*"
"""All that one of them could replace, with its name."""

_OF_HADOOP: Final = "spark.hadoop."
_OF_HIVE: Final = "spark.hive."
"""The prefixes of Hadoop's and Hive's keys. Hadoop names the former without it, and the latter without ``spark.``."""


def is_substituted_by_spark(text: str) -> bool:
    """Return whether Spark replaces a part of ``text`` when it reads it under a key that it knows."""
    return re.search(_SPARK, text) is not None


def is_substituted(key: str, text: str) -> bool:
    """Return whether Spark, Hadoop or Databricks could replace a part of ``text`` when it reads ``key``."""
    return ("${" in text and _is_of_hadoop(key)) or re.search(_UNDER_ANY_KEY, text) is not None


def has_inserted(text: str, *, template: str) -> bool:
    """Return whether ``text`` has a part that Spark, Hadoop or Databricks could replace, and its template has not."""
    found = _substitutions(text)
    return bool(found) and not found <= _substitutions(template)


def _substitutions(text: str) -> set[str]:
    return set(re.findall(_WHOLE, text)) if "${" in text or "{{" in text else set()


def _is_of_hadoop(key: str) -> bool:
    return key.startswith((_OF_HADOOP, _OF_HIVE)) or not key.startswith("spark.")


def substituted_keys(key: str, text: str, configs: Mapping[str, Collection[str]]) -> set[str]:
    """
    Return the keys whose values Spark or Hadoop puts into ``text`` when it reads ``key``, also through other keys.

    An environment variable is named as in Spark, ``env:NAME``.

    :param configs: key -> its string, or the strings that it can have
    """
    found: set[str] = set()
    todo = [(key, text)]
    while todo:
        new = set(_named(*todo.pop())) - found
        found |= new
        todo += [(name, each) for name in new for each in configs.get(name, ())]
    return found


def _named(key: str, text: str) -> Iterator[str]:
    """Yield the names of the keys and of the environment variables in ``text``."""
    for part in text.split("}")[:-1] if "${" in text else ():
        solid = part[_end_of_blanks(part) :]
        _, _, outer = solid.partition("${")  # Spark begins with the first of "${${"
        yield from _of_spark(outer.removeprefix("system:"))
        _, is_open, inner = solid.rpartition("${")  # and Hadoop with the last
        yield from _of_spark(inner)
        yield from _of_hadoop(inner) if is_open and _is_of_hadoop(key) else ()


def _end_of_blanks(text: str) -> int:
    """Return the position after the last blank: no name has one."""
    return max(map(text.rfind, " \t\n\v\f\r")) + 1


def _of_spark(name: str) -> Iterator[str]:
    if name.startswith(("spark.", "env:")):  # Spark's keys are also system properties of its driver
        yield name


def _of_hadoop(name: str) -> Iterator[str]:
    """Yield what Hadoop could mean by ``name``, which can have a default, as in ``env.NAME:-default``."""
    if name.startswith("env."):
        yield f"env:{re.split(':?-', name.removeprefix('env.'), maxsplit=1)[0]}"
    elif name.startswith("hive."):
        yield f"spark.{name}"
    yield f"{_OF_HADOOP}{name}"


def spark_expands_value(value: str, *, written: str) -> bool:
    """Return whether Spark would replace a part of ``value`` that came from a reference in ``written``."""
    return _expands(_SPARK, value, written)


def hadoop_expands_value(value: str, *, written: str) -> bool:
    """Return whether Hadoop could replace a part of ``value`` that came from a reference in ``written``."""
    return _expands(_HADOOP, value, written)


def _expands(pattern: str, value: str, written: str) -> bool:
    if "${" not in value or value == written:
        return False
    return len(re.findall(pattern, value)) > len(re.findall(pattern, _own(written, value)))


def _own(written: str, value: str) -> str:
    """Return the author's own parts of ``value``: those outside references, and references that remain unresolved."""
    standing = {str(variable) for variable in variables(value)}
    return "\0".join(str(part) for part in parse(written) if isinstance(part, str) or str(part) in standing)
