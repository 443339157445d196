"""The SparkSession of a driver that resolves its configuration itself."""

from __future__ import annotations

import atexit
import os
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from airflow_config_providers.core import properties
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ResolvedConfig, Unresolved
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.log import reversal
from airflow_config_providers.spark import child_environment, driver_configuration, specification
from airflow_config_providers.spark.driver_process import DriverProcess, driver_process
from airflow_config_providers.spark.layers import read_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(
    builder: SparkSession.Builder | None = None,
    *,
    providers: Mapping[str, str] | str | None = None,
    unresolved: str = Unresolved.FAIL.value,
) -> SparkSession:
    """
    Build the SparkSession of this driver, with values in place of the references in its configuration.

    Call it first: a SparkContext takes its configuration when it is made. Under spark-submit the configuration is
    the one that was submitted; in a Python process that starts its own JVM it is that of ``builder`` and of
    ``spark-defaults.conf``, and the values go to the JVM through a file that nobody else can read.

    Spark hides what was resolved, and what Python prints and logs from then on shows references. What a provider
    lent is kept until the process ends, and given back then. Needs no Airflow. Not thread-safe.

    :param builder: with options of the job's own, which may hold references too; none of ``remote``
    :param providers: ``config.providers`` and what is below it, or the path of a properties file with them; None for
        what was submitted under ``spark.config.providers``, or under ``spark.config.providers_file``
    :param unresolved: ``fail`` or ``keep``; what becomes of a reference that nobody answers
    :raises ConfigException: there is a SparkContext already, or the configuration cannot be used
    :raises ExposedValueError: a reference stands where Spark reads it before Python, or shows it
    :raises UndeliverableValueError: Spark would change a value
    :raises ProviderDefinitionError: a provider that is referred to is defined wrongly
    :raises ProviderLookupError: a provider gave no answer
    :raises ValueError: ``unresolved`` is another word
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - slow, and not there where DAGs are read

    builder = builder or SparkSession.builder
    own = {key: str(value) for key, value in builder._options.items()}
    process = driver_process(os.environ)
    configs = {**process.configs(), **own}
    with ExitStack() as stack:
        opened = stack.enter_context(ProviderRegistry(deployment=True).on_demand(_definitions(configs, providers)))
        found = driver_configuration.resolved(
            configs, opened, unresolved=Unresolved(unresolved), has_begun=process.has_begun
        )
        values = driver_configuration.with_redaction(found)
        reversal.install(found.reverser)
        _start(process, values, found, withheld=child_environment.withheld(opened.environment_names()))
        atexit.register(stack.pop_all().close)
    for key, text in own.items():
        builder.config(key, values.get(key, text))
    found.clear()
    return builder.getOrCreate()


def _definitions(configs: Mapping[str, str], given: Mapping[str, str] | str | None) -> dict[str, str]:
    if isinstance(given, Mapping):
        return dict(given)
    path = given or configs.get(specification.FILE_KEY)
    if path:
        return {entry.key: entry.value for entry in properties.parse(read_text(path, name=path), name=path)}
    definitions = specification.taken(configs)
    specification.require_open(definitions)
    return definitions


def _start(
    process: DriverProcess, values: Mapping[str, str], found: ResolvedConfig, *, withheld: Collection[str]
) -> None:
    """Start Spark; what it says of a configuration that it does not take may hold a value."""
    problem = ""
    try:
        process.start(values, withheld=withheld)
    except ConfigException:
        raise
    except Exception as error:  # noqa: BLE001 - whatever Spark or its JVM raises
        problem = found.reverser.reverse_text(f"{type(error).__name__}: {error}")
    if problem:
        raise ConfigException(f"Spark did not start: {problem}")
