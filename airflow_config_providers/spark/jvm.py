"""The JVM that PySpark starts in a Python process."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

from airflow_config_providers.core.process_environment import having, lacking
from airflow_config_providers.foreign import FIND_SPARK, GATEWAY, SPARK_CONTEXT, require
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark.delivery import Delivery, private_properties
from airflow_config_providers.spark.private_file import PrivateFile

_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"

_OPEN: Final = ("/bin/sh", "-c", ': < "$0"')
"""Opens the file that is the next word, and does nothing else."""


def has_started() -> bool:
    """Return whether this process has a JVM, which no longer reads a properties file or a command."""
    require(SPARK_CONTEXT)
    return pyspark.SparkContext._gateway is not None


def spark_home() -> str:
    """Return the folder of the Spark that PySpark starts."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 - PySpark is loaded when it is used

    require(FIND_SPARK)
    return str(_find_spark_home())


def launch(conf: Any) -> None:
    """
    Start the JVM, unless this process has one.

    If an interrupt fell into that, PySpark would forget the JVM, which then never ends. So a thread starts it, and an
    interrupt is raised when the JVM is known: it then ends with this process.

    :param conf: the ``SparkConf`` that the JVM starts with
    """
    require(SPARK_CONTEXT)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(pyspark.SparkContext._ensure_initialized, conf=conf).result()


@contextmanager
def reading_properties(
    configs: Mapping[str, str], environ: MutableMapping[str, str], *, anonymous: bool | None = None
) -> Iterator[None]:
    """
    Make the JVM that PySpark starts in this block read ``configs`` from a file that no other user can read.

    It is in memory if the JVM can open the files of this process; otherwise it is a named file.

    :param environ: the environment of this process, which is restored when the block ends
    :param anonymous: see ``private_file``
    """
    before = environ.get(_ARGUMENTS) or "pyspark-shell"
    with _properties(configs, anonymous=anonymous) as path:
        arguments = f"--properties-file {shlex.quote(path)} {before}"
        with having(environ, _ARGUMENTS, arguments):
            yield


@contextmanager
def submitting(delivery: Delivery) -> Iterator[None]:
    """
    Make the JVM that PySpark starts read the private part of ``delivery`` from a file that no other user can read.

    The JVM keeps running and serves later tasks. It forgets that part when the block ends, since the redaction of later
    tasks would not hide it.
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
    """Keep the variables ``names`` from the environment of the JVM that PySpark starts. This process keeps them."""
    require(GATEWAY)
    place = vars(sys.modules[pyspark.SparkContext.__module__])
    launch = place["launch_gateway"]

    def launch_gateway(*args: Any, **kwargs: Any) -> Any:
        with lacking(os.environ, names):
            return launch(*args, **kwargs)

    place["launch_gateway"] = launch_gateway
    try:
        yield
    finally:
        place["launch_gateway"] = launch


def _forget(keys: Iterable[str]) -> None:
    """Remove ``keys`` from the JVM's system properties, from which each new SparkContext takes its configuration."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - it comes with PySpark

    if (jvm := pyspark.SparkContext._jvm) is not None:
        with suppress(Py4JError, OSError):  # the JVM has ended, and its properties with it
            for key in keys:
                jvm.java.lang.System.clearProperty(key)


@contextmanager
def _properties(configs: Mapping[str, str], *, anonymous: bool | None) -> Iterator[str]:
    """Yield the path of a private file for the JVM, which inherits none of our descriptors."""
    with ExitStack() as files:
        file = files.enter_context(private_properties(configs, anonymous=anonymous))
        if anonymous is None and not _opens_in_another_process(file):
            file = files.enter_context(private_properties(configs, anonymous=False))
        yield _path(file)


def _path(file: PrivateFile) -> str:
    """Return a path that processes of the same user can open, if the system lets them see our descriptors."""
    return f"/proc/{os.getpid()}/fd/{file.pass_fds[0]}" if file.pass_fds else file.path


def _opens_in_another_process(file: PrivateFile) -> bool:
    """
    Return whether another process can open the path of ``file``, and opens this file.

    It cannot if this process is closed to others of its user, as after ``setcap`` on Python, and opens another file if
    /proc is that of other processes.
    """
    if not file.pass_fds:
        return True
    path = _path(file)
    try:
        is_this = os.path.samestat(os.stat(path), os.fstat(file.pass_fds[0]))  # noqa: PTH116 - as for the descriptor
        opened = subprocess.run([*_OPEN, path], env={}, stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - ours
    except OSError:
        return False
    return is_this and opened.returncode == 0
