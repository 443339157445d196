"""The names of DAGs, tasks and runs that begin with a prefix, for people who type them. It is slow to import."""

from __future__ import annotations

from typing import Any, Final

from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from sqlalchemy import select

MOST: Final = 200
"""The most names of DAGs or runs."""


def dag_ids(session: Any, prefix: str) -> list[str]:
    """Return the ids of stored DAGs, in order."""
    name = SerializedDagModel.dag_id
    found = select(name).where(name.startswith(prefix, autoescape=True)).distinct().order_by(name)
    return [str(one) for one in session.scalars(found.limit(MOST))]


def task_ids(session: Any, dag_id: str, prefix: str) -> list[str]:
    """Return the ids of the tasks of a stored DAG, in order; none if there is no such DAG."""
    dag = SerializedDagModel.get_dag(dag_id, session=session)
    return sorted(one for one in (dag.task_ids if dag else ()) if one.startswith(prefix))


def run_ids(session: Any, dag_id: str, prefix: str) -> list[str]:
    """Return the ids of the runs of a DAG, the last one first."""
    found = select(DagRun.run_id).where(DagRun.dag_id == dag_id, DagRun.run_id.startswith(prefix, autoescape=True))
    return [str(one) for one in session.scalars(found.order_by(DagRun.id.desc()).limit(MOST))]
