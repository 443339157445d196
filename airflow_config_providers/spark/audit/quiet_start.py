"""Spark's log while it starts, without its usual lines, unless the deployment has a log configuration of its own."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_config_providers.spark import child_process
from airflow_config_providers.spark.jvm import spark_home

_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")


@contextmanager
def quiet_start(environ: MutableMapping[str, str]) -> Iterator[None]:
    """
    Let the JVM that PySpark starts in this block log only what matters, with a log configuration of this package.

    The deployment's own log configuration is left alone, wherever it is: in Spark's folder of configuration, in the
    environment or in Java options. This concerns only this process: executors on a cluster have their own.

    :param environ: the environment of this process, which is restored when the block ends
    """
    if _has_own(environ) or not _LOGGING.is_file():  # it is not a file if this package was imported from a zip
        yield
        return
    ours = f"'-Dlog4j2.configurationFile={_LOGGING.as_uri()}'"
    options = f"{ours} {environ.get(_OPTIONS, '')}".rstrip()  # of two of one name, Java takes the last
    with child_process.having(environ, _OPTIONS, options):
        yield


def _has_own(environ: MutableMapping[str, str]) -> bool:
    """Return whether there is a log configuration for Spark."""
    folder = Path(environ.get("SPARK_CONF_DIR") or Path(spark_home(), "conf"))
    names = ("log4j2*.properties", "log4j2*.xml", "log4j2*.y*ml", "log4j2*.js*n", "log4j.properties", "log4j.xml")
    is_in_folder = any(True for name in names for _ in folder.glob(name))
    return is_in_folder or any(name.startswith("LOG4J_") for name in environ)
