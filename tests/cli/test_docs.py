"""The pages of the command line: every example runs. tests/docs reads those of other pages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import chain

from airflow_config_providers.cli.command_table import commands
from tests.cli.conftest import Cli
from tests.cli.test_commands import files
from tests.docs.pages import ROOT, snippets

PAGES = [
    ROOT / "docs" / "reference" / f"{name}.md"
    for name in ("command-line", "commands-describe", "commands-change", "commands-checks", "commands-audits")
]
START = "airflow config-providers "


def examples(text: str, *, server: bool = False) -> Iterator[str]:
    """Return the examples that need a server, or the others; ``tests/plugins`` runs the former."""
    lines = [line for line in text.splitlines() if line.startswith(START)]
    yield from (line.removeprefix(START) for line in lines if ("--server" in line) is server)


def test_examples_of_the_pages_run_in_order(cli: Cli):
    environ = files(cli.deployment.home)
    for snippet in chain.from_iterable(map(snippets, PAGES)):
        if snippet.title:
            (cli.deployment.home / snippet.title).write_text(snippet.text)
        for example in examples(snippet.text) if snippet.language == "sh" else ():
            if example.startswith("audit "):  # they start Spark, so a slow test runs them
                continue
            command, _, file = example.partition(" > ")[0].partition(" < ")
            text = (cli.deployment.home / file).read_text() if file else ""
            done = cli.airflow("config-providers", *shlex.split(command, comments=True), input=text, environ=environ)
            assert done.code in codes(example), f"{example}: {done.err}"


def codes(example: str) -> set[int]:
    """Return with what an example may end."""
    if example.startswith("doctor"):  # it is about the machine
        return {0, 1}
    expected = re.search(r"# ends with (\d)", example)
    return {int(expected[1] if expected else 0)}


def test_the_pages_name_every_command_and_option():
    text = "".join(page.read_text() for page in PAGES)
    (group,) = commands()
    subcommands = [(f"{one.name} {inner.name}", inner) for one in group.subcommands if hasattr(one, "subcommands")
                   for inner in one.subcommands]  # fmt: skip
    subcommands += [(one.name, one) for one in group.subcommands if not hasattr(one, "subcommands")]

    assert len(subcommands) == 19, "if a command is new, correct the number, and describe the command in docs/reference"
    for name, command in subcommands:
        assert f"| `{name}` |" in text, f"add a row for {name} to command-line.md"
        flags = [flag for arg in command.args for flag in arg.flags if flag.startswith("--") and flag not in text]
        assert flags == [], f"describe these options of {name} in docs/reference"
