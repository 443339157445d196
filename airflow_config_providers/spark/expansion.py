"""The substitutions that Spark and Hadoop make in a configuration value."""

from __future__ import annotations

import re
from typing import Final

from airflow_config_providers.core.variable import parse, variables

SUBSTITUTED_BY_SPARK: Final = frozenset({"env", "system", "spark", "sparkconf", "hiveconf", "hivevar"})
"""Prefixes of ``${prefix:name}`` that Spark itself replaces."""

# Strings that are not compiled at import: re compiles each once, and few values hold "${".
_SPARK: Final = r"\$\{(?:env:|system:|spark\.)"
"""What Spark replaces when it reads a key that it knows."""
_HADOOP: Final = r"\$\{[^}$ ]+\}"
"""What Hadoop replaces when it reads a key: an environment variable, a system property or another key."""


def is_substituted_by_spark(text: str) -> bool:
    """Return whether Spark replaces a part of ``text`` when it reads it under a key that it knows."""
    return re.search(_SPARK, text) is not None


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
