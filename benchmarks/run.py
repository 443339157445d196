"""Run all benchmarks; print the page and, unless in a hurry, write it to docs/benchmarks.md."""

from __future__ import annotations

import datetime
import importlib
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import QUICK, Aim, Effort, Report, number

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BENCHMARKS = ["resolve", "settle", "hostile", "imports", "parsing", "submit"]
LIBRARIES = [
    "apache-airflow",
    "apache-airflow-providers-apache-spark",
    "dynaconf",
    "omegaconf",
    "pydantic-settings",
    "python-dotenv",
]

HEAD = """# Benchmarks

`make bench` wrote this page. Ours and the peers are measured in one run: compare the numbers of one table with each
other, and not with those of another machine. Times are medians. The peers do less: none of them keeps where a value
came from.
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def aim_row(aim: Aim) -> list[str]:
    verdict = "met" if aim.is_met else "**missed**"
    return [aim.what, f"at most {number(aim.limit)} {aim.unit}", f"{number(aim.measured)} {aim.unit}", verdict]


def page(reports: Sequence[Report]) -> str:
    """Give the page: the aims first, with those that are missed."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    made = f"Measured on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} with {machine}; {libraries}."
    aims = table(("", "aim", "measured", ""), [aim_row(aim) for report in reports for aim in report.aims])
    sections = [f"## {report.title}\n\n{report.text}\n\n{table(report.header, report.rows)}" for report in reports]
    return "\n\n".join([HEAD.rstrip(), made, f"## Aims\n\n{aims}", *sections]) + "\n"


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    chosen = [name for name in sys.argv[1:] if not name.startswith("-")] or BENCHMARKS
    reports: list[Report] = []
    for name in chosen:
        print(f"measuring: {name}", file=sys.stderr)
        reports += importlib.import_module(f"benchmarks.{name}").run(QUICK if quick else Effort())
    print(page(reports))
    if not quick and chosen == BENCHMARKS:
        PAGE.write_text(page(reports))


if __name__ == "__main__":
    main()
