"""
The arguments that name a resource and its changes, such as ``--dag`` and ``--add-config``, and notes on them.

What reads them raises ``WrongArgumentsError``, which lists all problems and quotes no value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final

from airflow_config_providers.cli.failing import Notes, WrongArgumentsError
from airflow_config_providers.core.alter import AlterConfigOp, OpType
from airflow_config_providers.core.keys import is_reserved
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.rows import is_secret
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.spark.known_keys import SPARK
from airflow_config_providers.spark.layer_files import parse, read_text

_PAIR: Final = re.compile(r"\s*([^=\s,\[\]]+)\s*=(?:\[([^\]]*)\]|((?>(?:\$\{[^}]*\}|\$(?!\{)|[^,\[\]$])*)))\s*(?:,|$)")
"""
``k=v`` or ``k=[a,b]``, as in kafka-configs.sh. A comma inside a reference does not end the pair.

Where a reference that is not closed would end is unknown, so it matches only in brackets.
"""

_DAY_SECONDS: Final = 24 * 60 * 60
"""The longest time limit of a command: the operating system cannot wait for any number of seconds."""

_CLOSED: Final = (
    "Standard input, which '-' reads, is closed. Write < FILE or use a pipe, or name the file in place of '-'."
)


def has_resource(args: Any) -> bool:
    """Return whether ``args`` name a resource, valid or not."""
    return bool(args.default or args.dag or args.task)


def has_operations(args: Any) -> bool:
    """Return whether ``args`` describe a change, valid or not."""
    return bool(args.add_config or args.add_config_file or args.delete_config or args.append or args.subtract)


def resource(args: Any) -> ConfigResource:
    """
    Return the resource that ``--default``, ``--dag`` and ``--task`` name.

    :raises WrongArgumentsError: they name no resource, or more than one
    """
    if args.default and not (args.dag or args.task):
        return ConfigResource(ResourceType.DEFAULT)
    if args.default or not args.dag:
        raise WrongArgumentsError("Name one resource: --default, --dag DAG_ID, or --dag DAG_ID --task TASK_ID.")
    return ConfigResource.of_task(args.dag, args.task) if args.task else ConfigResource(ResourceType.DAG, args.dag)


def optional_resource(args: Any, *, is_needed: bool) -> ConfigResource | None:
    """
    Return the resource that ``args`` name; None if they name none.

    :raises WrongArgumentsError: they name none although it ``is_needed``, or more than one
    """
    if is_needed and not has_resource(args):
        raise WrongArgumentsError("No resource given. Add --default, --dag DAG_ID, or --dag DAG_ID --task TASK_ID.")
    return resource(args) if has_resource(args) else None


def operations(args: Any) -> list[AlterConfigOp]:
    """
    Return the changes that ``args`` describe.

    :raises WrongArgumentsError: there are no changes, or a pair is malformed; lists all problems
    """
    sets, appended, subtracted = _visible(args)
    deleted = [AlterConfigOp(key, None, OpType.DELETE) for key in separated(args.delete_config)]
    found = [*sets, *_of_file(args.add_config_file), *deleted, *appended, *subtracted]
    if not found:
        raise WrongArgumentsError(_no_changes(args.add_config_file))
    return found


def _no_changes(file: str | None) -> str:
    if file is not None:
        return f"--add-config-file: '{printable(file)}' sets no key. Add a line KEY=VALUE, or name another file."
    return "No changes given. Add --add-config, --add-config-file, --delete-config, --append or --subtract."


def together(*reads: Callable[[], Any]) -> list[Any]:
    """
    Call each of ``reads``, and return the results in order.

    :raises WrongArgumentsError: at least one call raised it; lists the problems of all calls
    """
    found: list[Any] = []
    problems: list[str] = []
    for read in reads:
        try:
            found.append(read())
        except WrongArgumentsError as error:
            problems += error.problems
    refuse(WrongArgumentsError, problems)
    return found


def note_changes(args: Any, notes: Notes) -> None:
    """Note each change on the command line whose value is empty, or is a secret."""
    for operation in chain.from_iterable(_visible(args)):
        if operation.value == "":
            notes(
                f"The value of {printable(operation.name)} is empty. If you wrote a reference, the shell has replaced "
                f"it: put the argument into single quotes."
            )
        elif is_secret(operation.name, operation.value or ""):
            notes(
                f"{printable(operation.name)} is a secret, and other users of this machine can read the command line: "
                f"use --add-config-file, or write a reference."
            )


def note_setting(asked: str, notes: Notes) -> None:
    """Note that ``asked``, which may be ``KEY=VALUE``, has a secret."""
    key, _, value = asked.partition("=")
    if value and is_secret(key.strip(), value):
        notes(
            f"{printable(key)} is a secret, which is never compared, and other users of this machine can read the "
            f"command line: leave out the value."
        )


def _visible(args: Any) -> list[list[AlterConfigOp]]:
    """Return what is set, appended and subtracted on the command line, which other users of the machine can read."""
    return together(
        partial(_all, _set, args.add_config),
        partial(_all, partial(_listed, op=OpType.APPEND), args.append),
        partial(_all, partial(_listed, op=OpType.SUBTRACT), args.subtract),
    )


def _all(read: Callable[[str], list[AlterConfigOp]], texts: Iterable[str] | None) -> list[AlterConfigOp]:
    return [operation for found in together(*(partial(read, text) for text in texts or ())) for operation in found]


def _set(text: str) -> list[AlterConfigOp]:
    found = pairs(text)
    first, *others = (key for key, _ in found)
    if first.startswith(SPARK) and not all(key.startswith(SPARK) or is_reserved(key) for key in others):
        raise WrongArgumentsError(
            f"'{printable(first)}=...': a comma starts another key, and the key after it does not begin with "
            f"'{SPARK}'. Put a value with commas into brackets, as in KEY=[a,b=c]."
        )
    return [AlterConfigOp(key, value) for key, value in found]


def pairs(text: str) -> list[tuple[str, str]]:
    """
    Parse ``k1=v1,k2=[a,b]``. A value with a comma needs brackets, unless it belongs to the only pair.

    :raises WrongArgumentsError: ``text`` has another form; the message quotes no value
    """
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _PAIR.match(text, position)
        if match is None:
            return [_single(text)]
        found.append((match[1], match[2] if match[2] is not None else match[3]))
        position = match.end()
    return found or [_single(text)]


def _single(text: str) -> tuple[str, str]:
    if not text.partition("=")[0].strip():
        raise WrongArgumentsError("'...' is not KEY=VALUE: the key is missing. Write it before =.")
    key, value = _halves(text, after="the value")
    if value.startswith("[") and "]" not in value:
        raise WrongArgumentsError(f"'{printable(key)}=[...' lacks the closing bracket. Write KEY=[a,b].")
    if re.search(r",\s*[\w.-]+=", value):
        raise WrongArgumentsError(
            f"'{printable(key)}...' is not KEY=VALUE. Put a value with commas into brackets, as in KEY=[a,b], or use "
            f"--add-config once for each key."
        )
    return key.strip(), value


def _of_file(path: str | None) -> Iterator[AlterConfigOp]:
    if path is None:
        return
    yield from (AlterConfigOp(entry.key, entry.value) for entry in parse(text_of(path), name=path, path=path))


def text_of(path: str, *, kind: str = "") -> str:
    """
    Return the text of a file; ``-`` is standard input.

    :param kind: what messages call the file; by default a layer file
    :raises ConfigException: the file cannot be read, or standard input is closed
    """
    if path != "-":
        return read_text(path, name=path, kind=kind)
    if sys.stdin is None:
        raise ConfigException(_CLOSED)
    return read_text("/dev/stdin", name=path, kind=kind)


def seconds(args: Any) -> float:
    """
    Return the seconds of ``--timeout``.

    :raises WrongArgumentsError: they are not positive, or more than the operating system can wait for
    """
    if not args.timeout > 0:
        raise WrongArgumentsError("--timeout must be more than 0 seconds.")
    if args.timeout > _DAY_SECONDS:
        raise WrongArgumentsError(f"--timeout must be at most {_DAY_SECONDS} seconds.")
    return float(args.timeout)


def separated(texts: Iterable[str] | None) -> list[str]:
    """Return what is between the commas in ``texts``, of an option that can be repeated."""
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def _listed(text: str, op: OpType) -> list[AlterConfigOp]:
    key, value = _halves(text, after=f"what to {op.name.lower()}")
    return [AlterConfigOp(key.strip(), value, op)]


def _halves(text: str, *, after: str) -> tuple[str, str]:
    """
    Return what is before the first equals sign, and what is after it.

    :param after: what the message says to write there
    :raises WrongArgumentsError: there is no such sign, or it is the end of a value
    """
    key, sign, value = text.partition("=")
    if not sign or _is_end(key, value):
        raise WrongArgumentsError(f"'{_beginning(text)}' is not KEY=VALUE. Write {after} after =.")
    return key, value


def _is_end(key: str, value: str) -> bool:
    """Return whether an equals sign after ``key`` ends a value in Base64 that is separated from its key by a blank."""
    return len(key.split()) > 1 and not value.strip("=")


def _beginning(text: str) -> str:
    """Return what is a key in any case in what is no pair; dots are in place of what can be its value."""
    key, *rest = re.split(r"[^\w.-]", text.strip(), maxsplit=1)
    return f"{key}{'...' if rest else ''}"
