"""Whether Spark can write temporary files on this machine."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import system_reason

_BLOCK: Final = bytes(4096)
"""A full disk can still take an empty file."""

_JAVA: Final = "/tmp"  # noqa: S108 - Java's own default on Linux, whatever TMPDIR says
_OPTION: Final = "-Djava.io.tmpdir="
_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "_JAVA_OPTIONS")
"""Variables with options of Java. If several name a directory, the last one wins."""


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
