"""``python -m dags_examples.demo``, which ``make demo`` calls."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dags_examples.demo.database import DatabaseError
from dags_examples.demo.java import NoJavaError, require_java
from dags_examples.demo.pipeline import Demo, StageError
from dags_examples.demo.show import Screen, as_json
from dags_examples.demo.workspace import Workspace, WorkspaceError

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo, and return 0 for success, 1 if something failed or a password was found, 2 if it cannot start."""
    options = _parser().parse_args(arguments)
    screen = Screen(ROOT, progress_to_stderr=options.output == "json")
    workspace = Workspace(options.dir.resolve())
    try:
        java = require_java()
        outcome = Demo(workspace, java, screen.stage, screen.progress, options.every).run()
    except (NoJavaError, WorkspaceError) as error:
        screen.fail(str(error))
        return 2
    except (DatabaseError, StageError) as error:
        screen.fail(str(error))
        return 1
    if options.output == "json":
        print(as_json(outcome))
    else:
        screen.outcome(outcome)
    if outcome.is_good and not options.keep:
        workspace.remove()
    else:
        screen.note(f"Everything is in {workspace.root}, the output of all commands in {workspace.log.name}")
    return 0 if outcome.is_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make demo",
        description="Run the flights pipeline on this machine with real Airflow and Spark, show where each setting "
        "came from, and search everything that the run has written for the password of the database.",
    )
    parser.add_argument("--dir", type=Path, default=ROOT / "build/demo", help="the work directory (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the work directory after success")
    parser.add_argument("--every", type=_number, default=1, metavar="N", help="use one flight in N (%(default)s)")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="what to print (%(default)s)")
    return parser


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is invalid; use a whole number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
