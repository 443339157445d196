"""The JVM that PySpark starts in a Python process, and whether it can write temporary files on this machine."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from airflow_config_providers.core.process_environment import having
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import system_reason
from airflow_config_providers.foreign import FIND_SPARK, GATEWAY, SPARK_CONTEXT, require
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark.delivery import Delivery, private_properties
from airflow_config_providers.spark.private_file import PrivateFile, held, path_in

_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"

_OPEN: Final = ("/bin/sh", "-c", ': < "$0"')
"""Opens the file that is the next word, and does nothing else."""

_BLOCK: Final = bytes(4096)
"""A full disk can still take an empty file."""

_JAVA: Final = "/tmp"  # noqa: S108 - Java's own default on Linux, whatever TMPDIR says
_OPTION: Final = "-Djava.io.tmpdir="
_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "_JAVA_OPTIONS")
"""Variables with options of Java. If several name a directory, the last one wins."""


def has_started() -> bool:
    """Return whether this process has a JVM, which no longer reads a properties file or a command."""
    require(SPARK_CONTEXT)
    return pyspark.SparkContext._gateway is not None


def of_context() -> Mapping[str, str] | None:
    """Return the configuration of the SparkContext of this process, which can no longer change; None without one."""
    require(SPARK_CONTEXT)
    context = pyspark.SparkContext._active_spark_context
    return None if context is None else dict(context.getConf().getAll())


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

    It is in memory if the JVM can open the files of this process, or of a child; otherwise it is a named file.

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
    """
    Keep the variables ``names`` from the environment of the JVM that PySpark starts.

    This process keeps them, so that other threads can read them meanwhile, such as settings of Airflow.
    """
    require(GATEWAY)
    place = vars(sys.modules[pyspark.SparkContext.__module__])
    launch = place["launch_gateway"]

    def launch_gateway(conf: Any = None, popen_kwargs: Mapping[str, Any] | None = None) -> Any:
        return launch(conf, _ArgumentsWithout(names, popen_kwargs))

    place["launch_gateway"] = launch_gateway
    try:
        yield
    finally:
        place["launch_gateway"] = launch


class _ArgumentsWithout(dict[str, Any]):
    """
    The arguments for ``Popen`` to which PySpark adds the environment of the JVM; that lacks the variables ``names``.

    :param given: other arguments; if they lack variables themselves, these are left out, too
    """

    def __init__(self, names: Collection[str], given: Mapping[str, Any] | None) -> None:
        super().__init__(given or {})
        self.names: frozenset[str] = frozenset(names).union(given.names if isinstance(given, _ArgumentsWithout) else ())

    def __setitem__(self, name: str, value: Any) -> None:
        is_environment = name == "env"
        super().__setitem__(name, _without(value, self.names) if is_environment else value)


def _without(environ: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in names}


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
        own = path_in(os.getpid(), file)
        is_open = anonymous is not None or _opens_in_another_process(file, own)
        path = own if is_open else _path_in_child(file, files)
        yield path or files.enter_context(private_properties(configs, anonymous=False)).path


def _path_in_child(file: PrivateFile, files: ExitStack) -> str | None:
    """Return the path of ``file`` in a child that has it open until ``files`` end; None if it opens there neither."""
    with suppress(OSError):
        path = files.enter_context(held(file))
        return path if _opens_in_another_process(file, path) else None
    return None


def _opens_in_another_process(file: PrivateFile, path: str) -> bool:
    """
    Return whether another process can open the ``path`` of ``file``, and opens this file.

    It cannot if the process that has it open is closed to others of its user, as Airflow 3.3 closes its tasks, and
    opens another file if /proc is that of other processes.
    """
    if not file.pass_fds:
        return True
    try:
        is_this = os.path.samestat(os.stat(path), os.fstat(file.pass_fds[0]))  # noqa: PTH116 - as for the descriptor
        opened = subprocess.run([*_OPEN, path], env={}, stderr=subprocess.DEVNULL, check=False)  # noqa: S603 - ours
    except OSError:
        return False
    return is_this and opened.returncode == 0


class Unwritable(NamedTuple):
    """A reason why temporary files cannot be written, and what to do."""

    problem: str
    way_out: str


def unwritable(environ: Mapping[str, str]) -> Iterator[Unwritable]:
    """Yield why Java or Python cannot write the temporary files of Spark; nothing if both can."""
    directory = java_directory(environ)
    if reason := _refusal(directory):
        yield Unwritable(
            f"Spark cannot write temporary files to {printable(directory)}: {reason}.",
            "Make room there or make it writable, or add -Djava.io.tmpdir=DIRECTORY to the variable SPARK_SUBMIT_OPTS.",
        )
    try:
        tempfile.gettempdir()
    except OSError:
        yield Unwritable("Python can write temporary files nowhere.", "Set the variable TMPDIR to a DIRECTORY.")


def java_directory(environ: Mapping[str, str]) -> str:
    """Return where the JVM of Spark writes temporary files."""
    words = (word for name in _VARIABLES for word in _words(environ.get(name, "")))
    found = [word.removeprefix(_OPTION) for word in words if word.startswith(_OPTION)]
    return found[-1] if found else _JAVA


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError:  # a quote without an end
        return options.split()


def _refusal(directory: str) -> str:
    """Return why nothing can be written below ``directory``, which Spark creates if it is missing; empty if it can."""
    path = Path(directory).absolute()
    there = next(one for one in (path, *path.parents) if os.path.lexists(one))
    try:
        with tempfile.TemporaryDirectory(prefix="spark-", dir=there) as own:
            Path(own, "block").write_bytes(_BLOCK)
    except OSError as error:
        return system_reason(error)
    return ""
