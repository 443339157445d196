"""
Every snippet of the documentation is run or parsed.

A block with ``title="name"`` is a file: where the name is relative, it stands in the current directory of
the page's Python blocks, which run in order in one namespace.
"""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from airflow_config_providers.core import properties
from tests.docs.pages import PAGES, ROOT, Snippet, snippets


def write_files(page: Path, folder: Path) -> None:
    """Put the files that ``page`` shows into ``folder``."""
    for snippet in snippets(page):
        if snippet.title and not Path(snippet.title).is_absolute():
            file = folder / snippet.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(snippet.text)


def run_python(page: Path) -> None:
    """Run the Python blocks of ``page`` in order, in one namespace."""
    namespace: dict[str, object] = {"__name__": "snippet", "__file__": str(page)}
    for snippet in snippets(page):
        if snippet.language == "python":
            lines_above = "\n" * (snippet.line - 1)
            exec(compile(lines_above + snippet.text, str(page), "exec"), namespace)


EXTRAS = {"airflow.providers.cncf": "kubernetes"}
"""What snippets import that `make test` does not install -> the extra that has it."""


def check_shell(text: str) -> None:
    """Let bash parse ``text`` without running it."""
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def check_ini(text: str) -> None:
    """Read ``text`` as Airflow reads its settings."""
    configparser.RawConfigParser().read_string(text)


PARSERS: dict[str, Callable[[str], object]] = {
    "python": lambda text: compile(text, "snippet", "exec"),
    "properties": lambda text: properties.parse(text, name="snippet"),
    "ini": check_ini,
    "json": json.loads,
    "yaml": yaml.safe_load,
    "toml": tomllib.loads,
    "sh": check_shell,
    "text": lambda text: text,
}

ALL = [snippet for page in PAGES for snippet in snippets(page)]


@pytest.mark.parametrize("snippet", ALL, ids=str)
def test_snippet_is_of_a_known_language_and_parses(snippet: Snippet) -> None:
    """A reader who copies a block gets no syntax error."""
    assert snippet.language in PARSERS
    PARSERS[snippet.language](snippet.text)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(s.language == "python" for s in snippets(page))], ids=lambda page: page.stem
)
def test_python_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page works unchanged, with the files that the page shows."""
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)

    try:
        run_python(page)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        pytest.skip(f"needs {error.name}: install the extra {EXTRAS[error.name]}")


def test_links_of_the_readme_lead_somewhere() -> None:
    """The site's own links are checked when it is built; these are not part of it."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / "README.md").read_text())

    assert [target for target in targets if "://" not in target and not (ROOT / target).exists()] == []
