"""Writes the report of an audit such that a reader sees the old one or the new one, and never half of one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


def write_page(path: str, html: str) -> None:
    """
    Write a page for people, with the rights of any new file.

    :raises ConfigException: the file cannot be written
    """
    replace_file(path, lambda file: file.write(html.encode(errors="backslashreplace")), option="--report")


def replace_file(path: str, write: Callable[[BinaryIO], object], *, option: str) -> None:
    """
    Write a file beside the old one, and put it in its place. What is no plain file, such as a pipe, is written to.

    :param option: the option that names the file, for the message
    :raises ConfigException: the file cannot be written
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                write(file)
        else:
            _replace(target, write)
    except OSError as error:
        problem = error.strerror or type(error).__name__
    else:
        return
    raise ConfigException(f"{option} {printable(path)} cannot be written: {problem}. Name another file.")


def _replace(target: Path, write: Callable[[BinaryIO], object]) -> None:
    beside = target.with_name(f".{token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:  # the umask decides who may read it
            write(file)
        beside.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
