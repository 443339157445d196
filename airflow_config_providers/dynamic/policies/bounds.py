"""Bounds on memory, cores and instances."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_config_providers.core.java_text import BLANKS, SIZES, parse_integer, read_quantity
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.spark_keys import (
    all_settings,
    canonical_name,
    heap_problems,
    heap_settings,
    names_of,
    newest_name,
    twice_named,
    unreadable,
)
from airflow_config_providers.exceptions import ConfigException, PolicyViolation, refuse

PLAIN_UNITS: Final[Mapping[str, str]] = {
    "spark.driver.maxResultSize": "b",
    "spark.driver.memory": "m",
    "spark.driver.memoryOverhead": "m",
    "spark.executor.memory": "m",
    "spark.executor.memoryOverhead": "m",
    "spark.executor.pyspark.memory": "m",
    "spark.memory.offHeap.size": "b",
    "spark.yarn.am.memory": "m",
    "spark.yarn.am.memoryOverhead": "m",
}
"""Key -> the unit that Spark assumes for a number without one."""

_NEGATIVE: Final = range(-sys.maxsize, 0)
_NOT_POSITIVE: Final = range(-sys.maxsize, 1)
_ZERO: Final = range(1)

UNLIMITED: Final[Mapping[str, Container[int]]] = {
    "spark.connect.execute.reattachable.senderMaxStreamSize": _NOT_POSITIVE,
    "spark.driver.maxResultSize": _NOT_POSITIVE,
    "spark.executor.logs.rolling.maxRetainedFiles": _NOT_POSITIVE,
    "spark.executor.pyspark.memory": _NOT_POSITIVE,  # pyspark/worker_util.py sets only limits above zero
    "spark.python.factory.idleWorkerMaxPoolSize": _NOT_POSITIVE,
    "spark.scheduler.listenerbus.metrics.maxListenerClassesTimed": _NEGATIVE,
    "spark.sql.codegen.logging.maxLines": _NEGATIVE,
    "spark.sql.cteRecursionLevelLimit": _NEGATIVE,
    "spark.sql.cteRecursionRowLimit": _NEGATIVE,
    "spark.sql.execution.arrow.maxBytesPerBatch": _NOT_POSITIVE,
    "spark.sql.execution.arrow.maxBytesPerOutputBatch": _NOT_POSITIVE,
    "spark.sql.execution.arrow.maxRecordsPerBatch": _NOT_POSITIVE,
    "spark.sql.execution.arrow.maxRecordsPerOutputBatch": _NOT_POSITIVE,
    "spark.sql.files.maxRecordsPerFile": _NOT_POSITIVE,
    "spark.sql.planner.pythonExecution.memory": _NOT_POSITIVE,  # as spark.executor.pyspark.memory
    "spark.sql.streaming.stateStore.maxVersionsToDeletePerMaintenance": _NOT_POSITIVE,
    "spark.unsafe.sorter.spill.merge.factor": _NEGATIVE,
}
"""
Key -> numbers that Spark reads as "no limit", according to its documentation unless noted.

A number that is simply large, such as the 2147483647 of ``spark.dynamicAllocation.maxExecutors``, is above any maximum.
"""

HARMLESS: Final[Mapping[str, Container[int]]] = {
    "spark.connect.grpc.port.maxRetries": _ZERO,
    "spark.driver.memoryOverhead": _ZERO,
    "spark.dynamicAllocation.initialExecutors": _ZERO,
    "spark.dynamicAllocation.minExecutors": _ZERO,
    "spark.executor.instances": _ZERO,
    "spark.executor.memoryOverhead": _ZERO,
    "spark.io.compression.zstd.workers": _ZERO,
    "spark.memory.offHeap.size": _ZERO,
    "spark.port.maxRetries": _ZERO,
    "spark.scheduler.maxRetainedRemovedDecommissionExecutors": _ZERO,
    "spark.scheduler.maxRetainedUnknownDecommissionExecutors": _ZERO,
    "spark.sql.adaptive.autoBroadcastJoinThreshold": _NOT_POSITIVE,
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": _ZERO,
    "spark.sql.autoBroadcastJoinThreshold": _NOT_POSITIVE,
    "spark.sql.maxConcurrentOutputFileWriters": _ZERO,
    "spark.yarn.am.memoryOverhead": _ZERO,
}
"""Key -> numbers that mean none, or that switch off what the key limits."""

_Read = Callable[[str], int | None]
"""Returns the number that a string means; None if it is not a number."""


class Bounds(AlterConfigPolicy):
    """
    Denies a size or a number that is out of bounds, or that cannot be compared with them.

    A key that is not set passes, since Spark's default applies. With dynamic allocation,
    ``spark.dynamicAllocation.maxExecutors`` limits the number of executors.

    A heap size in the options of a Java virtual machine is treated as the memory of that machine.

    With ``max``, zero and negative numbers are denied if Spark reads them as "no limit", or if that is not known,
    unless ``min`` allows them. A value that Spark completes later cannot be compared, and is denied.

    Parameters: each bounded key, with ``min``, ``max`` or both. A number such as ``8`` bounds a number, a string such
    as ``16g`` a size. ``unit`` is the unit of a size without one, such as ``m``; keys of ``PLAIN_UNITS`` have Spark's
    unit by default. A value with a reference is denied, unless ``references`` is true.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the bounds."""
        if not configs:
            raise ConfigException("There are no bounds. Add one, such as spark.executor.cores: {max: 8}")
        bounds: dict[str, _KeyBounds] = {}
        problems = twice_named(map(str, configs))
        for key, given in configs.items():
            try:
                bounds[canonical_name(str(key))] = _bound(str(key), given)
            except ConfigException as error:
                problems += error.problems
        refuse(ConfigException, problems)
        self._bounds = bounds

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each key that is out of bounds."""
        configs = request.configs_after
        problems = [
            f"'{printable(key)}' {problem}"
            for key, text in [*all_settings(configs), *heap_settings(configs)]
            for name in names_of(key)
            if name in self._bounds and (problem := self._bounds[name].problem(text))
        ]
        unknown = unreadable(configs) | heap_problems(configs, self._bounds)
        refuse(PolicyViolation, [*problems, *unknown.values()])


@dataclass(frozen=True, slots=True)
class _KeyBounds:
    """
    The bounds of one key.

    :param key: its current name
    :param least: the minimum as written
    :param most: the maximum as written
    """

    key: str
    read: _Read
    least: str | None
    most: str | None
    takes_references: bool

    def problem(self, text: str) -> str | None:
        if scan(text):
            if self.takes_references:
                return None
            return "contains a reference, so its bounds cannot be checked. Write the value itself."
        number = self.read(text)
        if number is None:
            return f"cannot be compared with {self.most or self.least}. Write it in the same form."
        if self.most is not None and number > self._number(self.most):
            return f"is more than {self.most}. Lower it."
        if self.least is not None and number < self._number(self.least):
            return f"is less than {self.least}. Raise it."
        return self._unlimited(number)

    def _unlimited(self, number: int) -> str | None:
        """Return the problem with a number below ``max`` that can mean "no limit"; None if there is none."""
        if self.most is None or number > 0:
            return None
        if number in UNLIMITED.get(self.key, ()):
            return f"has a number that means no limit. Write a number from 1 to {self.most}."
        is_asked_for = self.least is not None or self._number(self.most) <= 0
        if is_asked_for or number in HARMLESS.get(self.key, ()):
            return None
        return f"has a number below 1, which can mean no limit. Write 1 to {self.most}, or add min to the policy."

    def _number(self, text: str) -> int:
        return self.read(text) or 0


def _bound(key: str, given: Any) -> _KeyBounds:
    where = f"'{printable(key)}': "
    params = Params(given if isinstance(given, Mapping) else {}, where)
    limits = {name: limit for name in ("min", "max") if (limit := params.value(name)) is not None}
    unit = params.text("unit", PLAIN_UNITS.get(newest_name(key), ""))
    takes_references = params.flag("references")
    read = _number if all(isinstance(limit, int) for limit in limits.values()) else _sizes(unit)
    params.problems += [where + problem for problem in _wrong(limits, read, unit)]
    params.finish()
    least, most = (None if name not in limits else printable(str(limits[name])) for name in ("min", "max"))
    return _KeyBounds(newest_name(key), read, least, most, takes_references)


def _wrong(limits: Mapping[str, Any], read: _Read, unit: str) -> Iterator[str]:
    if not limits:
        yield "expected min, max or both, such as {max: 16g}."
    if read is not _number and unit not in SIZES:
        yield "the unit of sizes without a unit is missing. Add it, such as unit: m. Write numbers without quotes."
        return
    numbers = {name: read(str(limit)) for name, limit in limits.items()}
    for name, number in numbers.items():
        if number is None:
            yield f"{name} is neither a number nor a size such as 16g. Correct it."
    least, most = numbers.get("min"), numbers.get("max")
    if least is not None and most is not None and least > most:
        yield "min is more than max. Correct them."


def _number(text: str) -> int | None:
    return parse_integer(text.strip(BLANKS))


def _sizes(unit: str) -> _Read:
    return lambda text: read_quantity(text, SIZES, default_unit=unit)
