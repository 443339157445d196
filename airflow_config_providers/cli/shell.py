"""Notes on what a shell has made of the arguments of a command, or shows of them."""

from __future__ import annotations

from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.failing import Notes
from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import is_secret


def note_changes(args: Any, notes: Notes) -> None:
    """Note each change on the command line whose value is empty, or is a secret."""
    for operation in arguments.visible(args):
        _note_change(operation, notes)


def note_setting(asked: str, notes: Notes) -> None:
    """Note that ``asked``, which may be ``KEY=VALUE``, has a secret."""
    key, _, value = asked.partition("=")
    if value and is_secret(key.strip(), value):
        notes(
            f"{printable(key)} is a secret, which is never compared, and other users of this machine can read the "
            f"command line: leave out the value."
        )


def _note_change(operation: AlterConfigOp, notes: Notes) -> None:
    if operation.value == "":
        notes(
            f"The value of {printable(operation.name)} is empty. If you wrote a reference, the shell has replaced it: "
            f"put the argument into single quotes."
        )
    elif is_secret(operation.name, operation.value or ""):
        notes(
            f"{printable(operation.name)} is a secret, and other users of this machine can read the command line: "
            f"use --add-config-file, or write a reference."
        )
