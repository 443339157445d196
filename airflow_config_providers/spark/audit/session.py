"""The Spark session of the audit: a local one by default, with everything that leaves a process encrypted."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.exceptions import ConfigException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ENCRYPTED: Final = {
    "spark.authenticate": "true",
    "spark.io.encryption.enabled": "true",
    "spark.network.crypto.enabled": "true",
}
"""What keeps broadcast values from being read on a disk or on the wire."""

_DEFAULTS: Final = {
    "spark.app.name": "airflow-config-providers audit",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
}

_NO_SPARK: Final = (
    "The audit runs on Spark, and pyspark is not installed. Install the extra 'audit', as the page 'Install' of the "
    "documentation says, and Java 17 or newer."
)


@contextmanager
def audit_session(master: str | None = None, configs: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """
    Yield a session, and stop it at the end, unless it was there before.

    :param master: None for the one of Spark's own defaults, or else ``local[*]``
    :param configs: configuration that overrides the defaults of the audit
    :raises ConfigException: Spark is not installed or does not start, or what leaves a process is not encrypted
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("py4j").setLevel(logging.ERROR)  # it tells about each connection that it closes
    session = _started(master, configs or {})
    try:
        _require_encryption(session)
        yield session
    finally:
        session.stop()


def _started(master: str | None, configs: Mapping[str, str]) -> Any:
    try:
        from pyspark import SparkConf  # noqa: PLC0415 - slow to import, and it may be missing
        from pyspark.sql import SparkSession  # noqa: PLC0415 - as above
    except ImportError:
        missing = True
    else:
        missing = False
    if missing:
        raise ConfigException(_NO_SPARK)
    wanted = {**_DEFAULTS, **_ENCRYPTED, **configs}
    conf = SparkConf().setAll(list(wanted.items()))
    if master or not conf.contains("spark.master"):
        conf.setMaster(master or "local[*]")
    try:
        session = SparkSession.builder.config(conf=conf).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    except Exception as error:  # noqa: BLE001 - Py4J's errors are of many kinds, and hold a whole stack of Java
        problem = type(error).__name__
    else:
        return session
    raise ConfigException(
        f"Spark did not start ({problem}). Its own messages are above. Java 17 or newer must be installed, and the "
        f"master, if there is one, must be reachable."
    )


def _require_encryption(session: SparkSession) -> None:
    conf = session.sparkContext.getConf()
    lacking = [f"{key}={value}" for key, value in _ENCRYPTED.items() if conf.get(key, "false") != value]
    if lacking:
        raise ConfigException(
            f"Values would reach executors without encryption: set {', '.join(lacking)}. A standalone cluster also "
            f"needs the same spark.authenticate.secret as this session."
        )
