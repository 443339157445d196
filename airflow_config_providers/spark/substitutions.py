"""The substitutions that Spark, Hadoop and Databricks make in a configuration value."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, hadoop_name
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.variable import parse, variables
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.spark.redaction import other_names

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

_SIGN: Final = r"(\$\{[\w.]*(?::?-(?=[^${}]*\}))?|[${}])"
"""In a value: what makes Spark or Hadoop replace a part of it, with the name of what they put there."""

_FROM_ENVIRONMENT: Final = {
    "fs.s3a.access.key": "AWS_ACCESS_KEY_ID",
    "fs.s3a.secret.key": "AWS_SECRET_ACCESS_KEY",
    "fs.s3a.session.token": "AWS_SESSION_TOKEN",
}
"""Hadoop's keys to which Spark gives the value of an environment variable."""

ANY_KEY: Final = "${"
"""Stands for a name that Hadoop puts together, as in ``${a${b}}``: no key has this name."""

_NAME: Final = "\0"
_JOINED: Final = r"\$(?:[{\0]|\Z)"
"""
What can be the beginning of another name when all names in a string, each written as ``_NAME``, have been replaced:
Hadoop looks at the result again.
"""

_MOST: Final = 1_000_000
"""How many names are followed in one configuration, each for every string that leads to it."""

_TOO_MANY: Final = (
    f"The configuration has so many names in '${{' that it cannot be checked whether one of them shows a secret: more "
    f"than {_MOST:,} were followed. Remove some, or the circles among them."
)


def is_substituted_by_spark(text: str) -> bool:
    """Return whether Spark replaces a part of ``text`` when it reads it under a key that it knows."""
    return re.search(_SPARK, text) is not None


def is_substituted(key: str, text: str) -> bool:
    """Return whether Spark, Hadoop or Databricks could replace a part of ``text`` when it reads ``key``."""
    return ("${" in text and hadoop_name(key) is not None) or re.search(_UNDER_ANY_KEY, text) is not None


def has_signs(key: str, text: str) -> bool:
    """Return whether Spark or Hadoop could replace a part of ``text``, of which policies see the name in a secret."""
    return "${" in text and is_substituted(key, text)


def signs_in(secret: str) -> str:
    """Return ``secret`` with ``[hidden]`` in place of all but what makes Spark or Hadoop replace a part of it."""
    pieces = re.split(_SIGN, secret)
    return "".join(piece if number % 2 or not piece else HIDDEN for number, piece in enumerate(pieces))


def has_inserted(text: str, *, template: str) -> bool:
    """Return whether ``text`` has a part that Spark, Hadoop or Databricks could replace, and its template has not."""
    return text != template and not _substitutions(text) <= _substitutions(template)


def _substitutions(text: str) -> set[str]:
    return set(re.findall(_WHOLE, text)) if "${" in text or "{{" in text else set()


class Substitutions:
    """
    The substitutions that Spark and Hadoop make in the strings of one configuration. Not thread-safe.

    An environment variable is named as in Spark, ``env:NAME``.

    :param configs: key -> its string
    """

    def __init__(self, configs: Mapping[str, str]) -> None:
        self._configs = configs
        self._named: dict[tuple[str, bool], frozenset[str]] = {}
        self._left = _MOST

    def keys_in(self, key: str, text: str) -> set[str]:
        """
        Return the keys whose values become a part of ``text`` under ``key``, also through other keys.

        ``ANY_KEY`` is among them if Hadoop puts a name together from several parts.

        :raises ExposedValueError: the strings have too many names to follow
        """
        of_hadoop = hadoop_name(key) is not None
        found: set[str] = set()
        todo = [_names(text, of_hadoop=of_hadoop)] if "}" in text.partition("${")[2] else []
        while todo:
            names = todo.pop()
            self._count(1 + len(names))
            new = names - found
            found |= new
            todo += [self._names_of(name, of_hadoop=of_hadoop) for name in new if name in self._configs]
        return found

    def secrets_in(
        self, key: str, text: str, secrets: set[str], *, label_of: Callable[[str], str] = lambda name: name
    ) -> list[str]:
        """
        Return those of ``secrets`` that become a part of ``text`` under ``key``: all others, if a name is put together.

        :param label_of: returns what ``secrets`` call a name
        :raises ExposedValueError: as ``keys_in`` does
        """
        found = self.keys_in(key, text)
        return sorted(secrets - {key} if ANY_KEY in found else secrets.intersection(map(label_of, found)))

    def configured_in(self, key: str, text: str) -> Collection[str]:
        """
        Return those of the configuration's keys whose values become a part of ``text`` under ``key``.

        If a name is put together, it can be that of any key: they are all.

        :raises ExposedValueError: as ``keys_in`` does
        """
        found = self.keys_in(key, text)
        return self._configs.keys() if ANY_KEY in found else found & self._configs.keys()

    def _names_of(self, key: str, *, of_hadoop: bool) -> frozenset[str]:
        """Return the names in the string of a key, which Hadoop reads again if it puts them into others."""
        of_hadoop = of_hadoop or hadoop_name(key) is not None
        known = self._named.get((key, of_hadoop))
        if known is None:
            known = self._named[key, of_hadoop] = _names(self._configs[key], of_hadoop=of_hadoop)
        return known

    def _count(self, number: int) -> None:
        self._left -= number
        if self._left < 0:
            raise ExposedValueError(_TOO_MANY)


def _names(text: str, *, of_hadoop: bool) -> frozenset[str]:
    joined = {ANY_KEY} if of_hadoop and re.search(_JOINED, re.sub(_HADOOP, _NAME, text)) else ()
    return frozenset(_named(text, of_hadoop=of_hadoop)).union(joined)


def _named(text: str, *, of_hadoop: bool) -> Iterator[str]:
    """Yield the names of the keys and of the environment variables in ``text``."""
    if "${" not in text:
        return
    for part in text.split("}")[:-1]:
        solid = part[max(map(part.rfind, " \t\n\v\f\r")) + 1 :]  # no name has a blank
        _, _, outer = solid.partition("${")  # Spark begins with the first of "${${"
        yield from _of_spark(outer.removeprefix("system:"))
        _, is_open, inner = solid.rpartition("${")  # and Hadoop with the last
        yield from _of_spark(inner)
        yield from _of_hadoop(inner) if is_open and of_hadoop else ()


def _of_spark(name: str) -> Iterator[str]:
    if name.startswith(("spark.", "env:")):  # Spark's keys are also system properties of its driver
        yield name


def _of_hadoop(name: str) -> Iterator[str]:
    """Yield what Hadoop could mean by ``name``, which can have a default, as in ``env.NAME:-default``."""
    if name.startswith("env."):
        yield f"env:{re.split(':?-', name.removeprefix('env.'), maxsplit=1)[0]}"
    elif name.startswith("hive."):
        yield f"spark.{name}"
    for each in (name, *other_names(name)):
        yield f"{HADOOP_PREFIX}{each}"
        if variable := _FROM_ENVIRONMENT.get(each):
            yield f"env:{variable}"


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
