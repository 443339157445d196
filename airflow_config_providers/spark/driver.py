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
from airflow_config_providers.spark.layer_files import read_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(
    builder: SparkSession.Builder | None = None,
    *,
    providers: Mapping[str, str] | str | None = None,
    unresolved: str = Unresolved.FAIL.value,
) -> SparkSession:
    """
    Return the SparkSession of this driver, with values in place of the references in its configuration.

    Call this first: a SparkContext reads its configuration when it is created. With spark-submit, that is the
    submitted configuration. In a Python process that starts its own JVM, it is that of ``builder`` and of
    ``spark-defaults.conf``, and the values go to the JVM through a file that nobody else can read.

    Spark hides the resolved values, and what Python prints and logs from then on shows references. Leases are kept
    until the process ends, and then revoked. This needs no Airflow. Not thread-safe.

    :param builder: a builder with options of the job, which may hold references too, but not ``remote``
    :param providers: ``config.providers`` and the keys below it, or the path of a properties file with them; None for
        those submitted under ``spark.config.providers``, or in the file ``spark.config.providers_file``
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :raises ConfigException: a SparkContext already exists, or the configuration is wrong
    :raises ExposedValueError: a reference is in a key that Spark reads before Python runs, or that it shows
    :raises UndeliverableValueError: Spark would change a value
    :raises ProviderDefinitionError: the definition of a referenced provider is wrong
    :raises ProviderLookupError: a provider did not answer
    :raises ValueError: ``unresolved`` is neither ``fail`` nor ``keep``
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
    """Start Spark, and reverse its error, which can quote a value if Spark refuses the configuration."""
    problem = ""
    try:
        process.start(values, withheld=withheld)
    except ConfigException:
        raise
    except Exception as error:  # noqa: BLE001 - Spark and its JVM can raise anything
        problem = found.reverser.reverse_text(f"{type(error).__name__}: {error}")
    if problem:
        raise ConfigException(f"Spark did not start: {problem}")
