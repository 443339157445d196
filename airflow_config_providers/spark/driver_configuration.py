"""Resolves the configuration that a driver was given into the one that its SparkContext gets."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.resolver import ConfigResolver, ResolvedConfig, Unresolved
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import variables
from airflow_config_providers.exceptions import ExposedValueError, UndeliverableValueError
from airflow_config_providers.spark import fidelity
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.early import is_early
from airflow_config_providers.spark.expansion import SUBSTITUTED_BY_SPARK
from airflow_config_providers.spark.redaction import REDACTION_KEY, widened
from airflow_config_providers.spark.specification import is_specification


def resolved(
    configs: Mapping[str, str],
    providers: Mapping[str, ConfigProvider],
    *,
    unresolved: Unresolved = Unresolved.FAIL,
    has_begun: bool,
) -> ResolvedConfig:
    """
    Return ``configs`` resolved, without the keys that define providers for the driver.

    :param has_begun: whether the driver's JVM already runs
    :raises ExposedValueError: a reference is in a key that Spark reads before Python runs, or that it shows
    :raises UndeliverableValueError: Spark would change a value
    :raises ConfigProvidersError: for the reasons of ``ConfigResolver.resolve``
    """
    written = texts(configs)
    if has_begun:
        _refuse_early(written, providers)
    resolver = ConfigResolver(providers, spark_definition(), unresolved=unresolved, foreign=SUBSTITUTED_BY_SPARK)
    found = resolver.resolve([ConfigLayer(ConfigSource.DAG_CONFIG, "Spark's configuration", written)])
    _refuse_changes(found)
    return found


def texts(configs: Mapping[str, str]) -> dict[str, str]:
    """Return ``configs`` without the keys that define providers for the driver."""
    return {key: text for key, text in configs.items() if not is_specification(key)}


def with_redaction(found: ResolvedConfig) -> dict[str, str]:
    """Return the values as a new mapping, with a pattern by which Spark hides those from references."""
    values, written = found.configs(), found.layered.settled
    changed = [key for key, value in values.items() if value != written[key]]
    redaction = widened(values.get(REDACTION_KEY), changed)
    return values if redaction is None else {**values, REDACTION_KEY: redaction}


def _refuse_early(texts: Mapping[str, str], providers: Mapping[str, ConfigProvider]) -> None:
    problems = [
        f"{printable(key)}: Spark reads this key before Python runs, or shows it, so {printable(str(variable))} cannot "
        f"be resolved in the driver. Write the value itself, or resolve on the worker."
        for key, text in texts.items()
        if is_early(key)
        for variable in variables(text)
        if variable.provider in providers
    ]
    if problems:
        raise ExposedValueError(*problems)


def _refuse_changes(found: ResolvedConfig) -> None:
    written, values = found.layered.settled, found.configs()
    problems = [
        problem
        for key, value in values.items()
        if value != written[key]
        for problem in fidelity.problems_in_process(key, value, written=written[key])
    ]
    if problems:
        raise UndeliverableValueError(*problems)
