"""The keys that Spark knows, and those that an unknown key probably means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

from airflow_config_providers.core.older_names import OLDER_NAMES
from airflow_config_providers.dynamic.policies.generated_names import CODE_LOADING_HADOOP, CODE_LOADING_SPARK
from airflow_config_providers.spark import arguments
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.read_only import READ_ONLY
from airflow_config_providers.spark.spelling import distance_within, letters
from airflow_config_providers.spark.unlisted_names import UNLISTED_NAMES

SPARK: Final = "spark."
"""The prefix of Spark's keys; spark-submit ignores all others."""

_HADOOP: Final = "spark.hadoop."

_FREE: Final = (
    "spark.driver.resource",
    "spark.executor.resource",
    "spark.executorEnv",
    "spark.hadoop",
    "spark.hive",
    *(
        f"spark.kubernetes.{role}.{part}"
        for role in ("driver", "executor")
        for part in ("annotation", "label", "node.selector", "secretKeyRef", "secrets", "volumes")
    ),
    "spark.kubernetes.driver.service.annotation",
    "spark.kubernetes.driver.service.label",
    "spark.kubernetes.driverEnv",
    "spark.kubernetes.node.selector",
    "spark.metrics.conf",
    "spark.plugins.internal.conf",
    "spark.scheduler.listenerbus.eventqueue",
    "spark.sql.catalog",
    "spark.ssl",
    "spark.task.resource",
    "spark.worker.resource",
    "spark.yarn.am.resource",
    "spark.yarn.appMasterEnv",
    "spark.yarn.driver.resource",
    "spark.yarn.executor.resource",
)
"""The keys below which people choose the names."""

_MOST: Final = 2
"""The most letters in which a key can differ from the one that it probably means."""

_LONG: Final = 6
"""
The fewest letters of a part that is checked for misspellings if any name can follow it, as in ``spark.hive``. A shorter
part resembles too many words: ``spark.live.x`` does not mean ``spark.hive.x``.
"""

_LONGEST: Final = 256
_MOST_PARTS: Final = 16
"""No key that Spark knows is longer than ``_LONGEST`` or has more parts."""


def meant(key: str) -> str | None:
    """
    Return the key of which ``key`` is probably a misspelling.

    Keys that people choose for their jobs are not misspellings, unless they differ from a known key in a letter or two.

    :return: None for a key that Spark knows, and for one that is close to none
    """
    if key in _names() or len(key) > _LONGEST or key.count(".") > _MOST_PARTS:
        return None
    return _nearest(key)


def with_prefix(key: str) -> str:
    """Return the Spark key that a key without the prefix ``spark.`` probably means."""
    if near := _near(key) or _near(SPARK + key):
        return near
    is_hadoop = SPARK + key not in _names() and key.partition(".")[0] in _beginnings_of_hadoop()
    return f"{_HADOOP if is_hadoop else SPARK}{key}"


def _near(key: str) -> str | None:
    return meant(key) if len(key) <= _LONGEST else None


@cache
def _names() -> frozenset[str]:
    return frozenset(
        {
            *spark_definition().names(),
            *(name for name in CODE_LOADING_SPARK if "*" not in name),
            *OLDER_NAMES.keys(),
            *OLDER_NAMES.values(),
            *arguments.SUBMIT.keys.values(),
            *READ_ONLY,
            *UNLISTED_NAMES,
        }
    )


@cache
def _beginnings_of_hadoop() -> frozenset[str]:
    older = (name.removeprefix(_HADOOP) for name in OLDER_NAMES if name.startswith(_HADOOP))
    return frozenset(name.partition(".")[0] for name in (*CODE_LOADING_HADOOP, *older))


@cache
def _by_squashed() -> dict[str, str]:
    return {_squashed(name): name for name in sorted(_names(), reverse=True) if not name.startswith(_HADOOP)}


def _squashed(key: str) -> str:
    """Return ``key`` without the separators and the case, which people confuse."""
    return re.sub("[._-]", "", key).lower()


@lru_cache(maxsize=4096)
def _nearest(key: str) -> str | None:
    parts = key.split(".")
    if _is_free(parts):
        return None
    if same := _by_squashed().get(_squashed(key)):
        return same
    found = sorted(_tree().near(parts, _MOST))
    return found[0][1] if found else None


def _is_free(parts: Iterable[str]) -> bool:
    node: _Node | None = _tree()
    for part in parts:
        if node is None or node.is_free:
            break
        node = node.children.get(part)
    return node is not None and node.is_free


@dataclass(slots=True)
class _Node:
    """
    The keys with the same first parts.

    :param ends: whether a key ends here
    :param is_free: whether any name can follow
    :ivar letters: the letters of each part that can follow; made when they are first compared, as few ever are
    """

    children: dict[str, _Node] = field(default_factory=dict)
    ends: bool = False
    is_free: bool = False
    letters: dict[str, int] = field(default_factory=dict, init=False)

    def at(self, name: str) -> _Node:
        node = self
        for part in name.split("."):
            if (child := node.children.get(part)) is None:
                child = node.children[part] = _Node()
            node = child
        return node

    def near(self, parts: list[str], most: int) -> Iterator[tuple[int, str]]:
        """Yield the keys that differ in at most ``most`` letters, each as a pair: the number of letters and the key."""
        if self.is_free and parts:
            yield 0, ".".join(parts)
        if not parts or not self.children:
            return
        for cost, part in self._near_parts(parts[0], most):
            child = self.children[part]
            if child.ends and len(parts) == 1:
                yield cost, part
            yield from ((cost + more, f"{part}.{rest}") for more, rest in child.near(parts[1:], most - cost))

    def _near_parts(self, part: str, most: int) -> Iterator[tuple[int, str]]:
        if part in self.children:
            yield 0, part
        most = min(most, _allowed(part))
        if not most:
            return
        wanted = letters(part)
        self.letters = self.letters or {other: letters(other) for other in self.children}
        for other, its_letters in self.letters.items():
            is_close = abs(len(other) - len(part)) <= most and (wanted ^ its_letters).bit_count() <= 2 * most
            cost = distance_within(part, other, most) if is_close and other != part else None
            if cost is not None and self._may_stand_for(other):
                yield cost, other

    def _may_stand_for(self, other: str) -> bool:
        """Return whether a misspelling of ``other`` can be distinguished from a name that people chose."""
        return len(other) >= _LONG or not self.children[other].is_free


def _allowed(part: str) -> int:
    """Return in how many letters a part of a key can differ: short parts resemble each other by chance."""
    return 0 if len(part) < 4 else 1 if len(part) < 8 else _MOST


@cache
def _tree() -> _Node:
    root = _Node()
    for name in _names():
        if not name.startswith(_HADOOP):
            root.at(name).ends = True
    for name in _FREE:
        root.at(name).is_free = True
    return root
