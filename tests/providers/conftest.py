"""Processes of Airflow to ask from."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.providers.airflow_process import ScriptedBackend, Supervisor

collect_ignore_glob = (
    [] if find_spec("airflow") else ["test_airflow_*.py", "test_aws_batch.py", "test_secrets_backend.py"]
)
"""The other providers run without Airflow, and so do their tests."""


@pytest.fixture
def in_task(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Supervisor]:
    """Be a task: ``in_task({"name": answer})`` gives its supervisor."""

    def be(answers: dict[str, Any] | None = None, names: Collection[str] = ()) -> Supervisor:
        from airflow.sdk.execution_time import task_runner

        from tests.providers.airflow_process import Supervisor

        supervisor = Supervisor({} if answers is None else answers, names)
        monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
        return supervisor

    return be


@pytest.fixture
def configure_backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., type[ScriptedBackend]]]:
    """Configure a backend for the deployment: ``configure_backend({"name": answer}, section="workers")``."""

    from tests.providers.airflow_process import ScriptedBackend

    def configure(
        answers: dict[str, Any] | None = None,
        *,
        section: str = "secrets",
        backend: str = "ScriptedBackend",
        **kwargs: Any,
    ) -> type[ScriptedBackend]:
        prefix = "AIRFLOW__WORKERS__SECRETS_BACKEND" if section == "workers" else "AIRFLOW__SECRETS__BACKEND"
        monkeypatch.setenv(prefix, f"tests.providers.airflow_process.{backend}")
        monkeypatch.setenv(f"{prefix}_KWARGS", json.dumps(kwargs))
        monkeypatch.setattr(ScriptedBackend, "answers", answers or {})
        monkeypatch.setattr(ScriptedBackend, "kwargs", [])
        _forget_backends()
        return ScriptedBackend

    yield configure
    _forget_backends()


def _forget_backends() -> None:
    """Airflow 3.3 keeps the backends of the Task SDK; 3.2 does not."""
    if configuration := sys.modules.get("airflow.sdk.configuration"):
        getattr(configuration, "clear_secrets_backends_cache", lambda: None)()
