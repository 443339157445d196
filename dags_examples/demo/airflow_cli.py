"""Runs Airflow's command line in a separate process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True, slots=True)
class Airflow:
    """
    Airflow with a given environment. All of its output is appended to a file.

    :param on_line: is called with each line of output
    """

    environment: Mapping[str, str]
    folder: Path
    log: Path
    on_line: Callable[[str], None]

    def run(self, arguments: Sequence[str]) -> int:
        """Run ``airflow <arguments>``, and return its exit code."""
        command = [sys.executable, "-m", "airflow", *arguments]
        with (
            self.log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                command,
                env=dict(self.environment),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            log.write(f"$ airflow {' '.join(arguments)}\n")
            self._follow(process.stdout, log)
        return process.returncode

    def _follow(self, output: IO[str] | None, log: IO[str]) -> None:
        for line in output or ():
            log.write(line)
            log.flush()
            self.on_line(line.rstrip())
