"""``python -m tests.leaks``, which ``make leaks`` calls."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dags_examples.demo.java import NoJavaError, require_java
from tests.leaks import declared, show
from tests.leaks.canaries import Column
from tests.leaks.run import LeakRun, RunError
from tests.trust.show import attempted


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print the matrix, and who can read and steer what.

    :return: 0 where ours leaks nothing undeclared and every attempt ends as declared, 1 where that is not so, 2 where
        nothing was proved
    """
    options = _parser().parse_args(arguments)
    progress = show.plain_console(stderr=True)
    try:
        require_java()
        with tempfile.TemporaryDirectory(prefix="leaks-", ignore_cleanup_errors=True) as home:
            matrix = LeakRun(Path(home), lambda line: progress.print(line, soft_wrap=True), options.columns).matrix()
    except (NoJavaError, RunError) as error:
        progress.print(str(error), soft_wrap=True)
        return 2
    progress.print("Try what each kind of user may do")
    rows = attempted()
    undeclared = declared.undeclared(matrix)
    if options.output == "json":
        print(show.as_json(matrix, undeclared, rows))
    else:
        show.show(show.plain_console(), matrix, undeclared, rows)
    if empty := declared.not_searched(matrix):
        progress.print(f"Nothing was there to be searched: {', '.join(empty)}", soft_wrap=True)
        return 2
    return 1 if undeclared or not all(row.as_declared for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make leaks",
        description="Run Spark jobs with secrets through a real Airflow, on this machine and on a standalone cluster, "
        "and print where each secret can be seen: with references, and with the stock operator. Then try what each "
        "kind of user may do, and print what comes of it.",
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="what to print (%(default)s)")
    keys = [column.key for column in Column]
    parser.add_argument(
        "--columns",
        type=lambda key: Column[key.upper()],
        nargs="+",
        default=list(Column),
        metavar="COLUMN",
        help=f"who submits: {', '.join(keys)} (all of them)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
