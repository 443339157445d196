"""The keys that Spark reads before a driver can resolve references."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.spark import exposure

_KEYS: Final = frozenset(
    {
        "spark.app.name",
        "spark.archives",
        "spark.driver.cores",
        "spark.driver.log.dfsDir",
        "spark.files",
        "spark.jars",
        "spark.master",
        "spark.plugins",
        "spark.pyspark.driver.python",
        "spark.pyspark.python",
        "spark.repl.local.jars",
    }
)
_PREFIXES: Final = (
    "spark.driver.defaultJavaOptions",
    "spark.driver.extra",
    "spark.driver.memory",
    "spark.driver.resource.",
    "spark.driver.supervise",
    "spark.jars.",
    "spark.kerberos.",
    "spark.kubernetes.",
    "spark.submit.",
    "spark.yarn.",
)


def is_early(key: str) -> bool:
    """Return whether spark-submit or the driver's JVM reads ``key`` before Python runs, or Spark shows it."""
    return key in _KEYS or key.startswith(_PREFIXES) or exposure.is_exposed(key)
