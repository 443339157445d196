"""
Processes that change the same configurations at the same time.

``python -m tests.dynamic.changing URL PROCESSES TIMES EVERY DAG...``: each process counts in a key of its own, and
appends its numbers, or one of EVERY of them, to the list ``spark.jars``, of all DAGs at once, of which an empty name
stands for the deployment default. Their ids are printed. A process that needs more than ``MOST_ATTEMPTS`` for a change
fails.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from airflow.models.log import Log
from airflow.models.variable import Variable
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import configure_mappers, sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.spark.catalogue import spark_definition

ROOT = Path(__file__).parents[2]
MOST_ATTEMPTS = 10
"""Far more than a turn takes, and far fewer than it took one of eight without turns."""

DEFAULT = ConfigResource(ResourceType.DEFAULT)


class Counting(AlterConfigPolicy):
    """Counts the attempts that a change takes: each asks the policies."""

    asked = 0

    def validate(self, request: RequestMetadata) -> None:
        self.asked += 1


def create_tables(engine: Engine) -> None:
    """Create the tables that a change writes; on SQLite with the journal mode that Airflow sets."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.execute(text("PRAGMA journal_mode=WAL"))
    tables = [Variable.metadata.tables[name] for name in (Log.__tablename__, "team", Variable.__tablename__)]
    Variable.metadata.create_all(engine, tables)


@contextmanager
def started(url: str, processes: int, times: int, *dags: str, every: int = 1) -> Iterator[subprocess.Popen[str]]:
    """Start processes, give the parent of them, which waits for them, and leave none behind."""
    command = [sys.executable, "-m", "tests.dynamic.changing", url, str(processes), str(times), str(every), *dags]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        try:
            yield parent
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


def children_of(parent: subprocess.Popen[str]) -> list[str]:
    """Return the ids that the parent prints, after what Airflow logs there while it is imported."""
    assert parent.stdout is not None
    return next(ids for line in parent.stdout if (ids := line.split()) and all(map(str.isdigit, ids)))


def expected(processes: int, times: int, every: int = 1) -> list[str]:
    """Return everything that the list contains at the end."""
    return sorted(f"{process}-{number}" for process in range(processes) for number in range(0, times, every))


def jars(store: VariableStore, resource: ConfigResource) -> list[str]:
    """Return the items in the list, in order."""
    entry = ConfigAdmin(store).describe_configs([resource])[resource].get("spark.jars")
    return sorted(entry.value.split(",")) if entry else []


def _change(process: int, *, url: str, times: int, every: int, resources: Sequence[ConfigResource]) -> None:
    policy = Counting()
    admin = ConfigAdmin(VariableStore(str(process), sessionmaker(create_engine(url))), spark_definition(), [policy])
    for number in range(times):
        operations = [AlterConfigOp(f"spark.app.count{process}", str(number))]
        if number % every == 0:
            operations.append(AlterConfigOp("spark.jars", f"{process}-{number}", OpType.APPEND))
        policy.asked = 0
        admin.incremental_alter_configs(dict.fromkeys(resources, operations))
        assert policy.asked <= MOST_ATTEMPTS * len(resources), policy.asked


def _forked(change: Callable[[int], None], process: int) -> int:
    child = os.fork()
    if not child:
        code = 1
        os.dup2(2, 1)  # Airflow's warnings
        try:
            change(process)
            code = 0
        finally:
            os._exit(code)
    return child


def main() -> None:
    url, processes, times, every, *dags = sys.argv[1:]
    resources = [ConfigResource(ResourceType.DAG, dag) if dag else DEFAULT for dag in dags]
    change = partial(_change, url=url, times=int(times), every=int(every), resources=resources)
    configure_mappers()  # once, which imports all of Airflow's models, and not in each child
    children = [_forked(change, process) for process in range(int(processes))]
    print(*children, flush=True)
    sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))


if __name__ == "__main__":
    main()
