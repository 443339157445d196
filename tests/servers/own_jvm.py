"""A JVM of PySpark for some tests, whatever others have left in the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.limits import LONGEST


@contextmanager
def own_jvm() -> Iterator[None]:
    """Let PySpark start a JVM, and end it afterwards; what another test has left is put aside."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as aside:
        for name in ("_active_spark_context", "_gateway", "_jvm"):
            aside.setattr(SparkContext, name, None)
        aside.setattr(SparkSession, "_instantiatedSession", None)
        yield
        gateway = SparkContext._gateway
    gc.collect()  # what is left of it would ask the gateway later, amid whatever runs then
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(LONGEST)
