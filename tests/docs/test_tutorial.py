"""The tutorial, and the quick start of the README, do what they say, from the first command to the last."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Snippet, snippets
from tests.limits import LONGEST
from tests.servers.forked_airflow import forked_airflow


def in_order_of_use(shown: Sequence[Snippet]) -> list[Snippet]:
    """Return the snippets of a page that begins with a file, which its readers save after the first commands."""
    file, *others = shown
    first = next(place for place, snippet in enumerate(others, 1) if snippet.language == "sh")
    return [*others[:first], file, *others[first:]]


TUTORIAL = list(snippets(ROOT / "docs" / "tutorial" / "first-job.md"))
QUICK_START = in_order_of_use(list(snippets(ROOT / "README.md")))

Run = Callable[[Sequence[Snippet], str], list[str]]

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def script(shown: Sequence[Snippet]) -> str:
    """Return the commands and files of a page as one script; the package is installed here already."""
    parts = ["set -e"]
    for snippet in shown:
        if snippet.title:
            parts.append(f"cat > {snippet.title} <<'END'\n{snippet.text}END")
        elif snippet.language == "sh":
            parts.append(snippet.text)
    return "\n".join(line for line in "\n".join(parts).splitlines() if not line.startswith("pip install"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return what the commands of a page print, line by line, in another folder than the one that they name."""
    done: dict[str, list[str]] = {}

    def printed(shown: Sequence[Snippet], folder: str) -> list[str]:
        if folder not in done:
            done[folder] = _printed(shown, folder, tmp_path_factory.mktemp("page") / Path(folder).name)
        return done[folder]

    return printed


def _printed(shown: Sequence[Snippet], folder: str, other: Path) -> list[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    with forked_airflow(other.with_name("bin")) as path:
        ended = subprocess.run(
            ["bash", "-c", script(shown).replace(folder, str(other))],
            env={**environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    logs = "".join(log.read_text() for log in other.glob("*.log"))
    assert ended.returncode == 0, ended.stderr[-2000:] + logs[-4000:]
    return ended.stdout.replace(str(other), folder).splitlines()


def outputs(shown: Sequence[Snippet]) -> list[str]:
    """Return the lines of output on a page."""
    return [line for snippet in shown if snippet.language == "text" for line in snippet.text.splitlines()]


@pytest.mark.parametrize("line", outputs(TUTORIAL))
def test_the_tutorial_shows_what_its_commands_print(run: Run, line: str) -> None:
    """Each line of output on the page is in the output, perhaps with a time before it."""
    assert any(line in shown for shown in run(TUTORIAL, "/tmp/first-job"))


def test_search_for_the_secret_finds_the_file_that_the_reader_wrote(run: Run) -> None:
    """The last word of the page is true: there is nothing else."""
    found = [line for line in run(TUTORIAL, "/tmp/first-job") if line.startswith("./")]

    assert found == ["./secrets/db/password"]


@pytest.mark.parametrize("line", outputs(QUICK_START))
def test_the_quick_start_shows_what_its_commands_print(run: Run, line: str) -> None:
    assert any(line in shown for shown in run(QUICK_START, "/tmp/quick-start"))
