"""
Write docs/reference/all-options.md: everything that can be set, from the tables of the other reference pages.

Run it again whenever one of these tables changes; a test fails until then::

    python tools/generate_all_options.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REFERENCE: Final = Path(__file__).parents[1] / "docs" / "reference"
PAGE: Final = REFERENCE / "all-options.md"

PLACES: Final = {
    "settings.md": "In `[config_providers]` of `airflow.cfg`, or as `AIRFLOW__CONFIG_PROVIDERS__<OPTION>`",
    "operator.md": "In a DAG, as arguments of an operator",
    "connection.md": "In a connection of type `config_providers`",
    "providers.md": "For a provider, as `config.providers.<name>.param.<parameter>`",
    "secrets-backend.md": "In `backend_kwargs` of the secrets backend",
    "policies.md": "In the policies file",
    "command-line.md": "On the command line, for several commands",
    "commands-describe.md": "On the command line",
    "commands-change.md": "On the command line",
    "commands-checks.md": "On the command line",
    "commands-audits.md": "On the command line",
    "lint.md": "On the command line of `airflow config-providers lint`",
}
"""Page -> where one sets what it describes."""

NAMES: Final = ("argument", "field", "option", "parameter")
"""The first headings of tables of what can be set; in ``OF_KEYS``, also of ``key``."""
OF_KEYS: Final = ("connection.md",)

_ROW: Final = re.compile(r"^\|(.*?)\|?$")
_CELLS: Final = re.compile(r"(?<!\\)\|")

INTRODUCTION: Final = """\
# All options

Everything that can be set, its default, and where it is described.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """A row of a table of a page; the cells are Markdown, and ``section`` is the heading above the table."""

    section: str
    name: str
    default: str


def page() -> str:
    """Return the whole page."""
    return "\n".join([INTRODUCTION, *(line for name in PLACES for line in _part(name))])


def options(name: str) -> list[Option]:
    """Return what can be set, in the order of the page ``name``."""
    found = []
    section, headings = "", []
    for line in (REFERENCE / name).read_text(encoding="utf-8").splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        cells = _cells(line)
        headings = (headings or cells) if cells else []
        if headings and _is_option(cells, headings, name):
            row = dict(zip(headings, cells, strict=False))
            found.append(Option(section, cells[0], row.get("default", "")))
    return found


def _is_option(cells: list[str], headings: list[str], name: str) -> bool:
    names = (*NAMES, "key") if name in OF_KEYS else NAMES
    return headings[0] in names and "meaning" in headings and cells[0].startswith("`")


def _cells(line: str) -> list[str]:
    row = _ROW.match(line)
    return [cell.strip() for cell in _CELLS.split(row[1])] if row else []


def _part(name: str) -> Iterator[str]:
    found = options(name)
    has_sections = len({option.section for option in found}) > 1
    yield f"## [{_title(name)}]({name})\n\n{PLACES[name]}.\n"
    yield "| option | default | section |" if has_sections else "| option | default |"
    yield "| --- " * (3 if has_sections else 2) + "|"
    for option in found:
        cells = (option.name, option.default, _link(option.section, name))
        yield f"| {' | '.join(cells if has_sections else cells[:2])} |"
    yield ""


def _link(section: str, name: str) -> str:
    """Return a link to a section, by the anchor that MkDocs makes of its heading."""
    anchor = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", section).strip().lower())
    return f"[{section}]({name}#{anchor})" if section else ""


def _title(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
