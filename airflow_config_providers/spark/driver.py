"""The SparkSession of a driver that resolves its configuration itself, in a JVM that runs or that Python starts."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core import properties
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.lookup import ONCE, PATIENT, FetchOptions
from airflow_config_providers.core.process_environment import lacking
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.resolver import ConfigResolver, Unresolved
from airflow_config_providers.core.text import is_unicode, printable
from airflow_config_providers.core.variable import refers_to, variables
from airflow_config_providers.exceptions import ConfigException, ExposedValueError, UndeliverableValueError, refuse
from airflow_config_providers.foreign import SESSION_BUILDER, SPARK_CONTEXT, require
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark import delivery, driver_providers
from airflow_config_providers.spark.catalogue import MASTER, spark_definition
from airflow_config_providers.spark.driver_configs import DriverConfigs, keep
from airflow_config_providers.spark.driver_ports import authentication, doubt_of_driver
from airflow_config_providers.spark.exposed_keys import is_early, is_exposed
from airflow_config_providers.spark.installation import defaults_in
from airflow_config_providers.spark.jvm import reading_properties, spark_home
from airflow_config_providers.spark.layer_files import file_layer, read_text
from airflow_config_providers.spark.processes import child_process
from airflow_config_providers.spark.redaction import redacting
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK, Substitutions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_DRIVER_MEMORY: Final = "spark.driver.memory"

_READ_ALREADY: Final = (
    "{}: Spark reads this key before Python runs, or shows it, so {} cannot be resolved in the driver. Write the value "
    "itself, or resolve on the worker."
)
_PUT_IN: Final = "{}: Spark shows this key, and puts the value of {} into it. Remove its '${{...}}'."
_SHOWN: Final = "{}: Spark shows this key, so the value of {} would be readable by others. Pass it under another key."


@clearing_frames
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
    ``spark-defaults.conf``, and the values go to the JVM through a file that no other user can read.

    Spark hides the resolved values, and what Python prints and logs from then on shows references. Leases are kept
    until the process ends, and then revoked. This needs no Airflow. Not thread-safe.

    :param builder: a builder with options of the job, which can hold references too, but not ``remote``
    :param providers: ``config.providers`` and the keys below it, or the path of a properties file with them; None for
        those submitted under ``spark.config.providers``, or in the file ``spark.config.providers_file``
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :raises ConfigException: a SparkContext already exists, or the configuration is wrong
    :raises ExposedValueError: a reference is in a key that Spark shows, or that a JVM that runs has read already
    :raises UndeliverableValueError: Spark would change a value
    :raises ProviderDefinitionError: the definition of a referenced provider is wrong
    :raises ProviderLookupError: a provider did not answer
    :raises ValueError: ``unresolved`` is neither ``fail`` nor ``keep``
    """
    builder = builder or pyspark.sql.SparkSession.builder
    require(SESSION_BUILDER)
    own = {key: str(value) for key, value in builder._options.items()}
    process = driver_process(os.environ)
    configs = {**process.configs(), **own}
    with ExitStack() as stack:
        opened = stack.enter_context(ProviderRegistry(deployment=True).on_demand(_definitions(configs, providers)))
        resolve = partial(resolved, configs, opened, unresolved=Unresolved(unresolved), has_begun=process.has_begun)
        found = resolve()
        values = with_redaction(found)
        current = DriverConfigs(partial(resolve, options=ONCE), found)
        names = opened.environment_names(timeout=PATIENT.timeout)
        _start(process, values, found, withheld=child_process.withheld(names))
        keep(current)
        atexit.register(stack.pop_all().close)
    for key, text in own.items():
        builder.config(key, values.get(key, text))
    found.clear()
    return builder.getOrCreate()


def resolved(
    configs: Mapping[str, str],
    providers: Mapping[str, ConfigProvider],
    *,
    unresolved: Unresolved = Unresolved.FAIL,
    has_begun: bool,
    options: FetchOptions = PATIENT,
) -> ResolvedConfig:
    """
    Return ``configs`` resolved, without the keys that define providers for the driver.

    :param has_begun: whether the driver's JVM already runs
    :param options: how providers are asked
    :raises ExposedValueError: a reference is in a key that Spark shows, or that a JVM that runs has read already
    :raises UndeliverableValueError: Spark would change a value
    :raises ConfigProvidersError: for the reasons of ``ConfigResolver.resolve``
    """
    written = {key: text for key, text in configs.items() if not driver_providers.is_driver_definition(key)}
    _refuse_seen(written, providers, has_begun=has_begun)
    resolver = ConfigResolver(
        providers, spark_definition(), unresolved=unresolved, foreign=SUBSTITUTED_BY_SPARK, options=options
    )
    found = resolver.resolve([ConfigLayer(ConfigSource.DAG_CONFIG, "Spark's configuration", written)])
    _refuse_changes(found)
    return found


def with_redaction(found: ResolvedConfig) -> dict[str, str]:
    """Return the values as a new mapping, with patterns by which Spark hides those from references."""
    values, written = found.configs(), found.layered.settled
    changed = [key for key, value in values.items() if value != written[key]]
    return {**values, **redacting(values, changed)}


def closing(configs: Mapping[str, str], found: ResolvedConfig) -> dict[str, str]:
    """
    Return what closes the ports of the driver; nothing without references.

    :param configs: all that the JVM has: only it knows its master, which a variable or an option can name
    """
    return authentication(configs, configs.get(MASTER)) if found.references else {}


def open_ports(configs: Mapping[str, str], found: ResolvedConfig) -> str:
    """
    Return the warning that others can ask the driver for its values; empty if they cannot, or without references.

    :param configs: all that the JVM has, with the result of ``closing``
    """
    return doubt_of_driver(configs) if found.references else ""


class Submitted:
    """A JVM that spark-submit started, in client mode or in cluster mode."""

    has_begun = True
    """Whether the JVM already runs, so that its options can no longer change."""

    def configs(self) -> dict[str, str]:
        """Return the submitted configuration."""
        pyspark.SparkContext._ensure_initialized()
        return dict(pyspark.SparkConf().getAll())

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> pyspark.SparkConf:
        """Return all that the JVM has with ``configs``; ``withheld`` has no effect, because it already runs."""
        return pyspark.SparkConf().setAll(list(configs.items()))


class Unsubmitted:
    """
    A Python process without a JVM, such as a notebook or a container that runs ``python job.py``.

    :param environ: the environment of the process; ``PYSPARK_SUBMIT_ARGS`` is set in it while the JVM starts
    """

    has_begun = False

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ

    def configs(self) -> dict[str, str]:
        """Return the content of ``spark-defaults.conf``, as Spark reads it."""
        directory = self._environ.get("SPARK_CONF_DIR") or Path(spark_home(), "conf")
        file = defaults_in(Path(directory))
        return delivery.left_by_file(file_layer(file).configs) if file else {}

    def start(self, configs: Mapping[str, str], *, withheld: Collection[str] = ()) -> pyspark.SparkConf:
        """
        Start the JVM, and return all that it has; what a properties file would change is set when it runs.

        :param withheld: names of the environment variables that child processes must not inherit
        :raises UndeliverableValueError: a properties file would change a value that the JVM needs before
        """
        filed = {key: value for key, value in configs.items() if delivery.survives_file(key, value)}
        set_later = {key: value for key, value in configs.items() if key not in filed}
        _refuse_too_late(set_later)
        with reading_properties(filed, self._environ), lacking(self._environ, withheld):
            pyspark.SparkContext._ensure_initialized()
        return pyspark.SparkConf().setAll(list(set_later.items()))


DriverProcess = Submitted | Unsubmitted
"""The source of a driver's configuration, with references as written, and the process that gets it."""


def driver_process(environ: MutableMapping[str, str]) -> DriverProcess:
    """
    Return the kind of driver that this process is.

    :raises ConfigException: a SparkContext already exists
    :raises UnsupportedVersionError: this PySpark lacks something that this package leans on
    """
    require(SPARK_CONTEXT)
    if pyspark.SparkContext._active_spark_context is not None:
        raise ConfigException(
            "There is already a SparkContext, whose configuration can no longer change. Call session() before "
            "anything else creates one."
        )
    runs = "PYSPARK_GATEWAY_PORT" in environ or pyspark.SparkContext._gateway is not None
    return Submitted() if runs else Unsubmitted(environ)


def _definitions(configs: Mapping[str, str], given: Mapping[str, str] | str | None) -> dict[str, str]:
    if isinstance(given, Mapping):
        return dict(given)
    path = given or configs.get(driver_providers.FILE_KEY)
    if path:
        return {entry.key: entry.value for entry in properties.parse(read_text(path, name=path), name=path)}
    definitions = driver_providers.from_spark_keys(configs)
    driver_providers.require_without_secrets(definitions)
    return definitions


def _start(
    process: DriverProcess, values: Mapping[str, str], found: ResolvedConfig, *, withheld: Collection[str]
) -> None:
    """Start Spark, and reverse its error, which can quote a value if Spark refuses the configuration."""
    try:
        conf = process.start(values, withheld=withheld)
        configs = dict(conf.getAll())
        added = closing(configs, found)
        pyspark.SparkContext(conf=conf.setAll(list(added.items())))
    except ConfigException:
        raise
    except Exception as error:  # noqa: BLE001 - Spark and its JVM can raise anything
        problem = found.reverser.reverse_text(f"{type(error).__name__}: {error}")
    else:
        if doubt := open_ports({**configs, **added}, found):
            _log.warning(doubt)
        return
    raise ConfigException(f"Spark did not start: {problem}")


def _refuse_seen(written: Mapping[str, str], providers: Mapping[str, ConfigProvider], *, has_begun: bool) -> None:
    """Refuse references under keys that the JVM has read already, or that Spark shows."""
    is_refused, problem = (is_early, _READ_ALREADY) if has_begun else (_is_shown, _SHOWN)
    problems = (
        problem.format(printable(key), printable(str(variable)))
        for key, text in written.items()
        if is_refused(key, text)
        for variable in dict.fromkeys(variables(text))
        if variable.provider in providers
    )
    put_in = (_PUT_IN.format(printable(key), printable(name)) for key, name in _put_in(written, providers))
    refuse(ExposedValueError, chain(problems, put_in))


def _put_in(written: Mapping[str, str], providers: Mapping[str, ConfigProvider]) -> Iterator[tuple[str, str]]:
    """Yield each key that Spark shows, with a key whose value, from a reference, Spark puts into its string."""
    secrets = {key for key, text in written.items() if refers_to(text, providers)}
    substitutions = Substitutions(written)
    for key, text in written.items():
        if secrets and "${" in text and is_exposed(key, text):
            yield from ((key, name) for name in substitutions.secrets_in(key, text, secrets))


def _is_shown(key: str, text: str) -> bool:
    """Return whether Spark shows what could be a secret; the memory of the driver is not one."""
    return key != _DRIVER_MEMORY and is_exposed(key, text)


def _refuse_changes(resolved: ResolvedConfig) -> None:
    written, values = resolved.layered.settled, resolved.configs()
    changed = {key: value for key, value in values.items() if value != written[key]}
    found = (delivery.value_problems_in_process(key, value, written=written[key]) for key, value in changed.items())
    refuse(UndeliverableValueError, chain.from_iterable(found))


def _refuse_too_late(configs: Mapping[str, str]) -> None:
    """Refuse what cannot be set once the JVM runs: keys that it reads before or shows, and half a character."""
    late = {key: value for key, value in configs.items() if is_early(key, value) or not is_unicode(value)}
    found = (delivery.value_problems(key, value, written=value) for key, value in late.items())
    refuse(UndeliverableValueError, chain.from_iterable(found))
