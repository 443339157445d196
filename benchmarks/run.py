"""Run all benchmarks; print the page and, unless in a hurry, write it to docs/benchmarks.md."""

from __future__ import annotations

import datetime
import importlib
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.measure import QUICK, Aim, Effort, Report, number

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BENCHMARKS = ["resolve", "settle", "hostile", "imports", "parsing", "submit", "vault", "aws", "dynamic"]
LIBRARIES = [
    "apache-airflow",
    "apache-airflow-providers-amazon",
    "apache-airflow-providers-apache-spark",
    "apache-airflow-providers-hashicorp",
    "cel-expr-python",
    "dynaconf",
    "hvac",
    "moto",
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


def installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def measured(name: str, effort: Effort) -> list[Report]:
    """Run one benchmark; without what it measures, say so and give nothing."""
    try:
        benchmark = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        print(f"skipped: {name}, as there is no module {error.name}; the extra 'bench' has it", file=sys.stderr)
        return []
    print(f"measuring: {name}", end="", file=sys.stderr, flush=True)
    start = time.monotonic()
    reports: list[Report] = benchmark.run(effort)
    print(f", took {time.monotonic() - start:.0f} s", file=sys.stderr)
    return reports


def page(reports: Sequence[Report]) -> str:
    """Give the page: the aims first, with those that are missed."""
    libraries = ", ".join(f"{name} {found}" for name in LIBRARIES if (found := installed(name)))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    made = f"Measured on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} with {machine}; {libraries}."
    aims = table(("", "aim", "measured", ""), [aim_row(aim) for report in reports for aim in report.aims])
    sections = [f"## {report.title}\n\n{report.text}\n\n{table(report.header, report.rows)}" for report in reports]
    return "\n\n".join([HEAD.rstrip(), made, f"## Aims\n\n{aims}", *sections]) + "\n"


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    chosen = [name for name in sys.argv[1:] if not name.startswith("-")] or BENCHMARKS
    found = [measured(name, QUICK if quick else Effort()) for name in chosen]
    text = page([report for reports in found for report in reports])
    print(text)
    if not quick and chosen == BENCHMARKS and all(found):
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
