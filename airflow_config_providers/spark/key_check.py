"""Finds keys that Spark would ignore: misspelt ones, and those of other versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import Final

from airflow_config_providers.core.keys import HADOOP_PREFIX, key_problem, older_names
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.generated_names import CODE_LOADING_HADOOP
from airflow_config_providers.spark import arguments
from airflow_config_providers.spark.catalogue import READ_ONLY
from airflow_config_providers.spark.catalogue_file import all_names
from airflow_config_providers.spark.key_notes import absence, key_notes
from airflow_config_providers.spark.near_keys import NearKeys

SPARK: Final = "spark."
"""The prefix of Spark's keys; spark-submit ignores all others."""

_SETTING: Final = "[config_providers] unknown_keys"


class UnknownKeys(Enum):
    """What to do with a key whose spelling is close to one that Spark knows, or that its version does not have."""

    WARN = "warn"
    FAIL = "fail"
    IGNORE = "ignore"
    """Keys that Spark would ignore pass, too."""


@dataclass(frozen=True, slots=True)
class KeyFindings:
    """
    The problems with the names of keys, one sentence each.

    :param problems: errors that must be corrected
    :param doubts: warnings for the reader
    """

    problems: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def find_in(
    places: Mapping[str, str], unknown: UnknownKeys, *, takes_any_key: bool = False, spark_version: str | None = None
) -> KeyFindings:
    """
    Check the names of keys.

    :param places: key -> where it was written; empty if messages need not say it
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    if unknown is UnknownKeys.IGNORE:
        return KeyFindings()
    spark_keys = [key for key in places if key.startswith(SPARK)]
    others = [] if takes_any_key else [key for key in places if not key.startswith(SPARK)]
    left_out = [
        _left_out(key, places[key]) for key in others if key_problem(key, "") is None and key not in RELOAD_ACTION_KEYS
    ]
    doubts = [_doubt(key, places[key], name) for key in spark_keys if (name := meant(key))]
    doubts += absent(places, spark_version)
    if unknown is UnknownKeys.FAIL:
        return KeyFindings((*left_out, *doubts))
    return KeyFindings(tuple(left_out), tuple(doubts))


def absent(places: Mapping[str, str], spark_version: str | None) -> tuple[str, ...]:
    """Return a doubt for each key that ``spark_version`` of Spark does not have, though another version has it."""
    if not spark_version:
        return ()
    missing = [(key, time) for key in places if key.startswith(SPARK) and (time := absence(key, spark_version))]
    return tuple(_absent(key, places[key], time, spark_version) for key, time in missing)


def find_in_layers(
    layers: Iterable[ConfigLayer],
    unknown: UnknownKeys,
    *,
    but: Collection[str] = (),
    takes_any_key: bool = False,
    spark_version: str | None = None,
) -> KeyFindings:
    """
    Check the names of keys in ``layers``. Messages name the strongest layer that has a key.

    :param but: the names of layers to ignore
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """
    looked_at = [
        layer for layer in layers if layer.source is not ConfigSource.ENVIRONMENT_CONFIG and layer.name not in but
    ]
    strongest_last = sorted(looked_at, key=lambda layer: layer.source)
    places = {key: layer.origin(key) for layer in strongest_last for key in layer.configs}
    return find_in(places, unknown, takes_any_key=takes_any_key, spark_version=spark_version)


def _left_out(key: str, place: str) -> str:
    return (
        f"{_where(key, place)}: Spark ignores keys that do not begin with '{SPARK}', did you mean "
        f"'{printable(with_prefix(key))}'? Correct the name."
    )


def _doubt(key: str, place: str, name: str) -> str:
    return (
        f"{_where(key, place)}: Spark has no such key, did you mean '{printable(name)}'? Correct the name, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _absent(key: str, place: str, time: str, version: str) -> str:
    successor = key_notes(key).successor
    instead = f"Set '{successor}' instead" if successor else "Remove it"
    return (
        f"{_where(key, place)}: Spark has this key {time}; this Spark is {printable(version)}. {instead}, or set "
        f"{_SETTING} = ignore if your job reads it."
    )


def _where(key: str, place: str) -> str:
    return f"'{printable(key)}'" + (f" ({printable(place)})" if place else "")


_FREE: Final = (
    *("spark.driver.resource", "spark.executor.resource", "spark.executorEnv", "spark.hadoop", "spark.hive"),
    *(
        f"spark.kubernetes.{role}.{part}"
        for role in ("driver", "executor")
        for part in ("annotation", "label", "node.selector", "secretKeyRef", "secrets", "volumes")
    ),
    *("spark.kubernetes.driver.service.annotation", "spark.kubernetes.driver.service.label"),
    *("spark.kubernetes.driverEnv", "spark.kubernetes.node.selector", "spark.metrics.conf"),
    *("spark.plugins.internal.conf", "spark.scheduler.listenerbus.eventqueue", "spark.sql.catalog", "spark.ssl"),
    *("spark.task.resource", "spark.worker.resource", "spark.yarn.am.resource", "spark.yarn.appMasterEnv"),
    *("spark.yarn.driver.resource", "spark.yarn.executor.resource"),
)
"""The keys below which people choose the names."""

_BELOW_FREE: Final = tuple(f"{name}." for name in _FREE)

_OF_JOBS: Final = "spark.app."
"""People choose names below it for their jobs, so that no word is missing there."""

_OF_PLATFORMS: Final = ("spark.sql.dynamicPartitionPruning.enabled",)
"""Keys that a platform documents for its own Spark, here EMR, and that resemble one of Spark's."""

_OF_HADOOP: Final = ("ipc", "net", "orc")
"""Beginnings of Hadoop's keys of which none has an older name or is generated."""

_LONGEST: Final = 256
_MOST_PARTS: Final = 16
"""No key that Spark knows is longer than ``_LONGEST`` or has more parts."""


def meant(key: str) -> str | None:
    """
    Return the key of which ``key`` is probably a misspelling.

    Keys that people choose for their jobs are not misspellings, unless they differ from a known key in a letter or two,
    or in a word that is missing, written twice, or in another number.

    :return: None for a key that a version of Spark in the catalogue knows, and for one that is close to none
    """
    if key in _names() or len(key) > _LONGEST or key.count(".") > _MOST_PARTS:
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
    older = older_names()
    return frozenset().union(
        all_names(), older, older.values(), arguments.SUBMIT.keys.values(), READ_ONLY, _OF_PLATFORMS
    )


@cache
def _beginnings_of_hadoop() -> frozenset[str]:
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
