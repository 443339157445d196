"""The JVM that PySpark starts in a process of Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from airflow_config_providers.foreign import SPARK_CONTEXT, require
from airflow_config_providers.spark import child_environment
from airflow_config_providers.spark.delivery import Delivery
from airflow_config_providers.spark.submit_arguments import reading_properties


def has_started() -> bool:
    """Tell whether this process has a JVM, which reads no properties file any more and is started by no command."""
    from pyspark import SparkContext  # noqa: PLC0415 - heavy, and whoever asks needs it anyway

    require(SPARK_CONTEXT)
    return SparkContext._gateway is not None


@contextmanager
def submitting(delivery: Delivery) -> Iterator[None]:
    """
    Have the JVM that PySpark starts read the private part of ``delivery`` from a file that nobody else can read.

    The JVM lives on and serves later tasks. It has forgotten that part by then: their redaction would not hide it.
    """
    if not delivery.private:
        yield
        return
    try:
        with reading_properties(delivery.private, os.environ):
            yield
    finally:
        _forget(delivery.private)


@contextmanager
def launching_without(names: Collection[str]) -> Iterator[None]:
    """Have the JVM that PySpark starts inherit no environment variable of ``names``. This process keeps them."""
    from pyspark import SparkContext  # noqa: PLC0415 - as in has_started

    place = vars(sys.modules[SparkContext.__module__])
    launch = place["launch_gateway"]

    def launch_gateway(*args: Any, **kwargs: Any) -> Any:
        with child_environment.lacking(os.environ, names):
            return launch(*args, **kwargs)

    place["launch_gateway"] = launch_gateway
    try:
        yield
    finally:
        place["launch_gateway"] = launch


def _forget(keys: Iterable[str]) -> None:
    """Remove ``keys`` from the system properties of the JVM, of which each new SparkContext takes its configuration."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - as in has_started
    from pyspark import SparkContext  # noqa: PLC0415 - as in has_started

    if (jvm := SparkContext._jvm) is not None:
        with suppress(Py4JError, OSError):  # the JVM has ended, and they with it
            for key in keys:
                jvm.java.lang.System.clearProperty(key)
