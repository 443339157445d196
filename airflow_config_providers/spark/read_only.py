"""Which keys a dynamic configuration does not change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CONNECTION: Final = "the operator takes it from its Spark connection. Change it there."
_FOLLOWED: Final = "the operator sets it where it follows a job that runs elsewhere. Change durable in the DAG."
_SPARK: Final = "Spark sets it itself when a job starts. Leave it out."

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
Key -> why.

``spark-submit`` gets the master as an option, which beats every key, and the operator follows a job by the deploy mode
of the connection, whatever a key says. Where it polls a cluster for the end of a job, it has
spark-submit end at once, and fails a job on YARN whose configuration says otherwise.
"""
