"""The keys that Spark knows, and those that an unknown key probably means."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, older_names
from airflow_config_providers.spark import arguments
from airflow_config_providers.spark.catalogue import READ_ONLY
from airflow_config_providers.spark.catalogue_file import all_names
from airflow_config_providers.spark.near_keys import NearKeys

SPARK: Final = "spark."
"""The prefix of Spark's keys; spark-submit ignores all others."""

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

_BELOW_FREE: Final = tuple(f"{name}." for name in _FREE)

_OF_JOBS: Final = "spark.app."
"""People choose names below it for their jobs, so that no word is missing there."""

_OF_PLATFORMS: Final = ("spark.sql.dynamicPartitionPruning.enabled",)
"""Keys that a platform documents for its own Spark, here EMR, and that resemble one of Spark's."""

_OF_HADOOP: Final = ("ipc", "net", "orc")
"""Beginnings of Hadoop's keys of which none has an older name or is generated."""

_MOST_CHARACTERS: Final = 256
"""A longer key is not compared, which would take time: the longest that Spark knows has some 90 characters."""

_MOST_DOTS: Final = 16
"""A key with more dots is not compared, which would take time: those that Spark knows have at most 10."""


def meant(key: str) -> str | None:
    """
    Return the key of which ``key`` is probably a misspelling.

    Keys that people choose for their jobs are not misspellings, unless they differ from a known key in a letter or two,
    or in a word that is missing, written twice, or in another number.

    :return: None for a key that a version of Spark in the catalogue knows, and for one that is close to none
    """
    if key in _names() or len(key) > _MOST_CHARACTERS or key.count(".") > _MOST_DOTS:
        return None
    return _nearest(key)


def with_prefix(key: str) -> str:
    """Return the Spark key that a key without the prefix ``spark.`` probably means."""
    if near := meant(key) or meant(SPARK + key):
        return near
    is_hadoop = SPARK + key not in _names() and key.partition(".")[0] in _beginnings_of_hadoop()
    return f"{HADOOP_PREFIX if is_hadoop else SPARK}{key}"


@cache
def _names() -> frozenset[str]:
    return frozenset().union(
        all_names(),
        older_names().keys(),
        older_names().values(),
        arguments.SUBMIT.keys.values(),
        READ_ONLY,
        _OF_PLATFORMS,
    )


@cache
def _beginnings_of_hadoop() -> frozenset[str]:
    from airflow_config_providers.dynamic.policies.generated_names import CODE_LOADING_HADOOP  # noqa: PLC0415 - for a mistake only

    older = (name.removeprefix(HADOOP_PREFIX) for name in older_names() if name.startswith(HADOOP_PREFIX))
    return frozenset(name.partition(".")[0] for name in (*CODE_LOADING_HADOOP, *older, *_OF_HADOOP))


@cache
def _of_spark() -> NearKeys:
    names = sorted(name for name in _names() if not name.startswith(HADOOP_PREFIX))
    return NearKeys(sorted(names, key=older_names().__contains__), _FREE)


@cache
def _of_jobs() -> NearKeys:
    """Return the few names that a key below ``_OF_JOBS`` can mean, among which one is found sooner than among all."""
    prefix = _OF_JOBS.rstrip(".")
    return NearKeys(sorted(name for name in _names() if name.startswith(prefix)))


@lru_cache(maxsize=4096)
def _nearest(key: str) -> str | None:
    if key.startswith(_BELOW_FREE) or key in _FREE:
        return None
    if key.startswith(_OF_JOBS):
        return _of_jobs().meant(key)
    return _of_spark().meant(key) or _of_spark().with_missing_word(key)
