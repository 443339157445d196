"""The ``spark-defaults.conf`` that Spark reads if it gets no properties file."""

from __future__ import annotations

from pathlib import Path

from airflow_config_providers.spark.installation import SparkInstallation, is_file
from airflow_config_providers.spark.layer_files import ConfigFile


def defaults_of(spark: SparkInstallation) -> ConfigFile | None:
    """
    Return the defaults file that a Spark reads if it gets no properties file.

    :return: None if there is no such file, or if its program is a script from which Spark cannot be located;
        set ``SPARK_CONF_DIR`` or ``SPARK_HOME`` then
    """
    directory = spark.conf_directory
    return defaults_in(directory) if directory else None


def defaults_in(directory: Path) -> ConfigFile | None:
    """Return the defaults file in a directory of Spark's configuration files; None if there is none."""
    path = directory / "spark-defaults.conf"
    return ConfigFile(str(path), str(path), is_lenient=True) if is_file(path) else None
