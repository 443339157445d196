"""What a command prints in a terminal, as a page for the browser that takes pictures."""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import StringIO

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.limits import LONGEST

WIDTH = 136
"""The columns of the terminal."""

_PAGE = """\
<!doctype html>
<style>
body {{ margin: 0; padding: 22px 26px; background: #14171c; color: {foreground}; }}
pre {{ margin: 0; font: 14px/1.45 "DejaVu Sans Mono", "Liberation Mono", monospace; }}
{stylesheet}
</style>
<body><pre>{code}</pre></body>
"""


def printed(*words: str, environ: Mapping[str, str]) -> str:
    """Return what ``airflow`` prints on a terminal, with the codes of its colours; what it logs is left out."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    seen = {name: value for name, value in environ.items() if name not in {"NO_COLOR", "COLUMNS"}}
    process = subprocess.Popen(
        [sys.executable, "-m", "airflow", *words],
        env={**seen, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=subprocess.DEVNULL,
    )
    os.close(its)
    output = b"".join(_parts(ours))
    os.close(ours)
    assert process.wait(LONGEST) == 0
    return output.decode().replace("\r\n", "\n")


def _parts(terminal: int) -> Iterator[bytes]:
    with suppress(OSError):  # so Linux reports the end
        while part := os.read(terminal, 65_536):
            yield part


def page(shown: Mapping[str, str]) -> str:
    """Return the address of a page that shows commands, each with what it prints."""
    console = Console(record=True, width=WIDTH, file=StringIO())
    for command, output in shown.items():
        console.print(Text(f"$ {command}", "bold"), Text.from_ansi(output.rstrip("\n")), "", sep="\n")
    html = console.export_html(theme=MONOKAI, code_format=_PAGE)
    return f"data:text/html;base64,{base64.b64encode(html.encode()).decode()}"
