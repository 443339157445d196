"""The names under which Spark and Hadoop read a key: older names, and names for a single bucket or account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_config_providers.core.older_names import OLDER_NAMES

_HADOOP: Final = "spark.hadoop."
_BUCKET: Final = "fs.s3a.bucket."
_AZURE: Final = "fs.azure."
_LONGEST: Final = 512
"""The longest key of a bucket or an account: the general key, a name of 63 characters, and a host name."""
_MOST_DOTS: Final = 32
"""The most dots in the name of a bucket, or in a general key of Azure."""


def current_name(key: str) -> str:
    """Return the current name of ``key`` in Spark or Hadoop."""
    return OLDER_NAMES.get(key, key)


def canonical_name(key: str) -> str:
    """Return the one name for all names of ``key``; for a Hadoop key, it begins with ``spark.hadoop.``."""
    hadoop = _hadoop_name(key)
    return current_name(key if hadoop is None else _HADOOP + hadoop)


def names_of(key: str) -> list[str]:
    """
    Return the names that ``key`` can mean, itself first; those of Hadoop begin with ``spark.hadoop.``.

    A Hadoop key can also be written without that prefix, because Spark SQL passes all keys of a session to Hadoop, and
    a Hive key with ``spark.hive.``. A key for one S3 bucket or one Azure account also means the general key.
    """
    names = [key, current_name(key)]
    hadoop = _hadoop_name(key)
    if hadoop is not None:
        for name in (hadoop, *_general_names(hadoop)):
            names += [_HADOOP + name, current_name(_HADOOP + name)]
    return list(dict.fromkeys(names))


def _hadoop_name(key: str) -> str | None:
    if key.startswith("spark.hive."):
        return key.removeprefix("spark.")
    if key.startswith("spark.") and not key.startswith(_HADOOP):
        return None
    return key.removeprefix(_HADOOP)


def _general_names(name: str) -> Iterator[str]:
    if len(name) > _LONGEST:
        return
    if name.startswith(_BUCKET):
        parts = name.removeprefix(_BUCKET).split(".")
        yield from (f"fs.s3a.{'.'.join(parts[first:])}" for first in range(1, min(len(parts), _MOST_DOTS)))
    if name.startswith(_AZURE):
        parts = name.split(".")
        yield from (".".join(parts[:count]) for count in range(3, min(len(parts), _MOST_DOTS)))
