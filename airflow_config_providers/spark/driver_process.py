"""The JVM of a driver: one that already runs, or one that Python starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping
from pathlib import Path
from typing import Protocol

from airflow_config_providers.exceptions import ConfigException, UndeliverableValueError
from airflow_config_providers.foreign import SPARK_CONTEXT, require
from airflow_config_providers.spark import child_environment, fidelity
from airflow_config_providers.spark.jvm import reading_properties
from airflow_config_providers.spark.layer_files import ConfigFile, file_layer


class DriverProcess(Protocol):
    """The source of a driver's configuration, and the process that gets it."""

    has_begun: bool
    """Whether the JVM already runs, so that its options can no longer change."""

    def configs(self) -> dict[str, str]:
        """Return the configuration as written, with references."""

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        """
        Create the SparkContext with ``configs``.

        :param withheld: names of the environment variables that child processes must not inherit
        """


class Submitted:
    """A JVM that spark-submit started, in client mode or in cluster mode."""

    has_begun = True

    def configs(self) -> dict[str, str]:
        """Return the submitted configuration."""
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - slow, and not installed where DAGs are read

        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        """Create the SparkContext; ``withheld`` has no effect, because the JVM already runs."""
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - as above

        SparkContext(conf=SparkConf().setAll(list(configs.items())))


class Unsubmitted:
    """
    A Python process without a JVM, such as a notebook or a container that runs ``python job.py``.

    :param environ: the environment of the process; ``PYSPARK_SUBMIT_ARGS`` is set in it while the JVM starts
    """

    has_begun = False

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ

    def configs(self) -> dict[str, str]:
        """Return the content of ``spark-defaults.conf``."""
        directory = self._environ.get("SPARK_CONF_DIR") or Path(_home(), "conf")
        path = Path(directory, "spark-defaults.conf")
        file = ConfigFile(str(path), str(path), is_lenient=True)
        return dict(file_layer(file).configs) if path.is_file() else {}

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> None:
        """
        Start the JVM and create the SparkContext.

        :raises UndeliverableValueError: a properties file would change a value
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
    Return the kind of driver that this process is.

    :raises ConfigException: a SparkContext already exists
    :raises UnsupportedVersionError: this PySpark lacks something that this package leans on
    """
    from pyspark import SparkContext  # noqa: PLC0415 - slow, and not installed where DAGs are read

    require(SPARK_CONTEXT)
    if SparkContext._active_spark_context is not None:
        raise ConfigException(
            "There is already a SparkContext, whose configuration can no longer change. Call session() before "
            "anything else creates one."
        )
    runs = "PYSPARK_GATEWAY_PORT" in environ or SparkContext._gateway is not None
    return Submitted() if runs else Unsubmitted(environ)


def _why(key: str, value: str) -> list[str]:
    return list(fidelity.problems(key, value, written="")) or [f"{key} would not arrive unchanged. Remove it."]


def _home() -> str:
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 - as above

    return str(_find_spark_home())
