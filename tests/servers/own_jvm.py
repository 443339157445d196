"""A JVM of PySpark for some tests, whatever others have left in the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests.limits import LONGEST

_SHARED: Final[dict[str, Any]] = {"_gateway": None, "_jvm": None}
"""What PySpark knows of the JVM that some files share."""


@contextmanager
def own_jvm() -> Iterator[None]:
    """Let PySpark start a JVM, and end it afterwards; what another test has left is put aside."""
    from pyspark import SparkContext

    with _nothing_left():
        yield
        gateway = SparkContext._gateway
    gc.collect()  # what is left of it would ask the gateway later, amid whatever runs then
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(LONGEST)


@contextmanager
def shared_jvm() -> Iterator[None]:
    """Do the same with one JVM for all files of this process that ask for it. It ends with the process."""
    from pyspark import SparkContext

    with _nothing_left() as aside:
        for name, known in _SHARED.items():
            aside.setattr(SparkContext, name, known)
        yield
        _SHARED.update({name: getattr(SparkContext, name) for name in _SHARED})


@contextmanager
def _nothing_left() -> Iterator[pytest.MonkeyPatch]:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as aside:
        for name in ("_active_spark_context", "_gateway", "_jvm"):
            aside.setattr(SparkContext, name, None)
        aside.setattr(SparkSession, "_instantiatedSession", None)
        yield aside
