"""Which keys a dynamic configuration does not change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_CONNECTION: Final = "the operator takes it from its Spark connection. Change it there."
_SPARK: Final = "Spark sets it itself when a job starts. Leave it out."

READ_ONLY: Final[Mapping[str, str]] = {
    "spark.app.id": _SPARK,
    "spark.app.startTime": _SPARK,
    "spark.executor.id": _SPARK,
    "spark.master": _CONNECTION,
    "spark.submit.deployMode": _CONNECTION,
}
"""
Key -> why.

``spark-submit`` gets the master as an option, which beats every key, and the operator follows a job by the deploy mode
of the connection, whatever a key says.
"""
