"""The tutorial does what it says, from the first command to the last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, snippets
from tests.limits import LONGEST

PAGE = ROOT / "docs" / "tutorial" / "first-job.md"
FOLDER = "/tmp/first-job"

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def script(folder: Path) -> str:
    """Return the commands and files of the page as one script that works in ``folder``."""
    parts = ["set -e"]
    for snippet in snippets(PAGE):
        if snippet.title:
            parts.append(f"cat > {snippet.title} <<'END'\n{snippet.text}END")
        elif snippet.language == "sh":
            parts.append(snippet.text)
    return "\n".join(parts).replace(FOLDER, str(folder))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the commands of the page print, line by line."""
    folder = tmp_path_factory.mktemp("tutorial") / "first-job"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW")}
    done = subprocess.run(
        ["bash", "-c", script(folder)],
        env={**environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    logs = "".join(log.read_text() for log in folder.glob("*.log"))
    assert done.returncode == 0, done.stderr[-2000:] + logs[-4000:]
    return done.stdout.replace(str(folder), FOLDER).splitlines()


@pytest.mark.parametrize("line", [line for s in snippets(PAGE) if s.language == "text" for line in s.text.splitlines()])
def test_page_shows_what_the_commands_print(printed: list[str], line: str) -> None:
    """Each line of output on the page is in the output, perhaps with a time before it."""
    assert any(line in shown for shown in printed)


def test_search_for_the_secret_finds_the_file_that_the_reader_wrote(printed: list[str]) -> None:
    """The last word of the page is true: there is nothing else."""
    assert [line for line in printed if line.startswith("./")] == ["./secrets/db/password"]
