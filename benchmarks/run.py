"""Run the benchmarks, print the page and, after a complete run, write it to docs/benchmarks.md."""

from __future__ import annotations

import argparse
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
BENCHMARKS = ["resolve", "settle", "hostile", "imports", "parsing", "submit", "vault", "aws", "dynamic", "reverse"]
LIBRARIES = [
    "apache-airflow",
    "apache-airflow-providers-amazon",
    "apache-airflow-providers-apache-spark",
    "apache-airflow-providers-hashicorp",
    "cel-expr-python",
    "dynaconf",
    "google-re2",
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
    bound = "at least" if aim.is_least else "at most"
    return [aim.what, f"{bound} {number(aim.limit)} {aim.unit}", f"{number(aim.measured)} {aim.unit}", verdict]


def installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def measured(name: str, effort: Effort) -> list[Report]:
    """Return the reports of a benchmark. If a library that it measures is missing, print that and return none."""
    try:
        benchmark = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        print(f"skipped: {name}, as there is no module {error.name}; install the extra 'bench'", file=sys.stderr)
        return []
    print(f"measuring: {name}", end="", file=sys.stderr, flush=True)
    start = time.monotonic()
    reports: list[Report] = benchmark.run(effort)
    print(f", took {time.monotonic() - start:.0f} s", file=sys.stderr)
    return reports


def page(reports: Sequence[Report]) -> str:
    """Return the page, which begins with the aims, met and missed."""
    libraries = ", ".join(f"{name} {found}" for name in LIBRARIES if (found := installed(name)))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    made = f"Measured on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} with {machine}; {libraries}."
    aims = table(("", "aim", "measured", ""), [aim_row(aim) for report in reports for aim in report.aims])
    sections = [f"## {report.title}\n\n{report.text}\n\n{table(report.header, report.rows)}" for report in reports]
    return "\n\n".join([HEAD.rstrip(), made, f"## Aims\n\n{aims}", *sections]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="measure less, and do not write the page")
    args = parser.parse_args()
    chosen = args.names or BENCHMARKS
    if unknown := [name for name in chosen if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {', '.join(unknown)}: choose from {', '.join(BENCHMARKS)}")
    found = [measured(name, QUICK if args.quick else Effort()) for name in chosen]
    text = page([report for reports in found for report in reports])
    print(text)
    if not args.quick and chosen == BENCHMARKS and all(found):
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
