"""The keys that Spark hides in its UI, its event log and its SQL output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, HIVE_PREFIX, older_names
from airflow_config_providers.core.sensitive import TELLING_NAMES
from airflow_config_providers.core.text import grouped

REDACTION_KEY: Final = "spark.redaction.regex"
OPTIONS_KEY: Final = "spark.sql.redaction.options.regex"

STRINGS_KEY: Final = "spark.sql.redaction.string.regex"

OF_SESSION: Final = frozenset({OPTIONS_KEY, STRINGS_KEY})
"""The keys of the patterns that a session of Spark Connect can set, in place of those of its server."""

PATTERN_KEYS: Final = frozenset({REDACTION_KEY, OPTIONS_KEY})
"""The keys of the patterns that this package extends."""

_HIDDEN_BY_EVERY_SPARK: Final = "(?i)secret|password|token|access[.]?key"
"""The default of Spark 3.5 to 4.2."""

DEFAULT_PATTERN: Final = f"{_HIDDEN_BY_EVERY_SPARK}|credential"
"""The default of Spark 4.3, which hides the most."""

DEFAULT_OPTIONS: Final = "(?i)url"
"""The default for options of data sources. Spark hides those that match ``spark.redaction.regex``, too."""

_TELLING_OPTIONS: Final = f"(?i:{TELLING_NAMES}|auth(?!or(?!i))|jaas|keystore|sslkey|uri(?![a-z]))"
"""Names of options of data sources that hold secrets, such as ``kafka.sasl.jaas.config`` and ``connection.uri``."""

_SHOWN_BELOW: Final = {HADOOP_PREFIX: "", HIVE_PREFIX: "hive.", "spark.metrics.conf.": ""}
"""Prefix of a key -> what replaces it where Spark shows the key a second time."""

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
    "spark.yarn.keytab": ("spark.kerberos.keytab",),
    "spark.yarn.principal": ("spark.kerberos.principal",),
}
"""Key -> the keys that Spark derives from it. Those of files and jars matter if the author allows exposed arguments."""


@lru_cache(maxsize=4_096)  # as many as core's sounds_secret
def is_hidden_by_spark(key: str) -> bool:
    """Return whether every supported version of Spark hides ``key`` by default, because of its name."""
    return re.search(_HIDDEN_BY_EVERY_SPARK, key, re.ASCII) is not None


def redacting(configs: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """
    Return the patterns by which Spark hides ``keys``, and options of data sources that could get their values.

    A job passes a value on as an option of a data source, such as Kafka's, under a name that this package does not see.

    :param configs: key -> value; its own patterns are extended
    :return: key of a pattern -> pattern; empty if there are no keys
    """
    pattern = widened(configs.get(REDACTION_KEY), keys)
    return {} if pattern is None else {REDACTION_KEY: pattern, OPTIONS_KEY: _hiding_options(configs.get(OPTIONS_KEY))}


def _hiding_options(pattern: str | None) -> str:
    """Return ``pattern`` with our addition in front, as in ``widened``; a driver can get one that already has it."""
    own = DEFAULT_OPTIONS if pattern is None else pattern
    return own if own.startswith(_TELLING_OPTIONS) else f"{_TELLING_OPTIONS}|{own}"


def widened(pattern: str | None, keys: Collection[str]) -> str | None:
    """
    Return ``pattern``, extended to hide ``keys`` too.

    The additions come first, where no comment and no open quotation in ``pattern`` can disable them. A user's pattern
    is in Java's syntax, which Python cannot evaluate, so all keys are added. The default is returned even if it hides
    all keys: if the key was not set, a system property of the JVM could replace it.

    :param pattern: the value of ``spark.redaction.regex``; None if it is not set
    :return: the new value; None if there are no keys
    """
    if not keys:
        return None
    names = list(dict.fromkeys(name for key in sorted(keys) for name in _shown_as(key)))
    if pattern is None:
        names = [name for name in names if not is_hidden_by_spark(name)]
        pattern = DEFAULT_PATTERN
    return "|".join([*(f"^{_quoted(name)}$" for name in names), pattern])


def _shown_as(key: str) -> Iterator[str]:
    """Yield the names under which Spark shows ``key``. It lists keys of Hadoop and of metrics a second time."""
    yield key
    yield from _SHOWN_AS.get(key, ())
    for prefix, shown in _SHOWN_BELOW.items():
        if key.startswith(prefix):
            yield key.replace(prefix, shown, 1)
    if key.startswith(HADOOP_PREFIX):
        yield from sorted(other_names(key.removeprefix(HADOOP_PREFIX)))


def other_names(key: str) -> set[str]:
    """
    Return Hadoop's other names of ``key``. If one of a key's names is set, Hadoop sets all of them.

    :param key: the key without ``spark.hadoop.``, as in the names
    """
    current = older_names().get(f"{HADOOP_PREFIX}{key}", f"{HADOOP_PREFIX}{key}")
    return {name.removeprefix(HADOOP_PREFIX) for name in (current, *_former_names().get(current, ()))} - {key}


@cache
def _former_names() -> Mapping[str, Collection[str]]:
    return grouped((current, older) for older, current in older_names().items())


def _quoted(text: str) -> str:
    """Return ``text`` quoted for Java, where a backslash quotes any ASCII character except letters and digits."""
    return "".join("[.]" if c == "." else f"\\{c}" if c.isascii() and not c.isalnum() else c for c in text)
