"""The names of Airflow that this package uses, and the differences between Airflow's versions."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
    AirflowTaskTimeout,
    BaseHook,
    Connection,
    TaskDeferred,
    conf,
)
from airflow.sdk import exceptions as _of_sdk
from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied, AirflowTaskTerminated

from airflow_config_providers.foreign import RUNNING_TASK, TASK_RUNNER, require
from airflow_config_providers.lazy import sa

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, task_decorator_factory

__all__ = [
    "SUSPENSIONS",
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowSecretsBackendAccessDenied",
    "AirflowSkipException",
    "AirflowTaskTerminated",
    "AirflowTaskTimeout",
    "BaseHook",
    "BaseOperator",
    "Connection",
    "conf",
    "config_errors",
    "dag_files",
    "iteration_of",
    "map_index_of",
    "region_of",
    "resuming_argument",
    "resuming_method",
    "task_decorator_factory",
]


SUSPENSIONS: Final[tuple[type[BaseException], ...]] = (
    TaskDeferred,
    *filter(None, [getattr(_of_sdk, "TaskAwaitingInput", None)]),  # since Airflow 3.3
)
"""What a task raises to go on later, in another process, with arguments that Airflow stores."""

_OF_DAG_FILES: Final = frozenset({"BaseOperator", "task_decorator_factory"})
"""Names that import much of the Task SDK; some of its modules read ``[database] sql_alchemy_conn`` on import."""


def config_errors() -> tuple[type[Exception], ...]:
    """Return what reading a setting raises. Which of the two classes it is depends on the process."""
    from airflow.exceptions import AirflowConfigException  # noqa: PLC0415 - only an error needs it

    return AirflowConfigException, _of_sdk.AirflowConfigException


def __getattr__(name: str) -> Any:
    """Import what only DAG files need on first use: our secrets backend can be asked for that very setting."""
    if name not in _OF_DAG_FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - see above

    return getattr(sdk, name)


def dag_files(folder: str, *, safe_mode: bool) -> list[str]:
    """
    Return the files in which Airflow looks for DAGs, in no order.

    :param safe_mode: leave out those that do not look as if they had some
    :raises RuntimeError: a link in the folder leads to a folder above it
    :raises ValueError: a file with patterns to ignore cannot be read
    """
    try:
        from airflow.utils.file import list_py_file_paths  # noqa: PLC0415 - only a command that runs needs it
    except ImportError:  # since Airflow 3.4
        return _discovered(folder, safe_mode=safe_mode)
    return list(list_py_file_paths(folder, safe_mode))


def _discovered(folder: str, *, safe_mode: bool) -> list[str]:
    from airflow.sdk.importers.base import find_file_dag_definitions  # noqa: PLC0415 - as above
    from airflow.sdk.importers.python_importer import PythonDagImporter  # noqa: PLC0415 - as above

    def can_have_dags(found: Any) -> bool:
        if found.path.suffix == ".zip":
            return zipfile.is_zipfile(found.path)
        try:
            return bool(importer.might_contain_dag(found, safe_mode))
        except OSError:
            return True  # and reading it says what is wrong

    importer = PythonDagImporter()
    return [str(one.path) for one in find_file_dag_definitions(Path(folder), (".py", ".zip")) if can_have_dags(one)]


def map_index_of(model: Any) -> Any:
    """Return the column of a model of Airflow's that says which instance of a mapped task a row belongs to."""
    return model.map_index if hasattr(model, "map_index") else model.region_index  # since Airflow 3.4


def region_of(model: Any) -> Any:
    """
    Return what says in which region of a loop a row is, as a UUID; NULL outside of loops.

    Since Airflow 3.4, the instances of a mapped task outside of loops are in a region of their own, too.
    """
    if not hasattr(model, "region_id"):
        return sa.null()
    from airflow.models.dynamic_region import SENTINEL_REGION_ID, DynamicRegion  # noqa: PLC0415 - heavy

    mapped = (DynamicRegion.node_id == model.task_id, DynamicRegion.parent_region_id.is_(None))
    is_mapped = (
        sa.select(DynamicRegion.id).where(DynamicRegion.id == model.region_id, *mapped).correlate(model).exists()
    )
    return sa.case((sa.or_(model.region_id == SENTINEL_REGION_ID, is_mapped), sa.null()), else_=model.region_id)


def iteration_of(ti: Any) -> tuple[str, int] | None:
    """Return the region of a loop in which a task runs, and its index in it; None outside of loops."""
    region, index = getattr(ti, "region_id", None), getattr(ti, "region_index", None)
    if not isinstance(region, UUID) or not region.int or not isinstance(index, int):
        return None
    is_in_loop = getattr(_from_server(ti), "loop", None) is not None or index != ti.map_index
    return (region.hex, index) if is_in_loop else None


def resuming_method(ti: Any) -> str | None:
    """Return the name of the method in which a task goes on after a deferral; None if it begins."""
    found = getattr(_from_server(ti), "next_method", None)
    return found if isinstance(found, str) and found else None


def resuming_argument(ti: Any, name: str) -> Any:
    """Return an argument with which a task goes on after a deferral, as Airflow has stored it; None if it has none."""
    found = getattr(_from_server(ti), "next_kwargs", None)
    if found is None or not isinstance(found, Mapping):  # to ask this of None takes a millisecond in a new process
        return None
    return found.get(name)


def _from_server(ti: Any) -> Any:
    """Return what Airflow's server says of a task that runs; None in another process."""
    if TASK_RUNNER not in sys.modules:
        return None
    require(RUNNING_TASK)
    return getattr(ti, "_ti_context_from_server", None)
