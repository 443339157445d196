"""Commands that the documentation shows are commands that there are."""

from __future__ import annotations

import shlex

import pytest

from tests.docs.pages import PAGES, snippets

OURS = "airflow config-providers "
COMMANDS = [
    pytest.param(line, id=f"{snippet}+{number}")
    for page in PAGES
    for snippet in snippets(page)
    if snippet.language == "sh"
    for number, line in enumerate(snippet.text.replace("\\\n", " ").splitlines())
    if line.startswith(OURS)
]


@pytest.fixture(scope="module")
def parser():
    """The parser of ``airflow config-providers``, of which Airflow's own is made in the same way."""
    import argparse

    from airflow.cli.cli_config import GroupCommand

    from airflow_config_providers.cli.command_table import commands

    def add(to, command):
        child = to.add_parser(command.name)
        if isinstance(command, GroupCommand):
            children = child.add_subparsers(required=True)
            for one in command.subcommands:
                add(children, one)
        else:
            for arg in command.args:
                arg.add_to_parser(child)

    root = argparse.ArgumentParser("airflow")
    children = root.add_subparsers(required=True)
    for command in commands():
        add(children, command)
    return root


@pytest.mark.parametrize("line", COMMANDS)
def test_command_is_one_that_there_is(parser, line: str) -> None:
    """A reader who copies a command gets no "unrecognized arguments"."""
    words = shlex.split(line, comments=True)[1:]
    until = next((place for place, word in enumerate(words) if word in {"<", ">", "|", "&&"}), len(words))

    parser.parse_args(words[:until])


def test_the_guide_shows_each_way_to_change_something() -> None:
    """What the command can do, the guide shows."""
    page = next(page for page in PAGES if page.name == "change-configuration.md")
    flags = ("--default", "--dag", "--task", "--add-config", "--add-config-file", "--delete-config", "--append")

    assert [
        flag for flag in (*flags, "--subtract", "--if-version", "--validate-only") if flag not in page.read_text()
    ] == []
