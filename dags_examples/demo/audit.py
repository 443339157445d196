"""The audit of the package over what the demo left behind, and over a file in which a password was planted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dags_examples.demo.airflow_cli import Airflow
from dags_examples.demo.workspace import PASSWORD, Workspace

NOTHING = "Nothing found."


@dataclass(frozen=True, slots=True)
class Audited:
    """
    What the audit found.

    :param page: its report, which stays when the work directory is removed
    :param verdict: what the page says, if the audit found nothing and could read everything
    :param planted: the place where a password was planted
    :param found: the places that the audit found after that
    """

    page: str
    verdict: str
    planted: str
    found: Sequence[str]

    @property
    def is_good(self) -> bool:
        """Whether nothing was found in what was left behind, and then only what was planted."""
        return self.verdict == NOTHING and list(self.found) == [self.planted]


@dataclass(frozen=True, slots=True)
class Audit:
    """
    Runs ``airflow config-providers audit leaks``.

    :param airflow: runs Airflow's command line, and passes each line of output on
    :param lines: where it passes them to
    """

    workspace: Workspace
    airflow: Airflow
    lines: list[str]

    def clean(self) -> str:
        """Search everything but the secrets, and return what the page says; empty if something is wrong."""
        references = [f"${{mounted:{folder}:{PASSWORD}}}" for folder in self._secrets]
        self.workspace.references.write_text("".join(f"{one}\n" for one in references), encoding="utf-8")
        page = self.workspace.audit_page
        page.unlink(missing_ok=True)
        left = sorted(path for path in self.workspace.root.iterdir() if path not in self._secrets)
        code = self._run(left, "--report", str(page))
        return NOTHING if code == 0 and NOTHING in page.read_text(encoding="utf-8") else ""

    def planted(self) -> tuple[str, list[str]]:
        """Plant a password in a log, and return its place and those that the audit finds."""
        log = self.workspace.root / "planted/task.log"
        log.parent.mkdir()
        secret = (self.workspace.secrets / PASSWORD).read_text(encoding="utf-8")
        log.write_text(f"a line\nconnecting with password {secret}\n", encoding="utf-8")
        self._run([log.parent])
        rows: list[Any] = [json.loads(line) for line in self.lines if line.startswith('{"file"')]
        return f"{log}:2", [f"{row['file']}:{row['line']}" for row in rows]

    @property
    def _secrets(self) -> Sequence[Path]:
        return self.workspace.secrets, self.workspace.wrong_secrets

    def _run(self, paths: Sequence[Path], *words: str) -> int:
        given = ("--references", str(self.workspace.references), "--no-records", "--output", "json")
        return self.airflow.run(["config-providers", "audit", "leaks", *map(str, paths), *given, *words])
