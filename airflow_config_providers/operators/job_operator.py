"""What the parts of a configured operator ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.authored_job import JobOptions
    from airflow_config_providers.job.authorship import Authorship
    from airflow_config_providers.job.exposed_values import Destination
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.job.nested_texts import NestedString
    from airflow_config_providers.job.resolver import Driver
    from airflow_config_providers.operators.try_state import TryState
    from airflow_config_providers.spark.installation import SparkInstallation
    from airflow_config_providers.spark.layer_files import ConfigFile


class JobOperator(Protocol):
    """
    ``ConfiguredOperator``, as its parts see it. It says what each name is for, and a subclass what differs there.

    The parts are made when a task runs: one that renders it, one that executes it, and so on.
    """

    template_fields: Any
    config_files: Any
    effective_config: list[str] | None
    overwrite_rtif_after_execution: bool
    _job_options: JobOptions
    _lock_for_execution: bool

    @property
    def log(self) -> Any:
        """The log of the task."""

    @property
    def dag_id(self) -> str:
        """The DAG of the task."""

    @property
    def task_id(self) -> str:
        """The task in it."""

    @property
    def task_type(self) -> str:
        """The name of the operator's class."""

    def get_dag(self) -> Any:
        """Return the DAG; None if there is none."""

    def get_template_env(self) -> Any:
        """Return the environment of Jinja."""

    def on_kill(self) -> None:
        """Kill the job."""

    def guard_author_methods(self) -> None:
        """Have what is now set on the class leave only references behind."""

    @classmethod
    def _own_execute_problems(cls, fields: JobFields) -> Iterable[tuple[str, str]]: ...
    @property
    def _authorship(self) -> Authorship: ...
    @property
    def _try_state(self) -> TryState: ...
    def _job_fields(self) -> JobFields: ...
    def _complete_fields(self) -> None: ...
    def _resolve_job(self, context: Any, jinja_env: Any) -> None: ...
    def _spark_program(self) -> str: ...
    def _job_paths(self, fields: JobFields) -> Sequence[NestedString]: ...
    def _default_files(self, spark: SparkInstallation | None) -> Sequence[ConfigFile]: ...
    def _destination(self) -> Destination: ...
    def _job_driver(self, fields: JobFields) -> Driver: ...
    def _own_problems(self, fields: JobFields) -> Iterable[str]: ...
    def _own_notes(self, fields: JobFields) -> Iterable[str]: ...
    def _job_of(self, context: Any, run: Callable[[], Any]) -> Callable[[], Any]: ...
    def _obstacle_to_reload(self) -> str | None: ...
    def _require_deliverable(self, handover: Handover) -> None: ...
    def _has_begun(self) -> bool: ...
    def _stop_job(self) -> None: ...
    def _forget_job(self, context: Any) -> None: ...
    def _forget_objects(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None: ...
