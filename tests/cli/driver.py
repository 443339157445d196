"""Runs commands of Airflow's own parser, one after the other, in one process: starting Airflow takes seconds."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any, Final

from tests.servers.quick_python import SELDOM

SHARED: Final = contextlib.ExitStack()
"""What ends the session that audits share."""


def run(job: dict[str, Any], parse: Callable[[list[str]], Any]) -> dict[str, Any]:
    before = dict(os.environ)
    os.environ.update(job["environ"])
    out, err = io.StringIO(), io.StringIO()
    with given(job["input"]), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            args = parse(job["words"])
            args.func(args)
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException:  # noqa: BLE001 - the test is told
            traceback.print_exc()
            code = 1
    restore(before)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def share_session(configs: dict[str, str]) -> dict[str, Any]:
    """Start a session of Spark for all audits that follow, and end an earlier one; without ``configs``, only end it."""
    from airflow_config_providers.spark.audit.session import audit_session

    SHARED.close()
    if configs:
        SHARED.callback(restore, dict(os.environ))  # PySpark leaves variables that are configuration for a command
        SHARED.enter_context(audit_session("local[2]", configs))
    return {}


def restore(environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)


@contextlib.contextmanager
def given(text: str):
    """Make ``text`` the standard input."""
    kept = os.dup(0)
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(kept, 0)
            os.close(kept)


def reset() -> dict[str, Any]:
    from airflow.models.log import Log
    from airflow.models.variable import Variable
    from airflow.utils.session import create_session
    from sqlalchemy import delete

    with create_session() as session:
        session.execute(delete(Variable))
        session.execute(delete(Log))
    return {}


def answer(job: dict[str, Any], parse: Callable[[list[str]], Any]) -> dict[str, Any]:
    if "words" in job:
        return run(job, parse)
    return share_session(job["session"]) if "session" in job else reset()


def main() -> None:
    gc.set_threshold(*SELDOM)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Airflow logs is no answer
    from airflow.cli.cli_parser import get_parser

    parser = get_parser()
    for line in os.fdopen(os.dup(0)):
        job = json.loads(line)
        done = answer(job, parser.parse_args)
        answers.write(json.dumps(done) + "\n")
        answers.flush()
    os._exit(0)  # without seconds of freeing memory


if __name__ == "__main__":
    sys.exit(main())
