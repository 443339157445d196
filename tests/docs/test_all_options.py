"""The page of all options is made from the other pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_config_providers.cli.command_table import commands
from airflow_config_providers.get_provider_info import get_provider_info
from tests.project_tools import imported_tool

OPTIONS = get_provider_info()["config"]["config_providers"]["options"]


@pytest.fixture
def tool() -> Iterator[Any]:
    with imported_tool("generate_all_options") as found:
        yield found


def test_the_page_is_what_the_tool_writes(tool: Any) -> None:
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run tools/generate_all_options.py"


def test_it_has_every_setting(tool: Any) -> None:
    described = sorted(option.name.strip("`") for option in tool.options("settings.md"))

    assert described == sorted(OPTIONS), (
        "make the rows of settings.md those of OPTIONS; run tools/generate_all_options.py"
    )


@pytest.mark.parametrize("name", ["allowed.paths", "conn_id", "allowlist.pattern", "backend_kwargs"])
def test_it_has_parameters_of_providers(tool: Any, name: str) -> None:
    assert f"`{name}`" in {option.name for option in tool.options("providers.md")}


def test_it_has_every_option_of_the_commands(tool: Any) -> None:
    (group,) = commands()
    subcommands = [inner for one in group.subcommands for inner in getattr(one, "subcommands", [one])]
    flags = {flag for one in subcommands for argument in one.args for flag in argument.flags if flag.startswith("--")}
    assert [flag for flag in sorted(flags) if f"`{flag}" not in tool.page()] == []


def test_what_a_command_prints_is_no_option(tool: Any) -> None:
    pages = [name for name in tool.PLACES if name.startswith(("command", "lint"))]
    options = [option.name for name in pages for option in tool.options(name)]

    assert len(pages) == 6
    assert [name for name in options if not name.startswith("`--")] == []


def test_links_to_a_section_of_another_page_lead_there(tool: Any) -> None:
    assert "](#" not in tool.page()
