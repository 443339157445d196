"""
Run the benchmarks, print the page and, after a complete run, write it to docs/benchmarks.md.

Instead, ``--check`` compares the ratios between ours and the peers with those that ``ratios.json`` keeps.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import platform
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from benchmarks import ratios
from benchmarks.measure import QUICK, Aim, Effort, Report, number, pace
from benchmarks.ratios import Watched

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
WATCHED = ["resolve", "settle", "hostile", "imports", "parsing", "submit", "dynamic", "reverse"]
BENCHMARKS = [
    "resolve",
    "settle",
    "hostile",
    "imports",
    "parsing",
    "lint",
    "catalogue",
    "submit",
    "vault",
    "helper",
    "aws",
    "dynamic",
    "rotation",
    "polls",
    "records",
    "describe",
    "page",
    "reverse",
    "audit",
]
LIBRARIES = [
    "apache-airflow",
    "apache-airflow-providers-amazon",
    "apache-airflow-providers-apache-spark",
    "apache-airflow-providers-hashicorp",
    "cel-expr-python",
    "dynaconf",
    "google-re2",
    "hvac",
    "kingfisher-bin",
    "moto",
    "omegaconf",
    "pydantic-settings",
    "python-dotenv",
]

RENEW = (
    "Make it as fast as it was. If there is a good reason for the time, or the ratio is new, renew the file with\n"
    f'make bench ARGS="--write-ratios NAME", where NAME is any of {", ".join(WATCHED)}; the commit says the reason.'
)

HEAD = """# Benchmarks

`make bench` writes this page. One run measures ours and the peers on the same machine, so compare numbers only within a
table. Times are medians. The peers do less: none of them records where a value came from.
"""

RATIOS = """## Ratios

Our CPU time divided by that of a peer which does its work in turns with ours, so that a slow machine hardly changes it.
"""

AIMS = """## Aims

What people wait for, and what it takes, on this machine. Most of these figures are smaller on a faster one.
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def aim_row(aim: Aim) -> list[str]:
    verdict = "met" if aim.is_met else "**missed**"
    bound = "at least" if aim.is_least else "at most"
    return [aim.what, f"{bound} {number(aim.limit)} {aim.unit}", f"{number(aim.measured)} {aim.unit}", verdict]


def ratio_row(each: Watched) -> list[str]:
    ratio = each.ratio()
    if each.aim is None:
        return [each.what, "", f"{number(ratio)} x", ""]
    return aim_row(Aim(each.what, each.aim, ratio, "x"))


def installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def measured(name: str, effort: Effort) -> list[Report]:
    """Return the reports of a benchmark. If a library or program that it needs is missing, say so and return none."""
    try:
        benchmark = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        print(f"skipped: {name}, as there is no module {error.name}; install the extra 'bench'", file=sys.stderr)
        return []
    print(f"measuring: {name}", end="", file=sys.stderr, flush=True)
    start = time.monotonic()
    try:
        reports: list[Report] = benchmark.run(effort)
    except pytest.skip.Exception as error:  # what it shares with tests skips
        print(f", skipped: {error.msg}", file=sys.stderr)
        return []
    print(f", took {time.monotonic() - start:.0f} s", file=sys.stderr)
    return reports


def ratio_rows(names: Sequence[str]) -> list[list[str]]:
    """Return a row for each ratio that these benchmarks watch."""
    print("measuring: ratios", file=sys.stderr, flush=True)
    return [ratio_row(each) for name in names if name in WATCHED for each in watched(name)]


def page(reports: Sequence[Report], compared_rows: Sequence[Sequence[str]] = ()) -> str:
    """Return the page, which begins with ratios and aims, met and missed."""
    libraries = ", ".join(f"{name} {found}" for name in LIBRARIES if (found := installed(name)))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    made = f"Measured on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} with {machine}; {libraries}."
    speed = f"A million empty turns of a loop take {number(pace())} ms: where they take longer, so does the rest."
    aims = [aim_row(aim) for report in reports for aim in report.aims]
    tables = [(text, rows) for text, rows in ((RATIOS, compared_rows), (AIMS, aims)) if rows]
    first = [f"{text}\n{table(('', 'aim', 'measured', ''), rows)}" for text, rows in tables]
    sections = [f"## {report.title}\n\n{report.text}\n\n{table(report.header, report.rows)}" for report in reports]
    return "\n\n".join([HEAD.rstrip(), made, speed, *first, *sections]) + "\n"


def watched(name: str) -> Iterator[Watched]:
    """Return what a benchmark watches."""
    found: Iterator[Watched] = importlib.import_module(f"benchmarks.{name}").watched()
    return found


def compared(name: str, only: Collection[str] | None = None) -> dict[str, float]:
    """Return the ratios that a benchmark watches, or some of them."""
    found: dict[str, float] = {}
    for each in watched(name):
        if only is None or each.what in only:
            found[each.what] = each.ratio()
            print(f"{each.what}: {number(found[each.what])}", flush=True)
    return found


def check(names: Sequence[str]) -> None:
    """Compare the ratios with those of the file, and end with an error if one is worse in all runs."""
    kept = ratios.kept()
    found = [problem for name in names for problem in problems(name, kept.get(name, {}))]
    if found:
        sys.exit("\n".join(["", *found, RENEW]))


def problems(name: str, kept: ratios.Ratios) -> list[str]:
    """Return the problems of a benchmark; a ratio that is worse than before is measured again."""
    best = compared(name)
    for line in ratios.better(best, kept):
        print(line)
    for _ in range(ratios.RUNS - 1):
        if doubtful := ratios.worse(best, kept):
            best = ratios.least(best, compared(name, doubtful))
    return ratios.problems(best, kept)


def write(names: Sequence[str]) -> None:
    """Measure the ratios twice, and keep the worse of each in the file, so that none is luck."""
    for name in names:
        first, second = compared(name), compared(name)
        ratios.keep({name: {what: max(ratio, second[what]) for what, ratio in first.items()}})


def report(names: Sequence[str], effort: Effort) -> None:
    """Print the page of these benchmarks, and write it if it is complete."""
    found = [measured(name, effort) for name in names]
    text = page([each for reports in found for each in reports], () if effort is QUICK else ratio_rows(names))
    print(text)
    if effort is not QUICK and names == BENCHMARKS and all(found):
        PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="measure less, and do not write the page")
    how.add_argument("--check", action="store_true", help=f"fail if a ratio is worse than in {ratios.FILE.name}")
    how.add_argument("--write-ratios", action="store_true", help=f"measure the ratios, and write {ratios.FILE.name}")
    args = parser.parse_args()
    known = WATCHED if args.check or args.write_ratios else BENCHMARKS
    chosen = args.names or known
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"nothing to measure in {', '.join(unknown)}: choose from {', '.join(known)}")
    if args.check:
        check(chosen)
    elif args.write_ratios:
        write(chosen)
    else:
        report(chosen, QUICK if args.quick else Effort())


if __name__ == "__main__":
    main()
