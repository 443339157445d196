"""The arguments with which PySpark starts its JVM."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.properties import dump
from airflow_config_providers.spark.private_file import PrivateFile, private_file

_ARGUMENTS: Final = "PYSPARK_SUBMIT_ARGS"


@contextmanager
def reading_properties(
    configs: Mapping[str, str], environ: MutableMapping[str, str], *, anonymous: bool | None = None
) -> Iterator[None]:
    """
    Make the JVM that PySpark starts in this block read ``configs`` from a file that nobody else can read.

    :param environ: the environment of this process, which is restored when the block ends
    :param anonymous: see ``private_file``
    """
    before = environ.get(_ARGUMENTS)
    with private_file(dump(configs).encode("ascii"), anonymous=anonymous) as file:
        environ[_ARGUMENTS] = f"--properties-file {shlex.quote(_path(file))} {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            environ.pop(_ARGUMENTS)
            if before is not None:
                environ[_ARGUMENTS] = before


def _path(file: PrivateFile) -> str:
    """Return a path for the JVM, which inherits none of our descriptors but can open those of its user's processes."""
    return f"/proc/{os.getpid()}/fd/{file.pass_fds[0]}" if file.pass_fds else file.path
