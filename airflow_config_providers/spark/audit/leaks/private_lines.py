"""A file of lines that only this user can read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from airflow_config_providers.core.named_file import whole_file


def replace_lines(target: Path, lines: Iterable[str]) -> None:
    """
    Write a file beside the old one that only this user can read, and put it in its place.

    :raises OSError: it cannot be written; the old one stays
    """
    with whole_file(target, mode=0o600) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
