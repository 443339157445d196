"""The substitutions that Spark and Hadoop make in a configuration value."""

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

_NAMES: Final = r"\$\{(?:system:)?([^}$\s]+)\}"
"""The keys and system properties that either of them puts in; Spark's keys are also system properties of a driver."""

_OF_HADOOP: Final = "spark.hadoop."
"""The prefix of Hadoop's keys, which Hadoop names without it."""


def is_substituted_by_spark(text: str) -> bool:
    """Return whether Spark replaces a part of ``text`` when it reads it under a key that it knows."""
    return re.search(_SPARK, text) is not None


def substituted_keys(key: str, text: str, configs: Mapping[str, Collection[str]]) -> set[str]:
    """
    Return the keys whose values Spark or Hadoop puts into ``text`` when it reads ``key``, also through other keys.

    An environment variable is named as in Spark, ``env:NAME``.

    :param configs: key -> its string; several if several clusters have the key
    """
    found: set[str] = set()
    todo = [(key, text)]
    while todo:
        new = set(_named(*todo.pop())) - found
        found |= new
        todo += [(name, each) for name in new for each in configs.get(name, ())]
    return found


def _named(key: str, text: str) -> Iterator[str]:
    for name in re.findall(_NAMES, text) if "${" in text else ():
        if name.startswith(("spark.", "env:")):
            yield name
        if key.startswith(_OF_HADOOP):
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
