"""What may be shown of the error with which importing a DAG file failed."""

from __future__ import annotations

import re
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.lint.finding import Finding, SourcePlace
from airflow_config_providers.lint.rules import DAG_IMPORT

_FRAME: Final = re.compile(r'^ +File "([^"\n]+)", line (\d+)', re.MULTILINE)
_TYPE: Final = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", re.MULTILINE)

_HARMLESS: Final = frozenset({"ImportError", "IndentationError", "ModuleNotFoundError", "NameError", "SyntaxError"})
"""Built-in errors whose messages contain names, and no values."""

_OURS: Final = "airflow_config_providers.exceptions."


def import_error(path: str, trace: str) -> Finding:
    """
    Return the finding for a DAG file that failed with the traceback ``trace``.

    The message of an error can quote a secret. It is shown only for errors that are known to quote none.
    """
    last = trace.rpartition("Traceback (most recent call last):")[2] or trace
    frames = list(_FRAME.finditer(last))
    lines = [int(frame[2]) for frame in frames if frame[1] == path]
    error = _TYPE.search(last, frames[-1].end() if frames else 0)
    kind, message = (error[1], error[2] or "") if error else ("an error", "")
    return Finding(DAG_IMPORT, SourcePlace(path, lines[-1] if lines else None), _sentence(kind, message))


def _sentence(kind: str, message: str) -> str:
    shown = printable(kind.removeprefix(_OURS))
    if kind in _HARMLESS or kind.startswith(_OURS):
        return f"The DAG file cannot be imported: {shown}: {printable(message)}"
    return (
        f"The DAG file cannot be imported: {shown}. Its message is not shown, because it could quote a secret: run the "
        f"file with Python to see it."
    )
