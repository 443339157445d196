"""Run an example with Airflow's command line, and look at what it left behind."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

from dags_examples.demo.search import Search, Secret
from dags_examples.demo.workspace import Workspace
from tests.limits import PATIENT_AIRFLOW
from tests.servers import quick_java, quick_python

DAGS_FOLDER: Final = "AIRFLOW__CORE__DAGS_FOLDER"
STARTED: Final = """
import airflow.cli.commands.dag_command
import airflow.sdk.execution_time.task_runner
from airflow.sdk.execution_time.supervisor import in_process_api_server

in_process_api_server().app._cadwyn_initialize()
"""
"""What each ``airflow dags test`` does for ten seconds before it looks at a DAG; no thread runs after it."""

INTERPRETED: Final = (
    "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN -Dspark.sql.adaptive.enabled=false"
)
"""For JVMs of Spark: to compile a query, and to plan each stage anew, takes longer than a few thousand rows do."""


def run(workspace: Workspace, arguments: list[str], **environment: str) -> tuple[int, str]:
    """Run Airflow, and return its exit code and all that it printed."""
    given = _environment(workspace, environment)
    parent = _started(workspace, given[DAGS_FOLDER]) if arguments[0] == "dags" else None
    done = quick_python.run("-m", "airflow", *arguments, env=given, cwd=workspace.root, parent=parent)
    output = done.stdout + done.stderr
    with workspace.log.open("a", encoding="utf-8") as log:
        log.write(f"$ airflow {' '.join(arguments)}\n{output}")
    return done.returncode, output


@functools.cache
def _started(workspace: Workspace, folder: str) -> quick_python.Parent:
    """Return what all runs are forked from whose DAGs are in this folder, which Airflow reads when it is imported."""
    return quick_python.Parent(STARTED, _environment(workspace, {DAGS_FOLDER: folder}))


def _environment(workspace: Workspace, more: Mapping[str, str]) -> dict[str, str]:
    ours = {**workspace.environment(secrets_dir=workspace.secrets), **PATIENT_AIRFLOW, **quick_java.ENVIRONMENT}
    quick = {"SPARK_SUBMIT_OPTS": f"{quick_java.QUICK_SPARK} {INTERPRETED}"}
    return {**ours, **quick, **more}


def rendered_fields(workspace: Workspace, dag_id: str) -> list[dict[str, Any]]:
    query = "SELECT rendered_fields FROM rendered_task_instance_fields WHERE dag_id = ? ORDER BY map_index"
    with closing(sqlite3.connect(workspace.metadata)) as connection:
        return [json.loads(fields) for (fields,) in connection.execute(query, (dag_id,))]


def places_of(value: str, workspace: Workspace) -> list[str]:
    """Where a secret was left behind."""
    search = Search([Secret.of("secret", value)])
    search.tree(workspace.root, leave_out={workspace.secrets, workspace.root / "raw"})
    search.database(workspace.metadata)
    return [finding.place for finding in search.found] + search.unread
