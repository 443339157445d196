"""Which configuration Spark hides in its UI, its event log and its SQL output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

REDACTION_KEY: Final = "spark.redaction.regex"

_HIDDEN_BY_EVERY_SPARK: Final = "(?i)secret|password|token|access[.]?key"
"""The default of Spark 3.5 to 4.2."""

DEFAULT_PATTERN: Final = f"{_HIDDEN_BY_EVERY_SPARK}|credential"
"""The default of Spark 4.3, the widest."""

_NAMES: Final = (
    r"(?i)secret|passw|passphrase|pwd|token|credential|signature"
    r"|(?:access|account|api|encryption|private|sas|shared)[._-]?key"
)
_TEXTS: Final = (
    r"(?i)(?:passw[a-z]{0,8}|pwd|secret|token|(?:access|account|api|shared)[._-]?key)=[^&;,\s]"
    r"|://[^/\s:@]{0,256}:[^/\s@]{1,1024}@"
)
"""A password in a URL, or as one of several settings in one text."""


def reveals(key: str, text: str) -> bool:
    """Tell whether ``text`` under ``key`` looks like a secret that is written out; wider than what Spark hides."""
    return re.search(_NAMES, key) is not None or re.search(_TEXTS, text) is not None


def sounds_sensitive(key: str) -> bool:
    """Tell whether every supported Spark hides ``key`` by default, going by its name."""
    return re.search(_HIDDEN_BY_EVERY_SPARK, key, re.ASCII) is not None


def widened(pattern: str | None, keys: Collection[str]) -> str | None:
    """
    Make ``pattern`` hide ``keys`` too.

    What is added comes first: there no comment and no open quotation in ``pattern`` can swallow it. A pattern of
    the user's own is in Java's syntax, so nobody asks it which keys it covers: all are added.

    :param pattern: the value of ``spark.redaction.regex``; None where nobody set it
    :return: the new value; None where nothing needs to be added
    """
    names = [name for key in sorted(keys) for name in _shown_as(key)]
    if pattern is None:
        names = [name for name in names if not sounds_sensitive(name)]
        pattern = DEFAULT_PATTERN
    return "|".join([*(f"^{_quoted(name)}$" for name in names), pattern]) if names else None


def _shown_as(key: str) -> Iterator[str]:
    """Give the names under which Spark shows ``key``; it lists the keys that Hadoop gets a second time, as Hadoop's."""
    yield key
    if key.startswith("spark.hadoop."):
        yield key.removeprefix("spark.hadoop.")
    elif key.startswith("spark.hive."):
        yield key.removeprefix("spark.")


def _quoted(text: str) -> str:
    """Quote ``text`` for Java, where a backslash quotes every ASCII character that is neither letter nor digit."""
    return "".join("[.]" if c == "." else f"\\{c}" if c.isascii() and not c.isalnum() else c for c in text)
