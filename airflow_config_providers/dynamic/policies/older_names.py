"""Older names of Spark's keys, which Spark still reads."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CURRENT_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.files.userClassPathFirst": "spark.executor.userClassPathFirst",
        "spark.kryoserializer.buffer.max.mb": "spark.kryoserializer.buffer.max",
        "spark.kryoserializer.buffer.mb": "spark.kryoserializer.buffer",
        "spark.unsafe.offHeap": "spark.memory.offHeap.enabled",
        "spark.yarn.access.hadoopFileSystems": "spark.kerberos.access.hadoopFileSystems",
        "spark.yarn.access.namenodes": "spark.kerberos.access.hadoopFileSystems",
        "spark.yarn.driver.memoryOverhead": "spark.driver.memoryOverhead",
        "spark.yarn.executor.memoryOverhead": "spark.executor.memoryOverhead",
        "spark.yarn.jar": "spark.yarn.jars",
        "spark.yarn.kerberos.relogin.period": "spark.kerberos.relogin.period",
        "spark.yarn.keytab": "spark.kerberos.keytab",
        "spark.yarn.max.executor.failures": "spark.executor.maxNumFailures",
        "spark.yarn.principal": "spark.kerberos.principal",
    }
)
"""Older name -> the name that took its place; those that a rule about resources, code or identity may be about."""


def current_name(key: str) -> str:
    """Give the name under which Spark knows ``key`` today."""
    return CURRENT_NAMES.get(key, key)
