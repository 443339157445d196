"""Writes the files of an audit such that a reader sees the old one or the new one, and never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException


def require_writable(path: str | None, *, option: str) -> None:
    """
    Check that a file can be written, before an audit that takes hours; None is no file.

    :param option: the option that names the file, for the message
    :raises ConfigException: its folder is missing or closed, or it is a folder itself
    """
    if path and (problem := _obstacle(Path(os.path.realpath(path)))):
        raise _unwritable(path, problem, option)


def _obstacle(target: Path) -> str:
    """Return why a file cannot be written; empty if it probably can."""
    if target.is_dir():
        return os.strerror(errno.EISDIR)
    if not target.parent.is_dir():
        return os.strerror(errno.ENOENT)
    written = target.parent if target.is_file() or not target.exists() else target
    return "" if os.access(written, os.W_OK) else os.strerror(errno.EACCES)


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
    raise _unwritable(path, problem, option)


def _unwritable(path: str, problem: str, option: str) -> ConfigException:
    return ConfigException(f"{option} {printable(path)} cannot be written: {problem}. Name another file.")


def replace_lines(target: Path, lines: Iterable[str]) -> None:
    """
    Write a file beside the old one that only this user can read, and put it in its place.

    :raises OSError: it cannot be written; the old one stays
    """
    _replace(target, lambda file: file.writelines(f"{line}\n".encode() for line in lines), mode=0o600)


def _replace(target: Path, write: Callable[[BinaryIO], object], *, mode: int = 0o666) -> None:
    beside = target.with_name(f".{token_hex(16)}")
    try:
        with open(beside, "xb", opener=partial(os.open, mode=mode)) as file:  # the umask can take away rights
            write(file)
        beside.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
