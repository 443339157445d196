"""Which configuration Spark hides in its UI, its event log and its SQL output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from airflow_config_providers.spark.hadoop_names import other_names

REDACTION_KEY: Final = "spark.redaction.regex"

_HIDDEN_BY_EVERY_SPARK: Final = "(?i)secret|password|token|access[.]?key"
"""The default of Spark 3.5 to 4.2."""

DEFAULT_PATTERN: Final = f"{_HIDDEN_BY_EVERY_SPARK}|credential"
"""The default of Spark 4.3, the widest."""

_OF_HADOOP: Final = "spark.hadoop."

_SHOWN_BELOW: Final = {_OF_HADOOP: "", "spark.hive.": "hive.", "spark.metrics.conf.": ""}
"""Beginning of a key -> what Spark writes in its place where it shows the key a second time."""

_OF_FILES: Final = ("spark.app.initial.file.urls", "spark.yarn.dist.files")
_OF_JARS: Final = ("spark.app.initial.jar.urls", "spark.repl.local.jars", "spark.yarn.dist.jars")

_SHOWN_AS: Final[Mapping[str, tuple[str, ...]]] = {
    "spark.archives": ("spark.app.initial.archive.urls", "spark.yarn.dist.archives"),
    "spark.files": _OF_FILES,
    "spark.jars": _OF_JARS,
    "spark.jars.ivy": ("spark.jars", "spark.submit.pyFiles", *_OF_FILES, *_OF_JARS),
    "spark.jars.packages": ("spark.jars", "spark.submit.pyFiles", *_OF_FILES, *_OF_JARS),
    "spark.sql.warehouse.dir": ("hive.metastore.warehouse.dir",),
    "spark.submit.pyFiles": ("spark.yarn.dist.pyFiles", *_OF_FILES),
}
"""Key -> the keys that Spark derives from it. Those of files and jars apply if the author allows exposed arguments."""


def sounds_sensitive(key: str) -> bool:
    """Tell whether every supported Spark hides ``key`` by default, going by its name."""
    return re.search(_HIDDEN_BY_EVERY_SPARK, key, re.ASCII) is not None


def widened(pattern: str | None, keys: Collection[str]) -> str | None:
    """
    Make ``pattern`` hide ``keys`` too.

    What is added comes first: there no comment and no open quotation in ``pattern`` can swallow it. A pattern of
    the user's own is in Java's syntax, so nobody asks it which keys it covers: all are added. A default is given even
    where it covers all of them: a system property of the JVM would stand in for a key that is not set.

    :param pattern: the value of ``spark.redaction.regex``; None where nobody set it
    :return: the new value; None where there are no keys
    """
    if not keys:
        return None
    names = list(dict.fromkeys(name for key in sorted(keys) for name in _shown_as(key)))
    if pattern is None:
        names = [name for name in names if not sounds_sensitive(name)]
        pattern = DEFAULT_PATTERN
    return "|".join([*(f"^{_quoted(name)}$" for name in names), pattern])


def _shown_as(key: str) -> Iterator[str]:
    """Return the names under which Spark shows ``key``. It lists Hadoop's keys and those of metrics a second time."""
    yield key
    yield from _SHOWN_AS.get(key, ())
    for prefix, shown in _SHOWN_BELOW.items():
        if key.startswith(prefix):
            yield key.replace(prefix, shown, 1)
    if key.startswith(_OF_HADOOP):
        yield from sorted(other_names(key.removeprefix(_OF_HADOOP)))


def _quoted(text: str) -> str:
    """Quote ``text`` for Java, where a backslash quotes every ASCII character that is neither letter nor digit."""
    return "".join("[.]" if c == "." else f"\\{c}" if c.isascii() and not c.isalnum() else c for c in text)
