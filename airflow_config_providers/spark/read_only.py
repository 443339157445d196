"""The keys that dynamic configuration cannot change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CONNECTION: Final = "the operator takes it from its Spark connection. Change it there."
_FOLLOWED: Final = "the operator sets it when it follows a job that runs elsewhere. Change durable in the DAG."
_SPARK: Final = "Spark itself sets it when a job starts. Remove it."

READ_ONLY: Final[Mapping[str, str]] = {
    "spark.app.id": _SPARK,
    "spark.app.startTime": _SPARK,
    "spark.executor.id": _SPARK,
    "spark.kubernetes.submission.waitAppCompletion": _FOLLOWED,
    "spark.master": _CONNECTION,
    "spark.submit.deployMode": _CONNECTION,
    "spark.yarn.submit.waitAppCompletion": _FOLLOWED,
}
"""
Key -> the reason.

``spark-submit`` gets the master as an option, which overrides every key, and the operator follows a job according to
the deploy mode of the connection, not of a key. If it polls a cluster for the end of a job, it makes spark-submit
return at once, and fails a job on YARN whose configuration says otherwise.
"""
