"""The JVM of a driver: one that runs already, or one that Python is to start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping
from pathlib import Path
from typing import Protocol

from airflow_config_providers.exceptions import ConfigException, UndeliverableValueError
from airflow_config_providers.foreign import SPARK_CONTEXT, require
from airflow_config_providers.spark import child_environment, fidelity
from airflow_config_providers.spark.layers import ConfigFile, file_layer
from airflow_config_providers.spark.submit_arguments import reading_properties


class DriverProcess(Protocol):
    """Where the configuration comes from, and where it goes."""

    has_begun: bool
    """Whether the JVM runs, so that what it is started with is settled."""

    def configs(self) -> dict[str, str]:
        """Give the configuration as it was written, with references."""

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        """
        Make the SparkContext with ``configs``.

        :param withheld: names of the environment variables that what is started for it does not inherit
        """


class Submitted:
    """A JVM that spark-submit started, in client mode or in cluster mode."""

    has_begun = True

    def configs(self) -> dict[str, str]:
        """Give what was submitted."""
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - slow, and not there where DAGs are read

        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        """Make the SparkContext; the JVM runs already, with all that it inherited."""
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - as above

        SparkContext(conf=SparkConf().setAll(list(configs.items())))


class Unsubmitted:
    """
    A Python process without a JVM, as in a notebook or a container that runs ``python job.py``.

    :param environ: of the process; its ``PYSPARK_SUBMIT_ARGS`` is set while the JVM starts
    """

    has_begun = False

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ

    def configs(self) -> dict[str, str]:
        """Give what stands in ``spark-defaults.conf``."""
        directory = self._environ.get("SPARK_CONF_DIR") or Path(_home(), "conf")
        path = Path(directory, "spark-defaults.conf")
        file = ConfigFile(str(path), str(path), is_lenient=True)
        return dict(file_layer(file).configs) if path.is_file() else {}

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        """
        Start the JVM and make the SparkContext.

        :raises UndeliverableValueError: a value would not pass through a properties file
        """
        from pyspark import SparkContext  # noqa: PLC0415 - as above

        lost = [key for key, value in configs.items() if not fidelity.survives_file(key, value)]
        if lost:
            raise UndeliverableValueError(*(problem for key in lost for problem in _why(key, configs[key])))
        with (
            reading_properties(configs, self._environ),
            child_environment.lacking(self._environ, withheld),
        ):
            SparkContext._ensure_initialized()
        SparkContext()


def driver_process(environ: MutableMapping[str, str]) -> DriverProcess:
    """
    Find out what kind of driver this process is.

    :raises ConfigException: it has a SparkContext already
    :raises UnsupportedVersionError: this PySpark lacks something that this package leans on
    """
    from pyspark import SparkContext  # noqa: PLC0415 - slow, and not there where DAGs are read

    require(SPARK_CONTEXT)
    if SparkContext._active_spark_context is not None:
        raise ConfigException(
            "There is a SparkContext already, and its configuration is fixed. Call session() before anything "
            "else makes one."
        )
    runs = "PYSPARK_GATEWAY_PORT" in environ or SparkContext._gateway is not None
    return Submitted() if runs else Unsubmitted(environ)


def _why(key: str, value: str) -> list[str]:
    return list(fidelity.problems(key, value, written="")) or [f"{key} would not arrive as it is. Remove it."]


def _home() -> str:
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 - as above

    return str(_find_spark_home())
