"""The JVM that PySpark starts in a process of Python."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.properties import dump
from airflow_config_providers.spark.delivery import Delivery
from airflow_config_providers.spark.private_file import PrivateFile, private_file

_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"


def has_started() -> bool:
    """Tell whether this process has a JVM, which reads no properties file any more and is started by no command."""
    from pyspark import SparkContext  # noqa: PLC0415 - heavy, and whoever asks needs it anyway

    return getattr(SparkContext, "_gateway", None) is not None


@contextmanager
def submitting(delivery: Delivery) -> Iterator[None]:
    """Have the JVM that PySpark starts read the private part of ``delivery`` from a file that nobody else can read."""
    if not delivery.private:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    with private_file(dump(delivery.private).encode("ascii")) as file:
        os.environ[_ARGUMENTS] = f"--properties-file {shlex.quote(_path(file))} {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            os.environ.pop(_ARGUMENTS)
            if before is not None:
                os.environ[_ARGUMENTS] = before


def _path(file: PrivateFile) -> str:
    """Give a path for a process that inherits no descriptors, as PySpark's JVM."""
    return f"/proc/{os.getpid()}/fd/{file.pass_fds[0]}" if file.pass_fds else file.path
