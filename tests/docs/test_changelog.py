"""The changelog names what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_config_providers.cli.command_table import commands

ROOT = Path(__file__).parents[2]
GONE = ("Removed", "If you used the package from its repository before 0.1.0")
"""The groups that name what is no longer there."""


def newest(text: str) -> str:
    """Return what is not released yet and the newest release, because later releases may remove what older ones had."""
    return "".join(re.split(r"^(?=## \[)", text, flags=re.MULTILINE)[1:3])


def present(text: str) -> str:
    """Return ``text`` without the groups of what is gone."""
    groups = re.split(r"^(?=### )", text, flags=re.MULTILINE)
    return "".join(group for group in groups if not group.startswith(tuple(f"### {name}" for name in GONE)))


def sources() -> Iterator[str]:
    """Return what can have a name that a user sees: the code, the examples, the project and the targets of make."""
    for folder in ("airflow_config_providers", "dags_examples"):
        yield from (path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py"))
        yield folder
    yield from ((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "Makefile"))


def options() -> set[str]:
    """Return the options of all commands."""
    (group,) = commands()
    subcommands = [inner for one in group.subcommands for inner in getattr(one, "subcommands", [one])]
    return {flag for one in subcommands for argument in one.args for flag in argument.flags}


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of ``page``."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.fixture(scope="module")
def changelog() -> str:
    return newest((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def code(changelog: str) -> list[str]:
    """The strings in backticks."""
    return re.findall(r"`([^`]+)`", present(changelog))


def test_each_name_in_it_is_one_that_there_is(code: list[str]) -> None:
    named = {word for text in code for word in re.findall(r"(?<![\w-])[A-Za-z]\w+", text)}
    known = {word for text in sources() for word in re.findall(r"\w+", text)}

    assert sorted(named - known) == [], "correct the names, or move their lines to the group Removed"


def test_each_option_in_it_is_one_that_a_command_has(code: list[str]) -> None:
    named = {flag for text in code for flag in re.findall(r"(?<!\S)--[a-z-]+", text)}

    assert sorted(named - options()) == []


def test_each_link_in_it_leads_to_a_page_and_a_section(changelog: str) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)#?([^)]*)\)", changelog)

    assert [page for page, _ in targets if not (ROOT / page).is_file()] == []
    assert [f"{page}#{name}" for page, name in targets if name and name not in anchors(ROOT / page)] == []


def test_what_is_gone_is_not_looked_for() -> None:
    text = "## [2.0.0]\n\n### Added\n\n- `here`\n\n### Removed\n\n- `gone`\n\n### Security\n\n- `there`\n"

    assert re.findall("`(.+)`", present(text)) == ["here", "there"]


def test_older_releases_may_name_what_is_gone() -> None:
    sections = ("# Changelog\n", "## [Unreleased]\na\n", "## [2.0.0]\nb\n", "## [1.0.0]\nc\n")

    assert newest("".join(sections)) == "".join(sections[1:3])
