"""
The process that imports DAG files for ``lint``, so that one that hangs or ends the process harms nothing else.

It reads a request on each line of standard input, and answers each on a line of standard output, both as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.job.deployed_task import deployed_job, is_configured
from airflow_config_providers.lint.entry import StoredJob


def stored_jobs(dag: Any) -> Iterator[StoredJob]:
    """Yield the job of each configured task of ``dag``, after storing and reading it as Airflow does."""
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415 - heavy

    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    yield from (_stored(dag.dag_id, task) for task in stored.tasks if is_configured(task))


def _stored(dag_id: str, task: Any) -> StoredJob:
    notes: list[str] = []
    job = deployed_job(task, str(ConfigResource.of_task(dag_id, task.task_id)), notes.append)
    return StoredJob(dag_id, task.task_id, "" if job is None else job.text(), tuple(notes))


READY = "ready"


def main() -> None:
    """Answer requests until standard input ends."""
    with _own_streams() as (requests, answers):
        from airflow_config_providers.lint import task_jobs  # noqa: F401, PLC0415 - slow, and part of getting ready

        _bag()
        _answer(answers, READY)
        for line in requests:
            _answer(answers, _read(**json.loads(line)))
    os.kill(os.getpid(), signal.SIGKILL)  # without waiting for threads that a DAG file has started


@contextmanager
def _own_streams() -> Iterator[tuple[IO[str], IO[str]]]:
    """Yield the streams of requests and answers. What DAG files and Airflow print or read has no part in them."""
    with os.fdopen(os.dup(0), encoding="utf-8") as requests, os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        yield requests, answers


def _answer(answers: IO[str], answer: Any) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _bag() -> Any:
    from airflow.dag_processing.dagbag import DagBag  # noqa: PLC0415 - imports most of Airflow

    return DagBag(os.devnull, collect_dags=False, load_op_links=False)


def _read(*, path: str, name: str, roots: list[str], is_stored: bool = False) -> dict[str, Any]:
    """
    Return the jobs of the DAG file at ``path``, and the tracebacks of what failed.

    :param name: its name in findings
    :param roots: the folders from which DAG files import modules
    :param is_stored: whether to return the jobs as Airflow stores them, and not as ``lint`` checks them
    """
    sys.path += [root for root in roots if root not in sys.path]
    bag = _bag()
    try:
        bag.process_file(path, only_if_updated=False)
        jobs = _stored_jobs(bag) if is_stored else _checked_jobs(bag, name, path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the file is reported, and the next one is read
        return {"jobs": [], "errors": [*bag.import_errors.values(), f"{type(error).__module__}.{type(error).__name__}"]}
    return {"jobs": jobs, "errors": list(bag.import_errors.values())}


def _checked_jobs(bag: Any, name: str, path: str) -> list[dict[str, Any]]:
    from airflow_config_providers.lint.task_jobs import all_jobs  # noqa: PLC0415 - see main

    return [asdict(job) for job in all_jobs(bag.dags.values(), name, Path(path).read_bytes())]


def _stored_jobs(bag: Any) -> list[dict[str, Any]]:

    return [asdict(job) for dag in bag.dags.values() for job in stored_jobs(dag)]


if __name__ == "__main__":
    main()
