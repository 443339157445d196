"""What is shown of an error that a DAG file raises: its type and line, and its message if that can quote no value."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import airflow_config_providers
from airflow_config_providers.core.sensitive import shows_secret
from airflow_config_providers.core.text import printable
from airflow_config_providers.lint.finding import DAG_IMPORT, Finding, SourcePlace

_FRAME: Final = re.compile(r'^ +File "([^"\n]+)", line (\d+)(, in )?', re.MULTILINE)
_TYPE: Final = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", re.MULTILINE)

_OURS: Final = "airflow_config_providers.exceptions."
_PACKAGE: Final = Path(airflow_config_providers.__file__).parent

_OF_COMPILER: Final = frozenset({"IndentationError", "SyntaxError", "TabError"})

_NAME: Final = r"'([\w.]+)'"
_OF_INTERPRETER: Final[Mapping[str, re.Pattern[str]]] = {
    "AttributeError": re.compile(rf"(?:partially initialized )?module {_NAME} has no attribute {_NAME}"),
    "ImportError": re.compile(rf"cannot import name {_NAME} from (?:partially initialized module )?{_NAME}"),
    "ModuleNotFoundError": re.compile(rf"No module named {_NAME}"),
    "NameError": re.compile(rf"name {_NAME} is not defined"),
    "TypeError": re.compile(rf"[\w.]+\(\) got an unexpected keyword argument {_NAME}"),
}
"""Type of an error -> what Python itself writes in the message, with names."""


def import_error(path: str, trace: str) -> Finding:
    """
    Return the finding for a DAG file that failed with the traceback ``trace``.

    The message of an error can quote a secret, whatever the type of the error is. It is shown only if Python or this
    package has written it, and Python's names are in the source code.
    """
    last = trace.rpartition("Traceback (most recent call last):")[2] or trace
    frames = list(_FRAME.finditer(last))
    lines = [int(frame[2]) for frame in frames if frame[1] == path]
    error = _TYPE.search(last, frames[-1].end() if frames else 0)
    kind, message = (error[1], error[2] or "") if error else ("an error", "")
    known = _without_values(kind, message, frames[-1]) if frames else ""
    return Finding(DAG_IMPORT, SourcePlace(path, lines[-1] if lines else None), _sentence(kind, known))


def _sentence(kind: str, message: str) -> str:
    shown = printable(kind.removeprefix(_OURS))
    if message and not shows_secret(message):
        return f"The DAG file cannot be imported: {shown}: {printable(message)}"
    return (
        f"The DAG file cannot be imported: {shown}. Its message is not shown, because it could quote a secret: run the "
        f"file with Python to see it."
    )


def _without_values(kind: str, message: str, frame: re.Match[str]) -> str:
    """
    Return what can be shown of a message; empty if it can quote a value.

    :param frame: the last line of the traceback that names a file
    """
    path = Path(frame[1])
    if kind.startswith(_OURS):
        return message if path.is_relative_to(_PACKAGE) else ""
    if not path.is_file():  # code that was made from a string, perhaps under the name of a pipe
        return ""
    if kind in _OF_COMPILER:  # which is in no function, unlike an error that is raised
        return "" if frame[3] else message
    pattern = _OF_INTERPRETER.get(kind)
    found = pattern.match(message) if pattern else None
    names = {part for name in found.groups() for part in name.split(".")} if found else set()
    return found[0] if found and names <= _written_names(path) else ""


def _written_names(path: Path) -> set[str]:
    """Return the names in a file of source code, without its strings, and those of its modules; none if it is none."""
    try:
        with tokenize.open(path) as file:
            tokens = list(tokenize.generate_tokens(file.readline))
    except (OSError, SyntaxError, UnicodeDecodeError, tokenize.TokenError):
        return set()
    return {token.string for token in tokens if token.type == tokenize.NAME} | {path.stem, *path.parts}
