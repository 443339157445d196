"""Numbers that mean no limit, or none of something."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from typing import Final

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
