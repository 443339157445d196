"""Shows the demo on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dags_examples.demo.audit import Audited
from dags_examples.demo.metadata import Setting
from dags_examples.demo.pipeline import DATE, Found, Outcome
from dags_examples.demo.workspace import CONF

NARROWEST = 170


class Screen:
    """
    Prints progress as it happens, and the outcome at the end.

    :param root: the directory to which displayed paths are relative
    """

    def __init__(self, root: Path, *, progress_to_stderr: bool = False) -> None:
        console = _plain_console(stderr=progress_to_stderr)
        is_narrow = not console.is_terminal and console.width < NARROWEST
        self._console = _plain_console(stderr=progress_to_stderr, width=NARROWEST) if is_narrow else console
        self._root = f"{root}/"

    def progress(self, line: str) -> None:
        """Show a line of a job's output."""
        self._console.print(f"  {self._short(line)}", style="dim", soft_wrap=True)

    def note(self, line: str) -> None:
        """Show a line of the demo itself."""
        self._console.print(line, soft_wrap=True)

    def fail(self, line: str) -> None:
        """Show an error."""
        self._console.print(self._short(line), style="bold red", soft_wrap=True)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage while it runs, and then how long it took."""
        start = monotonic()
        self._console.print(name[0].upper() + name[1:], style="bold")
        with self._console.status("working"):
            yield
        self._console.print(f"  done in {monotonic() - start:.1f} s", style="green")

    def outcome(self, outcome: Outcome) -> None:
        """Show all results, with the verdict and the audit last."""
        for task, settings in outcome.configs.items():
            self._console.print(self._settings(task, settings))
        for name, rows in outcome.report.items():
            self._console.print(_rows(f"{name.replace('_', ' ')}, the latest first, up to {DATE}", rows))
        self._console.print(_quality(outcome.quality))
        if outcome.found:
            self._found(outcome.found)
        self._verdict(outcome)
        if outcome.audited:
            self._audited(outcome.audited)
        self.note(f"All in all {sum(outcome.seconds.values()):.0f} s")

    def _settings(self, task: str, settings: Sequence[Setting]) -> Table:
        title = f"Task {task}: its configuration, as Airflow stores and shows it"
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
        for heading in ("key", "value", "layer", "origin", "what it beat"):
            table.add_column(heading, overflow="fold", no_wrap=heading == "layer")
        for setting in settings:
            written = _file_name(setting.origin), "\n".join(map(_file_name, setting.beaten))
            cells = (setting.key, setting.value, setting.layer, *written)
            table.add_row(*(self._short(cell) for cell in cells))
        return table

    def _found(self, found: Found) -> None:
        table = Table(
            title="Searched for the passwords, in each of their forms", title_justify="left", show_header=False
        )
        for what, count in found.searched.items():
            table.add_row(f"{count:,}", what)
        self._console.print(table)
        self.note(f"Forms: {'; '.join(found.forms)}")
        self.note("Left out: the directories of the secrets. Spark was told not to compress, so that all can be read.")
        for place in found.unread:
            self.fail(f"Not opened, so nothing is proved about it: {place}")
        for finding in found.findings:
            self.fail(f"FOUND {finding.secret} ({finding.form}) in {finding.place}")

    def _audited(self, audited: Audited) -> None:
        if audited.verdict:
            self._console.print(f"Audit of what was left behind: {audited.verdict}", style="bold green")
        else:
            self.fail("Audit of what was left behind: it found something, or could not read everything")
        self.note(f"Its page: {self._short(audited.page)}")
        self.note(f"Password planted in {self._short(audited.planted)}")
        for place in audited.found:
            self.note(f"Audit found {self._short(place)}")
        if list(audited.found) != [audited.planted]:
            self.fail("The audit did not find the planted password, and only that")

    def _verdict(self, outcome: Outcome) -> None:
        if outcome.found and outcome.found.is_clean:
            self._console.print("Places where a password was found: none", style="bold green")
        if outcome.wrong_password_refused:
            self._console.print("Wrong password: the job failed, as it should", style="bold green")
        else:
            self.fail("Wrong password: the report did not fail at the database's door, so the secret proves nothing")

    def _short(self, text: str) -> str:
        return text.replace(self._root, "")


def _plain_console(*, stderr: bool, width: int | None = None) -> Console:
    # Rich's markup and emoji would swallow parts of references, such as ":x:" in "${vault:x:y}".
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def _file_name(origin: str) -> str:
    """Return ``origin`` without the directory of the configuration files."""
    return origin.replace(f"{CONF}/", "")


def _quality(rows: Sequence[Mapping[str, Any]]) -> Table:
    flat = [{**row, "by_rule": ", ".join(f"{rule} {count}" for rule, count in row["by_rule"].items())} for row in rows]
    return _rows("Every row is accounted for", flat)


def _rows(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name, value in (rows[0] if rows else {}).items():
        table.add_column(name.replace("_", " "), justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def as_json(outcome: Outcome) -> str:
    """Return the outcome as one JSON document."""
    document = asdict(outcome)
    document["ok"] = outcome.is_good
    return json.dumps(document, indent=2)
