"""Looks at what tasks leave in the database while they are deferred."""

from __future__ import annotations

from cryptography.fernet import Fernet

from tests.leaks.deployment import LeakyAirflow
from tests.leaks.livy import Livy
from tests.leaks.matrix import Matrix
from tests.leaks.sinks import Sink

TRIGGERS = """
    select task_instance.task_id, trigger.classpath, trigger.kwargs
    from trigger join task_instance on task_instance.trigger_id = trigger.id
"""
RESUMED = "select task_id, next_kwargs from task_instance where next_kwargs is not null"


class DeferredTasks:
    """Reads the stored triggers, decrypted, and what tasks are to be resumed with; lets their batches end then."""

    def __init__(self, leaky: LeakyAirflow, matrix: Matrix, livy: Livy) -> None:
        self._airflow = leaky.airflow
        self._matrix = matrix
        self._livy = livy
        self._fernet = Fernet(leaky.airflow.environ["AIRFLOW__CORE__FERNET_KEY"])

    def look(self) -> None:
        """Look once."""
        for task_id, classpath, kwargs in self._airflow.query(TRIGGERS):
            stored = kwargs.encode() if kwargs.startswith("{") else self._fernet.decrypt(kwargs.encode())
            self._matrix.look(Sink.TRIGGER, f"{classpath} of {task_id}", stored)
            self._livy.end(task_id)
        for task_id, kwargs in self._airflow.query(RESUMED):
            self._matrix.look(Sink.RESUMED, f"next_kwargs of {task_id}", kwargs)
